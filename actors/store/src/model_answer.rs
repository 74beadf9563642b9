//! A model's answer about a conversation, which is stored beside it.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_enrichment::Answer;
use baton_events::session::{EpisodeRef, State, Tier};

use crate::chunks::ChunkStore;

/// The hash of the answer that a session's current episode is made of. `None` if `episode` is not the current one or is
/// not enriched.
pub fn current_answer(state: &State, episode: &EpisodeRef) -> Option<ContentHash> {
    let current = state.episode.as_ref()?;
    let is_enriched = current.uuid == episode.uuid && current.tier == Tier::Enriched;
    state.enriched_by().filter(|_| is_enriched).map(|by| by.answer)
}

/// Reads an answer. An unreadable one is logged and gives `None`; the episode is then told without it. Blocks for a
/// disk read.
pub fn read_answer(chunks: &ChunkStore, session: &SessionId, answer: &ContentHash) -> Option<Answer> {
    let read = chunks.note(session, answer).map_err(|error| error.to_string());
    let decoded = read.and_then(|text| Answer::from_json(&text).ok_or_else(|| "it has another format".to_owned()));
    decoded.inspect_err(|reason| tracing::warn!(%session, %answer, %reason, "model's answer not readable")).ok()
}
