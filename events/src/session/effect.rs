//! Effects that a session owes. They are derived from the state alone, so the live path and the recovery after a crash
//! are the same: after each commit and each rehydration the shell starts what is pending and not in flight.
//!
//! # Decisions
//!
//! - A prompt typed after an end resumes the session even within the two seconds in which records count as late. A
//!   transcript that is emptied leaves its last episode in place, like one that is deleted. A close that only wants the
//!   content (query, sync, compaction) keeps the reason and note of a standing end.

use super::reason::CloseReason;
use super::state::enrichment::{EnrichJob, enrich_job};
use super::state::{Phase, State};
use super::value::{EffectId, FileIdentity};
use super::{Policy, owed_close, wake_at};
use baton_conversation::record::Timestamp;

/// Work for the shell. Doing it twice is harmless.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Read the transcript from the last stored item on, and store the conversation and its episode.
    Index(IndexJob),
    /// A hook owes a close: read to the end of the file and send [`Command::Wake`](super::Command::Wake), which closes.
    Close(CloseReason),
    /// Ask a model, no earlier than the job says, if a model is enabled and the budget allows it. Each call is recorded
    /// before it is made ([`Command::CallModel`](super::Command::CallModel)) and when it has ended
    /// ([`Command::TakeAnswer`](super::Command::TakeAnswer)).
    Enrich(EnrichJob),
    /// Send [`Command::Wake`](super::Command::Wake) at this time or soon after.
    Wake(Timestamp),
}

/// Parameters of an index job.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexJob {
    /// Identity of the job, repeated in the completion.
    pub effect: EffectId,
    /// Absolute path of the transcript.
    pub path: String,
    /// The file that was observed.
    pub identity: FileIdentity,
    /// The generation that was observed.
    pub generation: u32,
    /// Byte offset up to which to read.
    pub to: u64,
}

/// All effects that are owed now, in a fixed order.
pub fn pending(state: &State, policy: &Policy) -> Vec<Effect> {
    let mut effects = Vec::new();
    if !policy.tracked {
        return effects;
    }
    if let (Phase::Indexing, Some(job), Some(transcript)) = (state.phase, &state.job, &state.transcript) {
        effects.push(Effect::Index(IndexJob {
            effect: job.effect,
            path: transcript.path.clone(),
            identity: transcript.identity,
            generation: job.effect.generation,
            to: job.to,
        }));
    }
    effects.extend(owed_close(state).map(Effect::Close));
    effects.extend(enrich_job(state, policy).map(Effect::Enrich));
    effects.extend(wake_at(state, policy).map(Effect::Wake));
    effects
}
