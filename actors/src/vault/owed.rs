//! Which ends of sessions are in no note yet: told by the table and what the register says was brought in.

use baton_events::projection::table::{Row, SessionTable};
use baton_events::record::{SessionId, Timestamp};
use baton_events::session::{Phase, Why};

use super::register::Register;
use crate::indexer::answer;
use crate::settings::Settings;

/// How notes are written: another number brings every session in once more.
const NOTES_VERSION: u32 = 1;

/// What stands for an episode and its end: another one is owed to the note. `None`: nothing is, for nobody has ended it, or
/// it is being worked on.
pub(super) fn stamp(table: &SessionTable, row: &Row) -> Option<String> {
    let state = &row.state;
    let is_settled = matches!(state.phase, Phase::Indexed | Phase::Unindexed(Why::Gone | Why::Empty));
    if !is_settled || state.is_subagent() {
        return None;
    }
    let (episode, end) = (table.shown(row)?, state.end?);
    let (uuid, manifest) = (episode.uuid.simple(), episode.manifest.short());
    // What a model says of it comes later, and changes the note.
    let by = answer::of(state, episode).map_or_else(|| "-".to_owned(), |answer| answer.short());
    Some(format!("{NOTES_VERSION}:{uuid}:{manifest}:{}:{by}", end.at.0))
}

/// The sessions whose note lacks something, in the order in which they ended.
pub(super) fn owed(table: &SessionTable, settings: &Settings, register: &Register) -> Vec<SessionId> {
    let mut owed: Vec<(Timestamp, SessionId)> = Vec::new();
    for (id, row) in table.iter() {
        let Some(end) = row.state.end else { continue };
        let Some(stamp) = stamp(table, row) else { continue };
        let is_in = register.get(id).is_some_and(|entry| entry.stamp == stamp);
        if !is_in && !settings.excludes(&row.state) {
            owed.push((end.at, id.clone()));
        }
    }
    owed.sort_unstable();
    owed.into_iter().map(|(_, id)| id).collect()
}

/// Sessions that are in the vault and were forgotten.
pub(super) fn to_remove(table: &SessionTable, register: &Register) -> Vec<SessionId> {
    let is_forgotten = |id: &SessionId| table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten);
    register.entries().map(|(id, _)| id).filter(|id| is_forgotten(id)).cloned().collect()
}
