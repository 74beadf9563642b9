//! Applies a person's corrections wherever an episode is made.

use baton_conversation::record::SessionId;
use baton_episode::digest::Episode;
use baton_events::session::State;
use baton_store::chunks::ChunkStore;

/// Applies the corrections of a session to its episode. A title whose text cannot be read is logged and left out.
/// Blocks for a disk read if a person gave a title.
pub fn correct(chunks: &ChunkStore, id: &SessionId, state: &State, episode: &mut Episode) {
    let title = state.corrections.title.and_then(|title| {
        let read = chunks.note(id, &title);
        read.inspect_err(|error| tracing::warn!(session = %id, %error, "person's title not readable")).ok()
    });
    episode.correct(id, &state.corrections, title.as_deref());
}
