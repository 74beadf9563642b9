//! Shows the sessions of others beside those of this home.

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
use crate::record::{Record, Shared, Writer};

impl Team {
    /// Notes which projects of this home are clones of which repository; others' sessions of the same are shown in it.
    pub(super) fn look_at_projects(&self) {
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
            self.publish_others();
        }
    }

    /// Shows all sessions of others anew.
    pub(super) fn publish_others(&self) {
        let mut others = Others::default();
        {
            let state = self.state();
            let sessions: BTreeSet<&SessionId> = state.writers.values().flat_map(|it| it.sessions.keys()).collect();
            for session in sessions {
                if let Some((row, author)) = self.shown(&state, session) {
                    self.read_from(session, &author);
                    others.insert(session.clone(), row, author);
                }
            }
        }
        self.replace_others(others);
    }

    /// Shows a session as its writers have it now.
    pub(super) fn show(&self, session: &SessionId) {
        let is_new = self.others.borrow().get(session).is_none();
        self.show_one(session);
        if is_new && self.others.borrow().get(session).is_some() {
            // Those that came before what they are a part of.
            let parts: Vec<SessionId> = {
                let state = self.state();
                state.writers.values().filter_map(|writer| writer.parts.get(session)).flatten().cloned().collect()
            };
            parts.iter().for_each(|part| self.show_one(part));
        }
    }

    fn show_one(&self, session: &SessionId) {
        let shown = self.shown(&self.state(), session);
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

    /// The row of a session as it is shown here; `None` for sessions of this home, and those without content.
    fn shown(&self, state: &State, session: &SessionId) -> Option<(Arc<Row>, Arc<Author>)> {
        let (writer, shared) = state.writer_of(session)?;
        let place = shared.state.place.as_ref().map(|place| here(place, &state.remotes));
        let mut session_state = SessionState { place, ..shared.state.clone() };
        // Nobody can make a session the part of another one that is not theirs.
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
        // Nor is anything newer than its arrival here.
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

    /// Shows what others know this home by.
    pub(super) fn show_own(&self, settings: &settings::Relay) {
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
    /// The writer whose session of this id is shown: of those who belong to the team and have not left before the others,
    /// the one who had it first.
    fn writer_of(&self, session: &SessionId) -> Option<(&Writer, &Shared)> {
        let with_it = self.writers.values().filter_map(|writer| Some((writer, writer.sessions.get(session)?)));
        let shown =
            with_it.filter(|(writer, shared)| self.own.as_ref() != Some(&writer.id) && shared.state.episode.is_some());
        shown.min_by_key(|(writer, shared)| {
            (writer.has_left || !self.is_member(writer), shared.since, writer.since, writer.id.clone())
        })
    }

    /// A writer's name: with the beginning of their fingerprint if another one who was known before, or this home, has the
    /// same.
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
    pub(crate) fn shown_of_one(&self) -> usize {
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

/// A published place as it is here: in the clone of the same repository, if there is one.
fn here(place: &Place, remotes: &BTreeMap<String, String>) -> Place {
    let root = place.remote.as_ref().and_then(|remote| remotes.get(remote)).unwrap_or(&place.project);
    let cwd = match place.cwd.as_str() {
        "." | "" => root.clone(),
        outside if outside.starts_with(['/', '~']) => outside.to_owned(),
        below => format!("{root}/{below}"),
    };
    Place::new(cwd, root.clone()).with_remote(place.remote.clone())
}
