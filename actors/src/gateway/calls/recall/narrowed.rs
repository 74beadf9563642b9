//! What the words of a question say of where and when, as filters.

use baton_events::projection::table::Row;
use baton_events::query::{Field, Filter};
use baton_events::recall::{self, Around, Asked, Named};
use baton_events::record::SessionId;

use super::Looking;
use crate::gateway::resolve;

/// How a question was narrowed.
#[derive(Default)]
pub(super) struct Narrowed {
    /// Its words did, by the name of a project that may be a word as well.
    pub(super) by_a_word: bool,
    /// What is to be said of it.
    pub(super) note: Option<String>,
}

impl Looking {
    /// The question as it is meant, with the filters that its words say.
    pub(super) fn narrowed(mut self) -> (Self, Asked, Narrowed) {
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
                // What is said outright holds; another name than that is a word.
                let meant = self.project.as_deref().map(resolve::last_part);
                if !called.iter().any(|name| Some(name.as_str()) == meant) {
                    asked = self.read(&[]);
                }
            }
            Named::Called { names: called, .. } => {
                let is_called = |path: &&String| called.iter().any(|name| name == resolve::last_part(path));
                let meant: Vec<String> = projects.iter().filter(is_called).cloned().collect();
                narrowed.by_a_word = called.iter().all(|name| name.chars().all(char::is_alphanumeric));
                narrowed.note = Some(format!("only of {}, which the question names", called.join(" and ")));
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
            // What "we" worked on is what was worked on here, where anything was.
            self.project = self.own_project();
            let own = self.project.as_deref().map(resolve::last_part);
            narrowed.note = own.map(|own| format!("only of {own}, where you are; another project can be named"));
        }
        (self.within(&asked), asked, narrowed)
    }

    /// The question as it is where no project is known.
    pub(super) fn unnarrowed(self) -> (Self, Asked) {
        let asked = self.read(&[]);
        (self.within(&asked), asked)
    }

    fn read(&self, projects: &[String]) -> Asked {
        recall::read(&self.question.words, &Around { projects, now: self.now })
    }

    /// Within the time that it names.
    fn within(mut self, asked: &Asked) -> Self {
        if let Some(span) = asked.span {
            let (after, before) = (self.question.after, self.question.before);
            self.question.after = span.after.into_iter().chain(after).max();
            self.question.before = span.before.into_iter().chain(before).min();
        }
        self
    }

    /// The project of the caller's directory, if any session of it can be told of.
    fn own_project(&self) -> Option<String> {
        let directory = self.directory.as_deref()?;
        let own = crate::place::of(directory).project;
        let told = |id: &SessionId, row: &Row| {
            row.state.episode.is_some()
                && self.asking.as_ref() != Some(id)
                && !self.is_hidden(id.as_str())
                && resolve::is_in(&row.state, &own)
        };
        self.table.iter().any(|(id, row)| told(id, row)).then_some(own)
    }
}
