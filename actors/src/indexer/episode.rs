//! The conversation behind an episode, read back from its chunks.

use baton_events::conversation::Item;
use baton_events::hash::ContentHash;
use baton_events::projection::table::SessionTable;
use baton_events::record::SessionId;
use baton_events::schema::item;
use baton_events::session::EpisodeRef;

use crate::chunks::{self, ChunkStore};

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

/// The items of an episode's conversation, in file order. Blocks for disk reads.
pub(super) fn conversation(chunks: &ChunkStore, session: &SessionId, episode: &EpisodeRef) -> Result<Vec<Item>, Error> {
    let (_, lines) = chunks.read(session, &episode.manifest)?;
    decode(&episode.manifest, &lines)
}

pub(super) fn decode(manifest: &ContentHash, lines: &[u8]) -> Result<Vec<Item>, Error> {
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .enumerate()
        .map(|(index, line)| {
            item::decode(line).map_err(|error| Error::Item {
                manifest: *manifest,
                line: index + 1,
                reason: error.to_string(),
            })
        })
        .collect()
}

/// What the current state of a session names: its conversation.
pub(super) fn named(table: &SessionTable, session: &SessionId) -> Vec<ContentHash> {
    let state = table.get(session).map(|row| &row.state);
    state.and_then(|state| state.episode.as_ref()).map(|episode| episode.manifest).into_iter().collect()
}
