//! The result of a close, derived from the session's state.

use baton_conversation::record::{Position, Timestamp};
use baton_events::session::{FailureReason, Phase, Rejection, State, UnindexedReason};
use uuid::Uuid;

/// The answer to a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The result.
    pub outcome: Outcome,
    /// The current episode, if any, whatever the outcome.
    pub episode: Option<Uuid>,
    /// Messages in the session so far.
    pub messages: u64,
    /// Lines that could not be parsed as records.
    pub unreadable_lines: u64,
    /// A log position that covers everything in this answer; a search that covers it finds the episode.
    pub position: Position,
}

/// The result of a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first episode is stored.
    Stored,
    /// A new episode has replaced the one with this uuid.
    Replaced(Uuid),
    /// The content has not changed; the episode stays.
    Unchanged,
    /// The session has no conversation text.
    Empty,
    /// The transcript vanished before it was read.
    Gone,
    /// Indexing failed and will be retried.
    Failed {
        /// The kind of failure.
        why: FailureReason,
        /// A description.
        reason: String,
        /// When it is retried.
        retry_at: Timestamp,
    },
    /// The transcript cannot be read.
    Unreadable {
        /// The reason.
        reason: String,
    },
    /// A rule refuses the close.
    Refused(Rejection),
    /// The log did not accept the event.
    NotRecorded {
        /// The reason.
        reason: String,
    },
    /// The session's history cannot be read.
    Broken {
        /// The reason.
        reason: String,
    },
    /// Too many callers already wait for this session.
    Busy,
}

/// Derives the outcome from a state without a running job. `before` is the episode at the time of the call.
pub(super) fn outcome(state: &State, before: Option<Uuid>, unreadable: Option<&str>) -> Outcome {
    let episode = state.episode.as_ref().map(|episode| episode.uuid);
    match (state.phase, &state.failure) {
        (Phase::Failed, Some(failure)) => Outcome::Failed {
            why: failure.why,
            reason: unreadable.unwrap_or("see the daemon's log").to_owned(),
            retry_at: failure.retry_at,
        },
        (Phase::Unindexed(UnindexedReason::Gone), _) => Outcome::Gone,
        (Phase::Unindexed(UnindexedReason::Untracked), _) => Outcome::Refused(Rejection::Untracked),
        (Phase::Forgotten, _) => Outcome::Refused(Rejection::Forgotten),
        _ => match (before, episode) {
            (_, None) => Outcome::Empty,
            (None, Some(_)) => Outcome::Stored,
            (Some(before), Some(now)) if before == now => Outcome::Unchanged,
            (Some(before), Some(_)) => Outcome::Replaced(before),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_session_without_an_episode_is_empty_and_a_tombstone_refuses() {
        let mut state = State { phase: Phase::Unindexed(UnindexedReason::Empty), ..State::default() };
        assert_eq!(outcome(&state, None, None), Outcome::Empty);
        state.phase = Phase::Forgotten;
        assert_eq!(outcome(&state, None, None), Outcome::Refused(Rejection::Forgotten));
        state.phase = Phase::Unindexed(UnindexedReason::Gone);
        assert_eq!(outcome(&state, Some(Uuid::nil()), None), Outcome::Gone);
    }
}
