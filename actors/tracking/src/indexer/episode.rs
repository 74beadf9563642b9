//! The conversation of an episode.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;

/// Returns the manifests that the session's current state names.
pub(super) fn named(table: &SessionTable, session: &SessionId) -> Vec<ContentHash> {
    let state = table.get(session).map(|row| &row.state);
    state.and_then(|state| state.episode.as_ref()).map(|episode| episode.manifest).into_iter().collect()
}
