//! Selects sessions by the filters of a question.
//!
//! The session table decides on project, agent, state, author and time; the memory on file, tool and branch. Values of one
//! field are alternatives, different fields must all fit, and a negated value must not. Active means that the session
//! has not ended, indexed or not: the search indexes it first.
//!
//! # Decisions
//!
//! - `state:active` finds sessions that have not ended, also indexed ones; the `state` of the row remains the phase.

use baton_views::visibility;
use std::cmp::Reverse;

use baton_ask::query::{Field, Question, Without};
use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::State;
use baton_graph::Label;
use baton_redaction::redact;

use super::resolve;
use baton_config::settings::Settings;
use baton_memory::{Error, Searcher, SessionIds, SessionMatches};

/// The filters of a question, resolved against the current sessions.
pub(super) struct SessionFilter {
    /// Directories or sessions for each field that is named; one of them must fit.
    projects: Option<Vec<String>>,
    not_projects: Vec<String>,
    wanted_sessions: Vec<SessionIds>,
    unwanted_sessions: Vec<SessionIds>,
    /// Whose each session is, if the question asks for that.
    authors: Option<SessionTable>,
    /// Reasons why a filter fits nothing or not everything, each a sentence without the full stop.
    pub(super) notes: Vec<String>,
}

impl SessionFilter {
    /// Resolves the filters. `directory` replaces `.`. Blocks for look-ups in the memory.
    pub(super) fn resolve(
        question: &Question,
        table: &SessionTable,
        settings: &Settings,
        searcher: &Searcher,
        directory: Option<&str>,
    ) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let mut projects = |negated: bool| -> Vec<String> {
            let named = question.values(Field::Project, negated);
            let meant = named.map(|name| directory.filter(|_| name == ".").unwrap_or(name));
            let mut resolved = Vec::new();
            for name in meant {
                match resolve::project(table, settings, name) {
                    Ok(project) => resolved.push(project),
                    Err(refusal) => notes.push(redact(&refusal.message).into_owned()),
                }
            }
            resolved
        };
        let (wanted, not_projects) = (projects(false), projects(true));
        let is_named = question.values(Field::Project, false).next().is_some();
        let mut filter = Self {
            projects: is_named.then_some(wanted),
            not_projects,
            wanted_sessions: Vec::new(),
            unwanted_sessions: Vec::new(),
            authors: question.filters.iter().any(|filter| filter.field == Field::Who).then(|| table.clone()),
            notes,
        };
        for name in question.values(Field::Who, false).filter(|name| !matches!(*name, "me" | "team")) {
            if !table.iter().any(|(id, _)| visibility::belongs_to(table, id.as_str(), name)) {
                let named = format!("no session is of {name:?}; `who:me`, `who:team`, or a name in `baton relay who`");
                filter.notes.push(redact(&named).into_owned());
            }
        }
        for field in [Field::File, Field::Tool, Field::Branch] {
            let mut fitting: Option<SessionIds> = None;
            for name in question.values(field, false) {
                let mut sessions =
                    filter.note_if_partial(sessions_having(searcher, field, name)?, field.as_str(), name);
                if sessions.is_empty() {
                    filter.notes.push(format!("no session has to do with a {} {name:?}", field.as_str()));
                }
                fitting.get_or_insert_default().append(&mut sessions);
            }
            filter.wanted_sessions.extend(fitting);
            for name in question.values(field, true) {
                let sessions = filter.note_if_partial(sessions_having(searcher, field, name)?, field.as_str(), name);
                filter.unwanted_sessions.push(sessions);
            }
        }
        if question.is_filters_only() {
            // Without a passage to search for, excluded words must not occur anywhere in the session.
            for without in &question.without {
                let (Without::Word(text) | Without::Phrase(text)) = without;
                let sessions = filter.note_if_partial(searcher.sessions_saying(without)?, "text", text);
                filter.unwanted_sessions.push(sessions);
            }
        }
        Ok(filter)
    }

    /// Returns the found sessions, and adds a note if the look-up was not complete.
    fn note_if_partial(&mut self, found: SessionMatches, field: &str, name: &str) -> SessionIds {
        if found.is_partial {
            self.notes.push(format!(
                "not everything was compared with the {field} {name:?}: there is too much; more of it helps"
            ));
        }
        found.sessions
    }

    /// Returns true if a session passes the filters. A session without a known state has no project, agent, state or
    /// time.
    pub(super) fn admits(&self, question: &Question, id: &str, state: Option<&State>) -> bool {
        let is_of = |who: &str| self.authors.as_ref().is_some_and(|table| visibility::belongs_to(table, id, who));
        !question.fits_nothing
            && fits(question, Field::Who, &is_of)
            && self.wanted_sessions.iter().all(|sessions| sessions.contains(id))
            && !self.unwanted_sessions.iter().any(|sessions| sessions.contains(id))
            && match state {
                Some(state) => self.admits_state(question, state),
                None => !question.is_restricted() || !self.wanted_sessions.is_empty(),
            }
    }

    fn admits_state(&self, question: &Question, state: &State) -> bool {
        let in_any = |projects: &[String]| projects.iter().any(|project| visibility::is_in(state, project));
        let agent = state.transcript.as_ref().map_or("", |transcript| transcript.agent.as_str());
        let phase = state.phase.as_str();
        let is_so = |value: &str| if value == "active" { state.is_open() } else { value == phase };
        let ended = state.last_activity();
        let began = state.first_at.unwrap_or(ended);
        self.projects.as_deref().is_none_or(in_any)
            && !in_any(&self.not_projects)
            && fits(question, Field::Agent, &|value| value == agent)
            && fits(question, Field::State, &is_so)
            && question.after.is_none_or(|after| ended >= after)
            && question.before.is_none_or(|before| began < before)
    }

    /// Sessions and memos that pass the filters, by key, the latest first; without sessions of subagents.
    pub(super) fn latest(
        &self,
        question: &Question,
        table: &SessionTable,
        hidden: &dyn Fn(&str) -> bool,
        most: usize,
    ) -> Vec<SessionId> {
        let is_left =
            |id: &SessionId, state: &State| !hidden(id.as_str()) && self.admits(question, id.as_str(), Some(state));
        let sessions = table
            .iter()
            .filter(|(_, row)| !row.state.is_subagent() && row.state.episode.is_some())
            .filter(|(id, row)| is_left(id, &row.state))
            .map(|(id, row)| (Reverse(row.state.last_activity().0), id.clone()));
        let notes = table.memos().filter_map(|(uuid, _)| {
            let id = memo::key(uuid);
            let state = visibility::memo_as_state(table, id.as_str())?;
            is_left(&id, &state).then(|| (Reverse(state.last_activity().0), id))
        });
        let mut left: Vec<(Reverse<i64>, SessionId)> = sessions.chain(notes).collect();
        left.sort_unstable();
        left.into_iter().take(most).map(|(_, id)| id).collect()
    }
}

/// True if one of a field's values is what is wanted, if there are any, and none of those that are not.
fn fits(question: &Question, field: Field, is: &dyn Fn(&str) -> bool) -> bool {
    let mut wanted = question.values(field, false).peekable();
    (wanted.peek().is_none() || wanted.any(is)) && !question.values(field, true).any(is)
}

fn sessions_having(searcher: &Searcher, field: Field, name: &str) -> Result<SessionMatches, Error> {
    match field {
        Field::File => searcher.sessions_with_file(name),
        Field::Tool => searcher.sessions_with_entity(Label::Tool, name),
        _ => searcher.sessions_with_entity(Label::Branch, name),
    }
}

/// The names of the filters in a question.
pub(super) fn filter_names(question: &Question) -> Vec<String> {
    let used = Field::ALL.iter().filter(|field| question.values(**field, false).next().is_some());
    let mut names: Vec<&str> = used.map(|field| field.as_str()).collect();
    names.extend(question.after.map(|_| "after"));
    names.extend(question.before.map(|_| "before"));
    names.into_iter().map(str::to_owned).collect()
}
