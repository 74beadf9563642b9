//! The sessions that a call forgets or restores.

use std::collections::BTreeSet;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Kind, Phase};

use baton_base::transcript_file::FileSeen;

/// One session to forget or to restore.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) id: SessionId,
    /// Its transcript, if the session is unknown or is to be read again.
    pub(super) file: Option<FileSeen>,
    /// Its project, if only the transcript states it.
    pub(super) project: Option<String>,
    /// Its parent, if only the file states it.
    pub(super) parent: Option<SessionId>,
    /// Time of its last conversation, if only the transcript states it.
    pub(super) last_at: Option<Timestamp>,
    /// Why it is included.
    pub(super) why: String,
    /// Number of records shared with the session that it is a copy of.
    pub(super) shared: u64,
}

impl Target {
    pub(super) fn new(id: SessionId) -> Self {
        Self { id, file: None, project: None, parent: None, last_at: None, why: String::new(), shared: 0 }
    }

    pub(super) fn of_file(file: FileSeen) -> Self {
        let parent = match &file.kind {
            Kind::Subagent { parent } => parent.clone(),
            Kind::Main => None,
        };
        Self { parent, file: Some(file.clone()), ..Self::new(file.session) }
    }
}

/// The sessions that a call refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Those that were requested; parents before their subagents.
    pub(super) sessions: Vec<Target>,
    /// Forks and copies of these, and their subagents.
    pub(super) also: Vec<Target>,
    /// Like `also`, if only the requested sessions are to go.
    pub(super) left: Vec<Target>,
}

impl Selection {
    pub(super) fn contains(&self, id: &SessionId) -> bool {
        self.sessions.iter().chain(&self.also).any(|target| target.id == *id)
    }
}

/// Adds the subagents of the targets, and theirs, from the table and from files of unknown sessions.
pub(super) fn add_subagents(
    targets: &mut Vec<Target>,
    table: &SessionTable,
    grown: &[FileSeen],
    is_wanted: impl Fn(&SessionId, Phase) -> bool,
) {
    let mut known: BTreeSet<SessionId> = targets.iter().map(|target| target.id.clone()).collect();
    loop {
        let before = targets.len();
        for (id, row) in table.iter().filter(|(id, row)| is_wanted(id, row.state.phase)) {
            if let Some(parent) = row.state.parent().filter(|parent| known.contains(*parent) && !known.contains(id)) {
                let why = format!("subagent of {parent}");
                targets.push(Target { why, parent: Some(parent.clone()), ..Target::new(id.clone()) });
            }
        }
        for file in grown {
            if let Kind::Subagent { parent: Some(parent) } = &file.kind
                && known.contains(parent)
                && !known.contains(&file.session)
                && table.get(&file.session).is_none()
                && !targets.iter().any(|target| target.id == file.session)
            {
                let why = format!("subagent of {parent}");
                targets.push(Target { why, ..Target::of_file(file.clone()) });
            }
        }
        known.extend(targets.iter().map(|target| target.id.clone()));
        if targets.len() == before {
            return;
        }
    }
}
