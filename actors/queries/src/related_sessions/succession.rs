//! Predecessor and successor of a session in the same directory of a project, where no hook has stated them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{Place, State};

use super::is_shown;
use baton_config::settings::Settings;

/// The sessions with messages in one directory.
#[derive(Default)]
pub(super) struct Succession<'a> {
    /// Sorted by last activity.
    left: Vec<(Timestamp, Reverse<&'a SessionId>)>,
    /// Sorted by beginning, with true if a hook states the predecessor.
    began: Vec<(Timestamp, &'a SessionId, bool)>,
}

impl<'a> Succession<'a> {
    /// The sessions in the directory of a session.
    pub(super) fn in_place_of(state: &State, table: &'a SessionTable, settings: &Settings) -> Self {
        let mut succession = Self::default();
        let Some(place) = &state.place else { return succession };
        let is_there = |row: &Row| row.state.place.as_ref() == Some(place);
        table.iter().filter(|(_, row)| is_there(row)).for_each(|(id, row)| succession.add(id, row, settings));
        succession.sorted()
    }

    /// The sessions of every directory.
    pub(super) fn by_place(table: &'a SessionTable, settings: &Settings) -> BTreeMap<&'a Place, Self> {
        let mut all: BTreeMap<&Place, Self> = BTreeMap::new();
        for (id, row) in table.iter() {
            if let Some(place) = &row.state.place {
                all.entry(place).or_default().add(id, row, settings);
            }
        }
        all.into_iter().map(|(place, succession)| (place, succession.sorted())).collect()
    }

    fn add(&mut self, id: &'a SessionId, row: &'a Row, settings: &Settings) {
        if is_shown(row, settings) && row.state.counts.messages > 0 && !row.state.is_subagent() {
            self.left.push((row.state.last_activity(), Reverse(id)));
            let is_said = row.state.signals.follows.is_some();
            self.began.extend(row.state.first_at.map(|at| (at, id, is_said)));
        }
    }

    fn sorted(mut self) -> Self {
        self.left.sort_unstable();
        self.began.sort_unstable();
        self
    }

    /// The last session that was left before this one began. Concurrent sessions do not count.
    pub(super) fn before(&self, id: &SessionId, state: &State) -> Option<&'a SessionId> {
        let began = state.first_at.filter(|_| !state.is_subagent())?;
        let earlier = &self.left[..self.left.partition_point(|(left, _)| *left <= began)];
        earlier.iter().rev().map(|(_, Reverse(other))| *other).find(|other| *other != id)
    }

    /// The first session that began after this one was left, if this one is its predecessor and no hook states another.
    pub(super) fn after(&self, id: &SessionId, state: &State, table: &'a SessionTable) -> Option<&'a SessionId> {
        let later = &self.began[self.began.partition_point(|(began, ..)| *began < state.last_activity())..];
        let (_, next, is_said) = later.iter().find(|(_, other, _)| *other != id)?;
        let is_before = || self.before(next, &table.get(next)?.state);
        (!is_said && is_before() == Some(id)).then_some(*next)
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::projection::table::Row;
    use baton_events::session::{Follows, Place};

    use super::*;

    /// Sessions as `(id, directory, first record, last activity, predecessor)`; checks predecessor and successor of
    /// each.
    fn check(sessions: &[(&str, &str, i64, i64, Option<&str>)], expected: &[(Option<&str>, Option<&str>)]) {
        let id = |text: &str| SessionId::new(text).unwrap();
        let mut table = SessionTable::default();
        for (name, cwd, first, last, follows) in sessions {
            let mut state = State {
                phase: baton_events::session::Phase::Indexed,
                place: Some(Place::new(*cwd, "/p")),
                first_at: Some(Timestamp(*first)),
                last_conversation_at: Some(Timestamp(*last)),
                ..State::default()
            };
            state.counts.messages = 2;
            state.signals.follows = follows.map(|it| Follows { session: id(it), at: Timestamp(*first) });
            table.restore(id(name), Row { version: SequenceNumber(1), state, since: Position(1) });
        }
        let settings = Settings::default();
        for ((name, ..), (earlier, later)) in sessions.iter().zip(expected) {
            let state = &table.get(&id(name)).unwrap().state;
            let beside = Succession::in_place_of(state, &table, &settings);
            let found = (beside.before(&id(name), state), beside.after(&id(name), state, &table));
            let all = Succession::by_place(&table, &settings);
            assert_eq!(all[state.place.as_ref().unwrap()].before(&id(name), state), found.0);
            let text = |found: Option<&SessionId>| found.map(|id| id.as_str().to_owned());
            let expected = (earlier.map(str::to_owned), later.map(str::to_owned));
            assert_eq!((text(found.0), text(found.1)), expected, "{name} of {sessions:?}");
        }
    }

    #[test]
    fn sessions_of_one_directory_come_one_after_the_other() {
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, None), ("c", "/p", 30, 40, None)],
            &[(None, Some("b")), (Some("a"), Some("c")), (Some("b"), None)],
        );
        // One in another directory, and two concurrent ones.
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p/sub", 20, 30, None), ("c", "/p", 5, 40, None)],
            &[(None, None), (None, None), (None, None)],
        );
        // Of two that began after the same session only the first is its successor.
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, None), ("c", "/p", 25, 40, None)],
            &[(None, Some("b")), (Some("a"), None), (Some("a"), None)],
        );
        // A hook takes precedence: the predecessor of `b` is known.
        check(&[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, Some("x"))], &[(None, None), (Some("a"), None)]);
    }
}
