//! What a close came to, read off the session's state.

use baton_conversation::record::{Position, Timestamp};
use baton_events::session::{FailureReason, Phase, Rejection, State, UnindexedReason};
use uuid::Uuid;

/// The answer to a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// What it came to.
    pub outcome: Outcome,
    /// The current episode, if there is one, whatever the outcome.
    pub episode: Option<Uuid>,
    /// Messages of the session so far.
    pub messages: u64,
    /// Lines that are no records.
    pub unreadable_lines: u64,
    /// A position that covers everything the answer says: search from here on and you find it.
    pub position: Position,
}

/// What a close came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first episode is stored.
    Stored,
    /// A new episode has replaced this one.
    Replaced(Uuid),
    /// The content is what it was; the episode stays.
    Unchanged,
    /// There is no conversation text.
    Empty,
    /// The transcript vanished before it was read.
    Gone,
    /// It could not be indexed; it will be tried again.
    Failed {
        /// Why.
        why: FailureReason,
        /// In words.
        reason: String,
        /// When.
        retry_at: Timestamp,
    },
    /// The transcript cannot be read.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// A rule refuses it.
    Refused(Rejection),
    /// The log could not take it.
    NotRecorded {
        /// Why.
        reason: String,
    },
    /// The session's history cannot be read.
    Broken {
        /// Why.
        reason: String,
    },
    /// Too many wait for this session already.
    Busy,
}

/// Reads the outcome off a state in which no job runs. `before` is the episode when the call came.
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
