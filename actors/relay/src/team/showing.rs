//! Shows the sessions of others beside those of this home.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_conversation::record::{Position, SequenceNumber, SessionId};
use baton_events::project;
use baton_events::projection::others::{Author, Others};
use baton_events::projection::table::Row;
use baton_events::session::{Place, State as SessionState};

use super::{State, Team};
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
            // The writer who had a session first keeps it.
            let sessions = state.writers.values().flat_map(|writer| writer.sessions.iter().map(move |it| (writer, it)));
            let mut sessions: Vec<(&Writer, (&SessionId, &Shared))> = sessions.collect();
            // Of one person's machines the one on which it went on last; of several people's the first, unless they left.
            sessions.sort_by_cached_key(|(writer, (id, shared))| {
                let is_gone = writer.has_left || state.is_removed(&writer.id);
                let theirs = state.writers.values().filter(|it| it.name == writer.name && it.id != writer.id);
                let since = theirs.filter_map(|it| Some(it.sessions.get(*id)?.since)).min();
                let since = since.map_or(shared.since, |other| other.min(shared.since));
                (is_gone, since, std::cmp::Reverse(shared.state.last_activity()), writer.since, writer.id.clone())
            });
            for (writer, (session, _)) in sessions {
                if others.get(session).is_none()
                    && let Some((row, author)) = shown(&state, writer, session)
                {
                    self.read_from(session, &author);
                    others.insert(session.clone(), row, author);
                }
            }
        }
        self.replace_others(others);
    }

    pub(super) fn show(&self, session: &SessionId, shown: Option<(Arc<Row>, Arc<Author>)>) {
        let Some((row, author)) = shown else { return };
        // The writer who had it first keeps it.
        let is_anothers = |others: &Others| others.author(session).is_some_and(|known| known.writer != author.writer);
        let is_anothers = is_anothers(&self.others.borrow());
        if is_anothers {
            return self.publish_others();
        }
        self.read_from(session, &author);
        self.others.send_modify(|others| others.insert(session.clone(), row, author));
    }

    fn read_from(&self, session: &SessionId, author: &Author) {
        if let Some(writer) = WriterId::parse(&author.writer) {
            let folder = Record::new(&self.folder, &writer).blobs().folder_of(session);
            self.options.chunks.read_also(session, Some(folder));
        }
    }

    pub(super) fn replace_others(&self, others: Others) {
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

/// The row of a writer's session as it is shown here; `None` for sessions of this home, and those without content.
pub(super) fn shown(state: &State, writer: &Writer, session: &SessionId) -> Option<(Arc<Row>, Arc<Author>)> {
    let shared = writer.sessions.get(session)?;
    if state.own.as_ref() == Some(&writer.id) || shared.state.episode.is_none() {
        return None;
    }
    let place = shared.state.place.as_ref().map(|place| here(place, &state.remotes));
    let session_state = SessionState { place, ..shared.state.clone() };
    let row = Row { version: SequenceNumber(shared.sequence), state: session_state, since: Position(u64::MAX) };
    let author = Author { writer: writer.id.to_string(), name: writer.name.clone(), machine: writer.machine.clone() };
    Some((Arc::new(row), Arc::new(author)))
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
