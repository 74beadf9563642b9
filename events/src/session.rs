//! One session of one agent: the aggregate that owns every transition.
//!
//! ```text
//!            appended                 appended (not late): resumed
//!          ┌────┐         ┌───────────────────────────────────────────────┐
//!          ▼    │         ▼                                               │
//! (new) ─► ACTIVE ─idle─► INACTIVE                                        │
//!          │  ▲              │                                            │
//!          │  │ grown        │ close, timeout, query, sync                │
//!          │  │              ▼                                            │
//!          └──┼─────────► INDEXING ──stored / unchanged──► INDEXED ───────┤
//!             └──────────────┘  ▲ │                           │           │
//!                               │ └─failed─► FAILED ──────────┼───────────┤
//!                               └────retry─────┘◄──close──────┘           │
//!          ACTIVE, INACTIVE, FAILED ─► UNINDEXED (empty, gone, timeout_disabled) ─┘
//!          any ─► UNINDEXED (untracked)      any ─► FORGOTTEN (tombstone)
//! ```
//!
//! A [`Signal`] of a hook may come in every phase but the last two, also before the transcript is found. An end is
//! recorded at once and owes a close; a compaction owes a close that does not end the session; a lost connection
//! becomes an end unless the session shows activity within the grace period.
//!
//! [`decide`] may refuse and changes nothing; [`evolve`] changes the state and may not refuse; [`pending`] lists the
//! effects that are still owed. An [`Aggregate`] binds them to one stream of events.

mod command;
mod correction;
mod decide;
mod effect;
pub(crate) mod event;
mod model_call;
mod reason;
mod signal;
mod state;
#[cfg(test)]
mod tests;
mod value;

use std::collections::VecDeque;

use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use command::{
    Asleep, CallEnd, CallModel, Close, Command, Complete, Discover, Observe, Redact, ReplacedConversation, Stored,
    TakeAnswer,
};
pub use correction::{CorrectedEntry, Correction, Corrections, EntryKind, MAX_CORRECTIONS, Verdict};
pub use decide::decide;
pub use effect::{Effect, IndexJob, pending};
pub use event::{Agent, Event, Kind};
pub use model_call::{
    Ask, CallOutcome, CallTokens, EnrichedBy, GaveUp, MAX_MODEL_CHARS, ModelAnswer, ModelCall, UNSEEN_STEP,
};
pub use reason::{CloseReason, FailureReason, UnindexedReason};
pub use signal::{Follows, Handoff, Signal, SignalDetail, Signals};
pub(crate) use state::enrichment::enrich_job;
pub use state::enrichment::{Cost, DAY_MS, EnrichJob, Enrichment, MAX_ANSWERS, Owed};
pub use state::{Checked, End, Failure, Job, Phase, State, Transcript, evolve};
pub use value::{Counts, EffectId, EpisodeRef, FileIdentity, Place, TailDigest, Tier};

pub use baton_protocol::SignalKind;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{CommandId, Position, Recorded, SequenceNumber, SessionId, Timestamp};

/// Timeouts, bounds and switches. Plain data; replay uses the defaults unless given others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// True if this session may be read and indexed at all (configuration, not history).
    pub tracked: bool,
    /// Silence after which a session counts as inactive.
    pub check_interval_ms: i64,
    /// Silence after which a session counts as over; 0 disables the inactivity timeout.
    pub inactivity_timeout_ms: i64,
    /// With the timeout disabled: silence after which a session is abandoned, to be indexed by the next query.
    pub abandoned_after_ms: i64,
    /// How long an unanswered tool call keeps a session open.
    pub tool_call_bound_ms: i64,
    /// How long after its last MCP connection closed a session counts as over, unless it shows activity.
    pub disconnect_grace_ms: i64,
    /// How long after an end a record may still belong to it.
    pub late_grace_ms: i64,
    /// Delay after the first failure; doubled for each further one.
    pub retry_base_ms: i64,
    /// Longest delay after a failure.
    pub retry_cap_ms: i64,
    /// Version of the content filter that index jobs use.
    pub filter_version: u32,
    /// When a model was enabled, if one is: sessions that ended earlier are not enriched.
    pub model_since: Option<Timestamp>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tracked: true,
            check_interval_ms: 60_000,
            inactivity_timeout_ms: 1_800_000,
            abandoned_after_ms: 1_800_000,
            // Agents leave background commands running for hours, but none is known to run longer than six.
            tool_call_bound_ms: 6 * 3_600_000,
            disconnect_grace_ms: 60_000,
            late_grace_ms: 2_000,
            retry_base_ms: 30_000,
            retry_cap_ms: 6 * 3_600_000,
            filter_version: baton_conversation::filter::FILTER_VERSION,
            model_since: None,
        }
    }
}

impl Policy {
    /// True if inactivity closes no session.
    pub fn timeout_disabled(&self) -> bool {
        self.inactivity_timeout_ms <= 0
    }

    /// Delay before attempt `attempts + 1`: exponential, capped, with up to a quarter of jitter derived from the
    /// session's id, so that a thousand sessions that failed together do not retry together.
    pub fn backoff_ms(&self, id: &SessionId, attempts: u32) -> i64 {
        let doubled = self.retry_base_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20));
        let wait = doubled.min(self.retry_cap_ms);
        let digest = Sha256::digest(format!("{id}:{attempts}"));
        wait + wait * i64::from(digest[0]) / 1024
    }
}

/// Why a command was refused. Travels in the reply; never an actor's error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No transcript of this session is known.
    #[error("no transcript of this session was found")]
    NotDiscovered,
    /// The session is forgotten.
    #[error("the session was forgotten; `baton forget --undo` lifts that")]
    Forgotten,
    /// The session is not forgotten.
    #[error("the session is not forgotten")]
    NotForgotten,
    /// Tracking of the session was stopped.
    #[error("tracking of this session was stopped; `track_session` lifts that")]
    Untracked,
    /// The configuration excludes the session from tracking.
    #[error("session tracking is disabled for it")]
    SwitchedOff,
    /// The range does not begin where reading stopped.
    #[error("reading has reached byte {offset} of generation {generation}")]
    StaleRange {
        /// Generation that is being read.
        generation: u32,
        /// Byte offset at which reading stopped.
        offset: u64,
    },
    /// The index job is not the running one.
    #[error("that index job is not the current one")]
    UnknownEffect,
    /// The episode's uuid does not match the content, or there is no episode to keep.
    #[error("the episode does not match the content")]
    WrongEpisode,
    /// There is no episode, or its content is another.
    #[error("there is no episode of that content")]
    NoSuchContent,
    /// The session has as many corrected entries as are kept.
    #[error("a session keeps at most {MAX_CORRECTIONS} corrected entries; take some back first")]
    TooManyCorrections,
    /// A call of a model is running already.
    #[error("a model is already being asked about it")]
    CallRunning,
    /// The call is not the running one.
    #[error("the answer belongs to an earlier call")]
    UnknownCall,
    /// The session is read from another file, which still exists.
    #[error("the session is read from {known}")]
    SecondFile {
        /// Path of that file.
        known: String,
    },
}

/// Namespace of Baton's name-based uuids.
pub const NAMESPACE: Uuid = Uuid::from_u128(0x6ba7_1b0e_5a1c_4d7e_9b1f_ba70_4e55_1011);

/// UUIDv5 of an episode, derived from session and content hash.
pub fn episode_uuid(id: &SessionId, hash: &ContentHash) -> Uuid {
    Uuid::new_v5(&NAMESPACE, format!("{id}:{hash}").as_bytes())
}

/// When an active session counts as inactive; `None` in other phases.
pub(crate) fn idle_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    (state.phase == Phase::Active).then(|| quiet_since(state, policy).plus_ms(policy.check_interval_ms))
}

/// When a session without an end counts as over, or as abandoned if the timeout is disabled.
pub(crate) fn timeout_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    let after_ms = match policy.timeout_disabled() {
        true => policy.abandoned_after_ms,
        false => policy.inactivity_timeout_ms,
    };
    if state.phase == Phase::New {
        // If the transcript exists, the watcher finds it within the interval.
        let after_ms = if state.end.is_some() { policy.check_interval_ms } else { after_ms };
        return heard_at(state).map(|at| at.plus_ms(after_ms));
    }
    let runs = match state.phase {
        Phase::Active | Phase::Inactive => true,
        Phase::Indexed => state.end.is_none() && !policy.timeout_disabled(),
        Phase::Failed => policy.timeout_disabled(),
        _ => false,
    };
    runs.then(|| quiet_since(state, policy).plus_ms(after_ms))
}

/// Time of the last signal of a session without a transcript.
fn heard_at(state: &State) -> Option<Timestamp> {
    state.signals.started_at.max(state.signals.active_at).max(state.end.map(|end| end.at))
}

/// Time of the last activity: a record, or a later hook. A hook that no record follows counts for at most as long as an
/// unanswered tool call, so no hook keeps a session open for ever.
pub fn last_sign(state: &State, policy: &Policy) -> Timestamp {
    let last = state.last_activity();
    match state.signals.active_at {
        _ if state.transcript.is_none() => heard_at(state).unwrap_or(last),
        Some(at) if state.end.is_none() => at.min(last.plus_ms(policy.tool_call_bound_ms)).max(last),
        _ => last,
    }
}

/// When silence began. An unanswered tool call delays it, up to its bound.
fn quiet_since(state: &State, policy: &Policy) -> Timestamp {
    match state.read.open_calls.is_empty() || state.end.is_some() {
        true => last_sign(state, policy),
        false => state.last_activity().plus_ms(policy.tool_call_bound_ms),
    }
}

/// When the session counts as over because its last MCP connection closed, unless it shows activity before. An
/// unanswered tool call does not delay this: a killed agent never writes the result, and a living one resumes the
/// session with it.
pub(crate) fn disconnect_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    let is_open = match state.phase {
        Phase::Forgotten
        | Phase::Unindexed(UnindexedReason::Empty | UnindexedReason::Gone | UnindexedReason::Untracked) => false,
        _ => state.end.is_none(),
    };
    state.signals.disconnected_at.filter(|_| is_open).map(|at| at.plus_ms(policy.disconnect_grace_ms))
}

/// The close that is owed, if the session can be closed now.
pub(crate) fn owed_close(state: &State) -> Option<CloseReason> {
    let rests = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked));
    state.signals.close_owed.filter(|_| !rests && state.transcript.is_some())
}

/// When late records are indexed at the latest.
pub(crate) fn late_deadline(state: &State) -> Option<Timestamp> {
    let waits = match state.phase {
        Phase::Indexed | Phase::Failed => true,
        Phase::Unindexed(UnindexedReason::Empty) => state.counts.messages > 0,
        _ => false,
    };
    state.late_index_at.filter(|_| waits)
}

/// True if late records need an index job of their own because no other job will cover them: not in a session that will
/// still be closed, nor in one without any message.
fn may_be_indexed_late(state: &State, counts: &Counts) -> bool {
    match state.phase {
        Phase::Active | Phase::Inactive => false,
        Phase::Unindexed(UnindexedReason::Empty) => state.counts.messages + counts.messages > 0,
        _ => true,
    }
}

/// The next time at which a deadline takes effect without further input.
pub fn wake_at(state: &State, policy: &Policy) -> Option<Timestamp> {
    if !policy.tracked {
        return None;
    }
    let retry = state.failure.filter(|_| state.phase == Phase::Failed).map(|failure| failure.retry_at);
    let deadlines = [idle_deadline(state, policy), timeout_deadline(state, policy), disconnect_deadline(state, policy)];
    deadlines.into_iter().chain([retry, late_deadline(state)]).flatten().min()
}

/// How long answered command ids are remembered, by the events' recorded times.
const ANSWERED_FOR_MS: i64 = 24 * 3_600_000;
/// Most answered command ids remembered per session.
const ANSWERED_MAX: usize = 1_000;

/// One session with its version: the state folded from its stream, and the ids of the commands it has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    id: SessionId,
    version: SequenceNumber,
    position: Position,
    state: State,
    answered: VecDeque<(CommandId, Timestamp)>,
}

/// The history belongs to another session, or has a gap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {found:?} follows {after:?} in the history of {stream}")]
pub struct GapInHistory {
    /// The stream that was read.
    pub stream: String,
    /// The last event that was applied.
    pub after: SequenceNumber,
    /// The event that does not follow it.
    pub found: SequenceNumber,
}

impl Aggregate {
    /// A session without events.
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            version: SequenceNumber(0),
            position: Position(0),
            state: State::default(),
            answered: VecDeque::new(),
        }
    }

    /// Folds a recorded history. Fails if it has a gap.
    pub fn rehydrate(id: SessionId, history: impl IntoIterator<Item = Recorded<Event>>) -> Result<Self, GapInHistory> {
        let mut aggregate = Self::new(id);
        for recorded in history {
            aggregate.commit(&recorded)?;
        }
        Ok(aggregate)
    }

    /// Returns the events that a command causes, without applying them. A command that was answered before causes none.
    pub fn propose(
        &self,
        command: &Command,
        command_id: Option<&CommandId>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Vec<Event>, Rejection> {
        if command_id.is_some_and(|id| self.has_answered(id)) {
            return Ok(Vec::new());
        }
        decide(&self.id, &self.state, command, policy, now)
    }

    /// Applies an event that is durable.
    pub fn commit(&mut self, recorded: &Recorded<Event>) -> Result<(), GapInHistory> {
        if recorded.sequence != self.version.next() || recorded.stream.session_id().as_ref() != Some(&self.id) {
            return Err(GapInHistory {
                stream: recorded.stream.to_string(),
                after: self.version,
                found: recorded.sequence,
            });
        }
        self.version = recorded.sequence;
        self.position = recorded.position;
        self.state = evolve(std::mem::take(&mut self.state), &recorded.event);
        if let Some(cause) = &recorded.metadata.cause
            && self.answered.back().is_none_or(|(last, _)| last != cause)
        {
            self.answered.push_back((cause.clone(), recorded.at));
        }
        while self
            .answered
            .front()
            .is_some_and(|(_, at)| self.answered.len() > ANSWERED_MAX || recorded.at.since_ms(*at) > ANSWERED_FOR_MS)
        {
            self.answered.pop_front();
        }
        Ok(())
    }

    /// True if the command with this id was answered.
    pub fn has_answered(&self, id: &CommandId) -> bool {
        self.answered.iter().any(|(known, _)| known == id)
    }

    /// Id of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Number of events applied.
    pub fn version(&self) -> SequenceNumber {
        self.version
    }

    /// Position of the last event in the journal.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The current state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Effects that are still owed.
    pub fn pending(&self, policy: &Policy) -> Vec<Effect> {
        pending(&self.state, policy)
    }
}
