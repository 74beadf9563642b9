//! What a model has made of a conversation: its answer, as it is stored beside the conversation.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_enrichment::Answer;
use baton_events::session::{EpisodeRef, State, Tier};

use crate::chunks::ChunkStore;

/// The answer that the current episode of a session is made of, by its hash; none for another episode, and for an extractive
/// one.
pub fn current_answer(state: &State, episode: &EpisodeRef) -> Option<ContentHash> {
    let current = state.episode.as_ref()?;
    let is_enriched = current.uuid == episode.uuid && current.tier == Tier::Enriched;
    state.enriched_by().filter(|_| is_enriched).map(|by| by.answer)
}

/// An answer, read back. One that cannot be read is told in the log, and its episode is told without it. Blocks for a disk
/// read.
pub fn read_answer(chunks: &ChunkStore, session: &SessionId, answer: &ContentHash) -> Option<Answer> {
    let read = chunks.note(session, answer).map_err(|error| error.to_string());
    let decoded = read.and_then(|text| Answer::stored(&text).ok_or_else(|| "it is of another form".to_owned()));
    decoded.inspect_err(|reason| tracing::warn!(%session, %answer, %reason, "answer of a model not readable")).ok()
}
