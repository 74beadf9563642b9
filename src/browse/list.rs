//! The list of sessions: what is asked for, what is shown, and which one is selected.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use baton_protocol::answer::Row;

use super::found::{Entry, PAGE, Page, Wanted};
use super::query_line::QueryLine;
use crate::print::Marks;

/// Quiet after which a question is asked with everything that is new.
const QUIET: Duration = Duration::from_millis(150);
/// Pause after which it is asked again while history, or a session of the list, is still being read.
const AGAIN: Duration = Duration::from_secs(1);
/// Pause after which the list is refreshed while a session of it runs.
const RUNNING: Duration = Duration::from_secs(3);
/// Lines of an entry on the screen.
pub(super) const ENTRY_LINES: usize = 2;

/// A question that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// With everything that is new.
    Fresh,
    /// How what is listed has changed since: nothing is read for it.
    Refresh,
}

/// See the module.
#[derive(Default)]
pub(super) struct List {
    /// What is typed.
    pub(super) query: QueryLine,
    /// The filters; the query in it is as of the last question.
    pub(super) wanted: Wanted,
    pub(super) entries: Vec<Entry>,
    pub(super) selected: usize,
    /// Index of the first entry on the screen.
    pub(super) top: usize,
    /// The words that are marked.
    pub(super) marks: Marks,
    /// Number of the current question.
    pub(super) number: u64,
    /// Remarks on the answer.
    pub(super) notes: Vec<String>,
    /// True once something has answered the current question.
    pub(super) is_answered: bool,
    /// True once the answer has everything that is new.
    pub(super) is_fresh: bool,
    has_more: bool,
    is_fetching_more: bool,
    due: Option<(Instant, Due)>,
}

/// True if what is shown of a session comes soon: the memory learns an episode a moment after the log.
fn is_in_the_making(row: &Row) -> bool {
    let has_title = row.title.as_ref().is_some_and(|title| !title.is_empty());
    let lacks_title = !has_title && row.message_count > 0 && !row.episode_deleted;
    row.state == "indexing" || row.state == "indexed" && lacks_title
}

impl List {
    /// An empty list with a query.
    pub(super) fn new(query: &str) -> Self {
        Self { query: QueryLine::new(query), ..Self::default() }
    }

    /// Begins a new question with what is typed.
    pub(super) fn ask_anew(&mut self, now: Instant) {
        self.wanted.query = self.query.text();
        self.number += 1;
        (self.is_answered, self.is_fresh, self.is_fetching_more) = (false, false, false);
        self.due = Some((now + QUIET, Due::Fresh));
    }

    /// When a question is to be asked again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.map(|(at, _)| at)
    }

    /// The question for which it is time; then it is no more.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Due> {
        self.due.take_if(|(at, _)| *at <= now).map(|(_, due)| due)
    }

    /// When and how to ask again after an answer with everything that is new.
    fn next_due(&self, is_partial: bool) -> Option<(Instant, Due)> {
        let rows = || self.entries.iter().map(|entry| &entry.row).filter(|row| row.source.is_none());
        let (pause, due) = if is_partial {
            (AGAIN, Due::Fresh)
        } else if rows().take(PAGE as usize).any(is_in_the_making) {
            (AGAIN, Due::Refresh)
        } else if rows().any(|row| !crate::resume::is_over(row)) {
            (RUNNING, Due::Refresh)
        } else {
            return None;
        };
        Some((Instant::now() + pause, due))
    }

    /// Takes the answer to the question `number`, unless it is an old one. With `is_first`, a better one follows.
    pub(super) fn take(&mut self, number: u64, skip: u32, is_first: bool, page: Page) {
        if number != self.number || skip == 0 && is_first && self.is_fresh {
            return;
        }
        if skip > 0 {
            self.is_fetching_more = false;
            self.has_more = page.has_more;
            let known = |entry: &Entry| self.entries.iter().any(|one| one.row.session_id == entry.row.session_id);
            let new: Vec<Entry> = page.entries.into_iter().filter(|entry| !known(entry)).collect();
            self.has_more &= !new.is_empty();
            self.entries.extend(new);
            return;
        }
        // The same session stays selected if the question is the same.
        let selected = self.selected_entry().map(|entry| entry.row.session_id.clone()).filter(|_| self.is_answered);
        // What is new may come first; later nobody is taken away from what they read.
        let is_at_top = self.selected == 0 && !self.is_fresh;
        let count = page.entries.len();
        let before = std::mem::replace(&mut self.entries, page.entries);
        if self.is_answered && page.has_more {
            // Further pages that were fetched already.
            let ids: BTreeSet<String> = self.entries.iter().map(|entry| entry.row.session_id.clone()).collect();
            self.entries.extend(before.into_iter().filter(|entry| !ids.contains(&entry.row.session_id)));
        }
        // Whether there are more than those, the last page has told.
        self.has_more = if self.entries.len() > count { self.has_more } else { page.has_more };
        self.notes = page.notes;
        let at = selected.filter(|_| !is_at_top);
        let at = at.and_then(|id| self.entries.iter().position(|entry| entry.row.session_id == id));
        self.selected = at.unwrap_or(0);
        self.top = self.top.min(self.selected);
        self.marks = Marks::of_query(&self.wanted.query);
        self.is_answered = true;
        self.is_fresh |= !is_first;
        if !is_first {
            self.due = self.next_due(page.is_partial);
        }
    }

    /// The number of entries after which a further page is to be fetched now, if any.
    pub(super) fn wanted_page(&mut self, rows: usize) -> Option<u32> {
        let is_wanted = self.has_more && !self.is_fetching_more && self.selected + rows * 2 >= self.entries.len();
        self.is_fetching_more |= is_wanted;
        is_wanted.then(|| u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }

    /// Ends the fetch of a page that failed.
    pub(super) fn give_up_page(&mut self) {
        (self.has_more, self.is_fetching_more) = (false, false);
    }

    /// The selected session.
    pub(super) fn selected_entry(&self) -> Option<&Entry> {
        self.entries.get(self.selected)
    }

    /// Selects another one.
    pub(super) fn select(&mut self, index: usize) {
        self.selected = index.min(self.entries.len().saturating_sub(1));
    }

    /// The entries on a screen with room for `rows` of them, with the index of the first.
    pub(super) fn visible(&mut self, rows: usize) -> (usize, &[Entry]) {
        let rows = rows.max(1);
        self.top = self.top.clamp((self.selected + 1).saturating_sub(rows), self.selected);
        (self.top, &self.entries[self.top.min(self.entries.len())..usize::min(self.top + rows, self.entries.len())])
    }

    /// How many sessions there are, as far as known.
    pub(super) fn count(&self) -> String {
        let more = if self.has_more { "+" } else { "" };
        let plural = if self.entries.len() == 1 && !self.has_more { "" } else { "s" };
        format!("{}{more} session{plural}", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(ids: &[&str], has_more: bool) -> Page {
        let entry =
            |id: &&str| Entry { row: Row { session_id: (*id).to_owned(), ..Row::default() }, places: Vec::new() };
        Page { entries: ids.iter().map(entry).collect(), has_more, ..Page::default() }
    }

    #[test]
    fn old_answers_are_dropped_and_the_selection_stays() {
        let (mut list, now) = (List::default(), Instant::now());
        list.ask_anew(now);
        assert_eq!(list.take_due(now), None);
        assert_eq!((list.take_due(now + QUIET), list.take_due(now + QUIET)), (Some(Due::Fresh), None));
        list.take(1, 0, true, page(&["a", "b"], false));
        list.select(1);
        list.take(1, 0, false, page(&["c", "a", "b"], false));
        assert_eq!(list.selected, 2, "b stays selected");
        list.take(1, 0, true, page(&["x"], false));
        assert_eq!(list.entries.len(), 3, "what is stored comes too late");
        list.ask_anew(now);
        list.take(1, 0, false, page(&["x"], false));
        assert_eq!(list.entries.len(), 3, "that was another question");
        list.take(2, 0, true, page(&["d", "b"], false));
        assert_eq!(list.selected, 0, "another question, another list");
    }

    #[test]
    fn a_list_is_refreshed_while_something_of_it_is_read_or_runs() {
        let due = |state: &str, end: Option<&str>, is_partial| {
            let title = (state != "indexed without a title").then(|| "A title".to_owned());
            let state = state.split(' ').next().unwrap_or_default().to_owned();
            let row = Row { state, end: end.map(str::to_owned), title, message_count: 2, ..Row::default() };
            let mut list = List::default();
            let (now, entries) = (Instant::now(), vec![Entry { row, places: Vec::new() }]);
            list.ask_anew(now);
            list.take_due(now + QUIET);
            list.take(1, 0, false, Page { entries, is_partial, ..Page::default() });
            (list.take_due(now + QUIET), list.take_due(Instant::now() + RUNNING))
        };
        for (state, end, is_partial, expected) in [
            ("indexing", Some("explicit"), false, Some(Due::Refresh)),
            ("active", None, false, Some(Due::Refresh)),
            ("indexed", Some("explicit"), true, Some(Due::Fresh)),
            ("indexed", Some("explicit"), false, None),
            ("indexed without a title", Some("explicit"), false, Some(Due::Refresh)),
            ("unindexed", None, false, None),
        ] {
            assert_eq!(due(state, end, is_partial), (None, expected), "{state} {end:?} {is_partial}");
        }
    }

    #[test]
    fn pages_follow_while_there_are_more() {
        let mut list = List::default();
        list.ask_anew(Instant::now());
        list.take(1, 0, true, page(&["a", "b", "c"], true));
        assert_eq!((list.wanted_page(1), list.count().as_str()), (None, "3+ sessions"));
        list.select(9);
        assert_eq!((list.wanted_page(1), list.wanted_page(1)), (Some(3), None));
        list.take(1, 0, false, page(&["a", "b", "c"], true));
        list.take(1, 3, true, page(&["c", "d"], true));
        assert_eq!((list.entries.len(), list.wanted_page(9)), (4, Some(4)));
        list.take(1, 4, true, page(&["d"], true));
        assert_eq!((list.count().as_str(), list.wanted_page(9)), ("4 sessions", None));
        list.select(3);
        let (first, seen) = list.visible(2);
        assert_eq!((first, seen.len()), (2, 2));
        list.take(1, 0, false, page(&["e", "a"], true));
        assert_eq!((list.entries.len(), list.selected), (5, 4), "what was fetched stays, and so does the selection");
        assert_eq!(list.count(), "5 sessions");
    }
}
