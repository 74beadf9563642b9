//! The conversation behind an episode: what names it, and why it could not be read.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;

use baton_store::chunks;

/// Why a stored conversation could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The chunks.
    #[error(transparent)]
    Chunks(#[from] chunks::Error),
    /// What is in them.
    #[error("stored item {line} of {manifest} is not readable: {reason}")]
    Item {
        /// The manifest.
        manifest: ContentHash,
        /// Which line of the conversation, from 1.
        line: usize,
        /// What was wrong.
        reason: String,
    },
}

/// What the current state of a session names: its conversation.
pub(super) fn named(table: &SessionTable, session: &SessionId) -> Vec<ContentHash> {
    let state = table.get(session).map(|row| &row.state);
    state.and_then(|state| state.episode.as_ref()).map(|episode| episode.manifest).into_iter().collect()
}
