//! Shows the sessions of others alongside those of this home.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_config::settings;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};
use baton_events::project;
use baton_events::projection::others::{Author, MIN_FINGERPRINT, Others};
use baton_events::projection::table::Row;
use baton_events::session::{Kind, Place, State as SessionState};

use super::{State, Team, machine};
use crate::keys::WriterId;
use crate::record::{Record, SharedSession, Writer};

impl Team {
    /// Finds the repository of each project of this home; others' sessions of the same repository are shown in it.
    pub(super) fn find_repositories(&self) {
        let table = self.options.table.now();
        let mut remotes: BTreeMap<String, String> = BTreeMap::new();
        for place in table.belongings().filter_map(|belonging| belonging.place.as_ref()) {
            let Some(remote) = &place.remote else { continue };
            let key = |project: &str| (project::is_copy(project), project.to_owned());
            let known = remotes.get(remote);
            if known.is_none_or(|known| key(&place.project) < key(known)) {
                remotes.insert(remote.clone(), place.project.clone());
            }
        }
        let is_same = {
            let mut state = self.state();
            let is_same = state.remotes == remotes;
            state.remotes = remotes;
            is_same
        };
        if !is_same {
            self.republish_all();
        }
    }

    /// Republishes all sessions of others to answers.
    pub(super) fn republish_all(&self) {
        let mut others = Others::default();
        {
            let state = self.state();
            let sessions: BTreeSet<&SessionId> = state.writers.values().flat_map(|it| it.sessions.keys()).collect();
            for session in sessions {
                if let Some((row, author)) = self.build_row(&state, session) {
                    self.read_from(session, &author);
                    others.insert(session.clone(), row, author);
                }
            }
        }
        self.replace_others(others);
    }

    /// Updates a session of others in answers.
    pub(super) fn republish_row(&self, session: &SessionId) {
        let is_new = self.others.borrow().get(session).is_none();
        self.update_row(session);
        if is_new && self.others.borrow().get(session).is_some() {
            // Subagent sessions may have arrived before their parent.
            let parts: Vec<SessionId> = {
                let state = self.state();
                state.writers.values().filter_map(|writer| writer.parts.get(session)).flatten().cloned().collect()
            };
            parts.iter().for_each(|part| self.update_row(part));
        }
    }

    fn update_row(&self, session: &SessionId) {
        let shown = self.build_row(&self.state(), session);
        match shown {
            Some((row, author)) => {
                self.read_from(session, &author);
                self.others.send_modify(|others| others.insert(session.clone(), row, author));
            }
            None if self.others.borrow().get(session).is_some() => {
                self.options.chunks.read_also(session, None);
                self.others.send_modify(|others| others.remove(session));
            }
            None => {}
        }
    }

    /// The row of a session of others; `None` for sessions of this home, and those without content.
    fn build_row(&self, state: &State, session: &SessionId) -> Option<(Arc<Row>, Arc<Author>)> {
        let (writer, shared) = state.writer_of(session)?;
        let place = shared.state.place.as_ref().map(|place| local_place(place, &state.remotes));
        let mut session_state = SessionState { place, ..shared.state.clone() };
        // A writer cannot make a session part of another writer's.
        let table = self.options.table.now();
        let is_theirs = |of: &SessionId| {
            table.get(of).is_none()
                && writer.sessions.contains_key(of)
                && state.writer_of(of).is_none_or(|(by, _)| by.id == writer.id)
        };
        if let Some(transcript) = &mut session_state.transcript
            && let Kind::Subagent { parent } = &mut transcript.kind
        {
            *parent = parent.take().filter(is_theirs);
        }
        // Nor can it be newer than its arrival here.
        let received = |at: &mut Option<Timestamp>| *at = at.map(|at| at.min(shared.at));
        for at in [&mut session_state.first_at, &mut session_state.last_at, &mut session_state.last_conversation_at] {
            received(at);
        }
        session_state.discovered_at = session_state.discovered_at.min(shared.at);
        let row = Row { version: SequenceNumber(shared.sequence), state: session_state, since: Position(u64::MAX) };
        let author = Author {
            writer: writer.id.to_string(),
            name: writer.name.clone(),
            shown: state.name_of(writer),
            machine: writer.machine.clone(),
        };
        Some((Arc::new(row), Arc::new(author)))
    }

    fn read_from(&self, session: &SessionId, author: &Author) {
        if let Some(writer) = WriterId::parse(&author.writer) {
            let folder = Record::new(&self.folder, &writer).blobs().folder_of(session);
            self.options.chunks.read_also(session, Some(folder));
        }
    }

    /// Publishes the name by which others know this home.
    pub(super) fn publish_own_name(&self, settings: &settings::Relay) {
        let (name, writer) = (self.own_name(settings), self.state().own.as_ref().map(ToString::to_string));
        let own = Author { writer: writer.unwrap_or_default(), shown: name.clone(), name, machine: machine() };
        self.others.send_if_modified(|others| {
            let is_new = *others.own != own;
            others.own = Arc::new(own);
            is_new
        });
    }

    pub(super) fn replace_others(&self, mut others: Others) {
        others.own = self.others.borrow().own.clone();
        let gone: Vec<SessionId> = {
            let before = self.others.borrow();
            before.iter().map(|(id, _)| id.clone()).filter(|id| others.get(id).is_none()).collect()
        };
        for session in &gone {
            self.options.chunks.read_also(session, None);
        }
        if !gone.is_empty() || !others.is_empty() {
            self.others.send_replace(others);
        }
    }
}

impl State {
    /// The writer whose session of this id is shown: active members first, then whoever had it first.
    fn writer_of(&self, session: &SessionId) -> Option<(&Writer, &SharedSession)> {
        let with_it = self.writers.values().filter_map(|writer| Some((writer, writer.sessions.get(session)?)));
        let shown =
            with_it.filter(|(writer, shared)| self.own.as_ref() != Some(&writer.id) && shared.state.episode.is_some());
        shown.min_by_key(|(writer, shared)| {
            (writer.has_left || !self.is_member(writer), shared.since, writer.since, writer.id.clone())
        })
    }

    /// A writer's name, with the beginning of their fingerprint if this home or a writer known earlier has the same
    /// name.
    pub(crate) fn name_of(&self, writer: &Writer) -> String {
        let is_own = |it: &Writer| self.own.as_ref() == Some(&it.id);
        let is_before = |it: &Writer| is_own(it) || (it.since, &it.id) < (writer.since, &writer.id);
        let alike = |it: &&Writer| it.id != writer.id && it.name == writer.name && is_before(it);
        match !is_own(writer) && self.writers.values().any(|it| alike(&it)) {
            true => format!("{} ({})", writer.name, &writer.id.as_str()[..MIN_FINGERPRINT]),
            false => writer.name.clone(),
        }
    }

    /// Number of sessions that several members publish: one of them is shown.
    pub(crate) fn duplicate_count(&self) -> usize {
        let mut seen = BTreeSet::new();
        let mut twice = BTreeSet::new();
        let members = self.members().filter(|writer| !writer.has_left && self.own.as_ref() != Some(&writer.id));
        for session in members.flat_map(|writer| writer.sessions.keys()) {
            if !seen.insert(session) {
                twice.insert(session);
            }
        }
        twice.len()
    }
}

/// Maps a published place to this home's clone of the same repository, if there is one.
fn local_place(place: &Place, remotes: &BTreeMap<String, String>) -> Place {
    let root = place.remote.as_ref().and_then(|remote| remotes.get(remote)).unwrap_or(&place.project);
    let cwd = match place.cwd.as_str() {
        "." | "" => root.clone(),
        outside if outside.starts_with(['/', '~']) => outside.to_owned(),
        below => format!("{root}/{below}"),
    };
    Place::new(cwd, root.clone()).with_remote(place.remote.clone())
}
