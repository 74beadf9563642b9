//! Derives filters of place and time from the words of a question.

use baton_ask::query::{Field, Filter};
use baton_ask::recall;
use baton_ask::recall::{Context, Intent, Named, Span};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::Row;
use baton_protocol::Zone;
use baton_views::{clones, visibility};

use super::super::zone_day;
use super::{Answer, Recall};
use crate::resolve;

/// Most edits between a mistyped name and the real one, and most characters that are compared.
const MISTYPED: usize = 2;
const MISTYPED_CHARS: usize = 100;

/// How a question's words limited the search.
#[derive(Default)]
pub(super) struct Narrowed {
    /// True if a project's name limited it, which may have been meant as an ordinary word.
    pub(super) by_a_word: bool,
    /// A note for the answer.
    pub(super) note: Option<String>,
}

impl Recall {
    /// The question's meaning, with the filters that its words state.
    pub(super) fn narrow(mut self) -> (Self, Intent, Narrowed) {
        let is_said = self.project.is_some() || self.question.values(Field::Project, false).next().is_some();
        let projects: Vec<String> =
            resolve::projects(&self.table, &self.settings).into_iter().map(str::to_owned).collect();
        let mut names: Vec<String> = projects.iter().map(|path| resolve::last_part(path).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let mut asked = self.read(&names);
        let mut narrowed = Narrowed::default();
        match asked.named.clone() {
            Named::Called { names: called, .. } if is_said => {
                // An explicit filter takes precedence; another project's name is then a word.
                let meant = self.project.as_deref().map(resolve::last_part);
                if !called.iter().any(|name| Some(name.as_str()) == meant) {
                    asked = self.read(&[]);
                }
            }
            Named::Called { names: called, .. } => {
                let is_called = |path: &&String| called.iter().any(|name| name == resolve::last_part(path));
                let meant: Vec<String> = projects.iter().filter(is_called).cloned().collect();
                narrowed.by_a_word = called.iter().all(|name| name.chars().all(char::is_alphanumeric));
                narrowed.note = Some(format!("only of {}, as named in the question", called.join(" and ")));
                match meant.as_slice() {
                    [only] => self.project = Some(only.clone()),
                    several => {
                        let filter =
                            |value: &String| Filter { field: Field::Project, value: value.clone(), negated: false };
                        self.question.filters.extend(several.iter().map(filter));
                    }
                }
            }
            Named::Here if !is_said => {
                self.project = self.own_project();
                if self.project.is_none() {
                    narrowed.note =
                        Some("nothing is known of this directory's project; this is of all of them".to_owned());
                }
            }
            Named::Here | Named::None => {}
        }
        if asked.is_general() && !is_said && asked.named == Named::None {
            // "We" means the caller's project, if anything was done there.
            self.project = self.own_project();
            let own = self.project.as_deref().map(resolve::last_part);
            narrowed.note = own.map(|own| format!("only of {own}, where you are; another project can be named"));
        }
        (self.within(&asked), asked, narrowed)
    }

    /// A note if the question names a place that is no known project: nothing is known of it, or a project has a
    /// similar name.
    pub(super) fn unknown_place_note(&self, asked: &Intent, found: &Answer) -> Option<String> {
        let place = asked.place.as_deref().filter(|_| self.project.is_none() && !self.question.has_secret)?;
        let is_answered = !found.entries.is_empty() && found.unknown.is_empty();
        let plain = |name: &str| -> String {
            name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(MISTYPED_CHARS).collect()
        };
        let wanted = plain(place);
        let is_near = || {
            let projects = resolve::projects(&self.table, &self.settings);
            let far = |path: &&str| strsim::damerau_levenshtein(&wanted, &plain(resolve::last_part(path)));
            wanted.len() > 2 * MISTYPED && projects.iter().any(|path| far(path) <= MISTYPED)
        };
        if is_answered || !found.entries.is_empty() && !is_near() {
            return None;
        }
        resolve::project(&self.table, &self.settings, place).err().map(|refusal| refusal.message)
    }

    /// The question without a known project.
    pub(super) fn without_project(self) -> (Self, Intent) {
        let asked = self.read(&[]);
        (self.within(&asked), asked)
    }

    fn read(&self, projects: &[String]) -> Intent {
        let context = Context { projects, now: self.now, zone: self.question.zone };
        let mut asked = recall::read(&self.question.words, &context);
        // Without an index all words count alike.
        asked.weigh(|words| self.searcher.word_weights(words.iter().copied()).ok());
        asked
    }

    /// Applies the time that the question names.
    fn within(mut self, asked: &Intent) -> Self {
        if let Some(span) = asked.span {
            let (after, before) = (self.question.after, self.question.before);
            self.question.after = span.after.into_iter().chain(after).max();
            self.question.before = span.before.into_iter().chain(before).min();
        }
        self
    }

    /// The project of the caller's directory, if one of its sessions may be shown.
    fn own_project(&self) -> Option<String> {
        let directory = self.directory.as_deref()?;
        let own = clones::project_of(&self.table, directory);
        let is_shown = |id: &SessionId, row: &Row| {
            row.state.episode.is_some() && !self.is_hidden(id.as_str()) && visibility::is_in(&row.state, &own)
        };
        self.table.iter().any(|(id, row)| is_shown(id, row)).then_some(own)
    }
}

/// The note that a question was limited to a time.
pub(super) fn time_note(span: Span, zone: Zone) -> String {
    let day = |at: Timestamp| zone_day(at, zone);
    // The end is exclusive, so the last day is the one before it.
    let last = |before: Timestamp| day(before.plus_ms(-1));
    let when = match (span.after, span.before) {
        (Some(after), Some(before)) if day(after) == last(before) => day(after),
        (Some(after), Some(before)) => format!("{} to {}", day(after), last(before)),
        (Some(after), None) => format!("{} and later", day(after)),
        (None, Some(before)) => format!("what was before {}", day(before)),
        (None, None) => return "of any time".to_owned(),
    };
    let utc = if zone == Zone::UTC { " (UTC)" } else { "" };
    format!("only of {when}{utc}, as named in the question")
}
