//! The sessions that a call forgets or restores.

use std::collections::BTreeSet;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Kind, Phase};

use baton_base::transcript_file::FileSeen;

/// One session that goes, or comes back.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) id: SessionId,
    /// Its transcript, where nothing is known of it yet, or where it is to be read again.
    pub(super) file: Option<FileSeen>,
    /// Where it works, if only its transcript says so.
    pub(super) project: Option<String>,
    /// Whose subagent it is, if only its file says so.
    pub(super) parent: Option<SessionId>,
    /// When something was last said in it, if only its transcript says so.
    pub(super) last_at: Option<Timestamp>,
    /// Why it goes with another.
    pub(super) why: String,
    /// How many records it has in common with that.
    pub(super) shared: u64,
}

impl Target {
    pub(super) fn of(id: SessionId) -> Self {
        Self { id, file: None, project: None, parent: None, last_at: None, why: String::new(), shared: 0 }
    }

    pub(super) fn of_file(file: FileSeen) -> Self {
        let parent = match &file.kind {
            Kind::Subagent { parent } => parent.clone(),
            Kind::Main => None,
        };
        Self { parent, file: Some(file.clone()), ..Self::of(file.session) }
    }
}

/// What is meant by a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    /// Named, or of the project and time that were named; parents before their subagents.
    pub(super) sessions: Vec<Target>,
    /// Forks and copies of these, and their subagents.
    pub(super) also: Vec<Target>,
    /// The same, where only what was named is to go.
    pub(super) left: Vec<Target>,
}

impl Chosen {
    pub(super) fn has(&self, id: &SessionId) -> bool {
        self.sessions.iter().chain(&self.also).any(|target| target.id == *id)
    }
}

/// Adds the subagents of those that are there, and theirs, known or only lying there as files.
pub(super) fn with_subagents(
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
                targets.push(Target { why, parent: Some(parent.clone()), ..Target::of(id.clone()) });
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
