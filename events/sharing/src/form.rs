//! The state that a session's published events fold to, the same for the writer and every reader.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Agent, Corrections, Counts, End, EpisodeRef, Kind, Place, State};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The part of a session's state that everybody has who has folded its published events, in whatever batches they came.
#[derive(Debug, Serialize)]
struct SharedForm<'a> {
    agent: Option<Agent>,
    kind: Option<&'a Kind>,
    place: Option<&'a Place>,
    generation: u32,
    counts: &'a Counts,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    last_conversation_at: Option<Timestamp>,
    end: Option<End>,
    episode: Option<&'a EpisodeRef>,
    deleted: Option<String>,
    corrections: &'a Corrections,
}

/// The hash of what a session's published events come to.
pub fn hash(id: &SessionId, state: &State) -> ContentHash {
    let transcript = state.transcript.as_ref();
    let form = SharedForm {
        agent: transcript.map(|transcript| transcript.agent),
        kind: transcript.map(|transcript| &transcript.kind),
        place: state.place.as_ref(),
        generation: state.generation,
        counts: &state.counts,
        first_at: state.first_at,
        last_at: state.last_at,
        last_conversation_at: state.last_conversation_at,
        end: state.end,
        episode: state.episode.as_ref(),
        deleted: state.deleted.map(|uuid| uuid.to_string()),
        corrections: &state.corrections,
    };
    let mut digest = Sha256::new();
    digest.update(id.as_str());
    digest.update(b"\n");
    // A struct of strings and integers always has a JSON form.
    digest.update(serde_json::to_vec(&form).unwrap_or_default());
    ContentHash(digest.finalize().into())
}
