//! Finds the session that has claimed another session's handoff.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use uuid::Uuid;

/// The session that has claimed this episode of `from`, still running or not, except `but`. A claim stays valid if the
/// same conversation is indexed anew, but not once `from` has continued after it.
pub fn claimer(table: &SessionTable, from: &SessionId, episode: Uuid, but: Option<&SessionId>) -> Option<SessionId> {
    let said_at = table.get(from).map(|row| row.state.last_activity());
    let claims = |state: &State| {
        let handoff = state.handoff.as_ref().filter(|handoff| handoff.claimed && state.phase != Phase::Forgotten);
        handoff.is_some_and(|handoff| {
            let is_as_old = handoff.from == *from && said_at.is_some_and(|at| at <= handoff.at);
            handoff.episode == episode || is_as_old
        })
    };
    table.iter().find(|(id, row)| claims(&row.state) && Some(*id) != but).map(|(id, _)| id.clone())
}
