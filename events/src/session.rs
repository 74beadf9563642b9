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
//! A [`Signal`] of a hook may come in every phase but the last two, also before the transcript: an end is noted at once
//! and owes a close, a compaction owes one that ends nothing, a lost connection becomes one when nothing takes it back.
//!
//! [`decide`] may refuse and changes nothing; [`evolve`] changes and may not refuse; [`pending`] says what the world
//! still owes. An [`Aggregate`] binds them to one stream of events.

mod command;
mod decide;
mod describe;
mod effect;
mod event;
mod model_call;
mod reason;
mod signal;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use command::{
    Asleep, CallEnd, CallModel, Close, Command, Complete, Discover, Observe, Redact, RedactedConversation, Stored,
    TakeAnswer,
};
pub use decide::decide;
pub use effect::{Effect, IndexJob, pending};
pub use event::{Agent, Counts, EffectId, EpisodeRef, Event, FileIdentity, Kind, Place, TailDigest, Tier};
pub use model_call::{
    Ask, CallOutcome, CallTokens, EnrichedBy, GaveUp, MAX_MODEL_CHARS, ModelAnswer, ModelCall, UNSEEN_STEP,
};
pub use reason::{CloseReason, FailureWhy, Why};
pub use signal::{Follows, Handoff, Signal, SignalDetail, SignalKind, Signals};
pub(crate) use state::enrichment::enrich_job;
pub use state::enrichment::{Cost, DAY_MS, EnrichJob, Enrichment, MAX_ANSWERS, Owed};
pub use state::{Checked, End, Failure, Job, Phase, State, Transcript, evolve};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{CommandId, Position, Recorded, SequenceNumber, SessionId, Timestamp};

/// Timeouts, bounds and switches. Plain data; replay uses the defaults unless told otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether this session may be read and indexed at all (configuration, not history).
    pub tracked: bool,
    /// Silence after which a session counts as idle.
    pub check_interval_ms: i64,
    /// Silence after which it counts as over; 0 switches that layer off.
    pub inactivity_timeout_ms: i64,
    /// With the timeout off: silence after which a session is let go, to wait for a query.
    pub abandoned_after_ms: i64,
    /// How long a tool call without an answer holds a session open.
    pub tool_call_bound_ms: i64,
    /// How long after the last MCP connection of a session closed it counts as over, if nothing comes.
    pub disconnect_grace_ms: i64,
    /// How long after an end a record may still belong to it.
    pub late_grace_ms: i64,
    /// First wait after a failure; doubled for each further one.
    pub retry_base_ms: i64,
    /// Longest wait after a failure.
    pub retry_cap_ms: i64,
    /// Version of the content filter that index jobs use.
    pub filter_version: u32,
    /// Since when a model is enabled, if one is: what ended before owes it nothing.
    pub model_since: Option<Timestamp>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tracked: true,
            check_interval_ms: 60_000,
            inactivity_timeout_ms: 1_800_000,
            abandoned_after_ms: 1_800_000,
            // Agents leave background commands running for hours; none that we know of for a quarter of a day.
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
    /// Whether inactivity closes nothing.
    pub fn timeout_disabled(&self) -> bool {
        self.inactivity_timeout_ms <= 0
    }

    /// The wait before attempt `attempts + 1`: doubling, capped, with up to a quarter of jitter taken from the session's
    /// id, so that a thousand sessions that failed together do not retry together.
    pub fn backoff_ms(&self, id: &SessionId, attempts: u32) -> i64 {
        let doubled = self.retry_base_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20));
        let wait = doubled.min(self.retry_cap_ms);
        let digest = Sha256::digest(format!("{id}:{attempts}"));
        wait + wait * i64::from(digest[0]) / 1024
    }
}

/// Why a wish was refused. Travels in the reply; never an actor's error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Nothing is known of this session.
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
    /// A switch of the configuration says that the session must not be touched.
    #[error("session tracking is switched off for it")]
    SwitchedOff,
    /// Reading did not go on where it stood.
    #[error("reading stands at byte {offset} of generation {generation}")]
    StaleRange {
        /// Where reading stands.
        generation: u32,
        /// Where reading stands.
        offset: u64,
    },
    /// The job is not the one that runs.
    #[error("that index job is not the current one")]
    UnknownEffect,
    /// The episode's uuid does not follow from the content, or there is no episode to keep.
    #[error("the episode does not follow from the content")]
    WrongEpisode,
    /// There is no episode, or not of that content.
    #[error("there is no episode of that content")]
    NoSuchContent,
    /// A call of a model is under way.
    #[error("a model is being asked about it already")]
    CallRunning,
    /// The call is not the one that is under way.
    #[error("that call is not the one under way")]
    UnknownCall,
    /// The id belongs to another file that is still there.
    #[error("the session is read from {known}")]
    SecondFile {
        /// The file that is read.
        known: String,
    },
}

/// Baton's namespace for name-based uuids.
pub const NAMESPACE: Uuid = Uuid::from_u128(0x6ba7_1b0e_5a1c_4d7e_9b1f_ba70_4e55_1011);

/// The uuid of an episode: the same session and content always give the same one.
pub fn episode_uuid(id: &SessionId, hash: &ContentHash) -> Uuid {
    Uuid::new_v5(&NAMESPACE, format!("{id}:{hash}").as_bytes())
}

/// When the session counts as idle, if it is open.
pub(crate) fn idle_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    (state.phase == Phase::Active).then(|| quiet_since(state, policy).plus_ms(policy.check_interval_ms))
}

/// When the session counts as over (or abandoned, with the timeout off), if it has no end yet.
pub(crate) fn timeout_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    let after_ms = match policy.timeout_disabled() {
        true => policy.abandoned_after_ms,
        false => policy.inactivity_timeout_ms,
    };
    if state.phase == Phase::New {
        // A transcript that is there is found within the interval.
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

/// When a session of which only signals are known was last heard of.
fn heard_at(state: &State) -> Option<Timestamp> {
    state.signals.started_at.max(state.signals.active_at).max(state.end.map(|end| end.at))
}

/// The last sign of somebody at work: a record, or a hook that spoke after it. Hooks that are followed by no record count no
/// longer than a tool call without an answer does, so none holds a session open for ever.
pub fn last_sign(state: &State, policy: &Policy) -> Timestamp {
    let last = state.last_activity();
    match state.signals.active_at {
        _ if state.transcript.is_none() => heard_at(state).unwrap_or(last),
        Some(at) if state.end.is_none() => at.min(last.plus_ms(policy.tool_call_bound_ms)).max(last),
        _ => last,
    }
}

/// The moment from which silence counts: a call in flight holds the session open up to a bound.
fn quiet_since(state: &State, policy: &Policy) -> Timestamp {
    match state.read.open_calls.is_empty() || state.end.is_some() {
        true => last_sign(state, policy),
        false => state.last_activity().plus_ms(policy.tool_call_bound_ms),
    }
}

/// When the session counts as over because its last MCP connection closed, unless something comes of it before. A tool call
/// in flight does not hold it open: an agent that was killed during one never writes its result, and one that lives
/// resumes the session with it.
pub(crate) fn disconnect_deadline(state: &State, policy: &Policy) -> Option<Timestamp> {
    let is_open = match state.phase {
        Phase::Forgotten | Phase::Unindexed(Why::Empty | Why::Gone | Why::Untracked) => false,
        _ => state.end.is_none(),
    };
    state.signals.disconnected_at.filter(|_| is_open).map(|at| at.plus_ms(policy.disconnect_grace_ms))
}

/// The close that was promised, if there is something that can be closed.
pub(crate) fn owed_close(state: &State) -> Option<CloseReason> {
    let rests = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(Why::Untracked));
    state.signals.close_owed.filter(|_| !rests && state.transcript.is_some())
}

/// When records that belong to the end are indexed, if nobody asks for them before.
pub(crate) fn late_deadline(state: &State) -> Option<Timestamp> {
    let waits = match state.phase {
        Phase::Indexed | Phase::Failed => true,
        Phase::Unindexed(Why::Empty) => state.counts.messages > 0,
        _ => false,
    };
    state.late_index_at.filter(|_| waits)
}

/// Whether late records have to be indexed by themselves, because nothing else will: not in a session that is still to be
/// closed, nor where nothing was ever said.
fn may_be_indexed_late(state: &State, counts: &Counts) -> bool {
    match state.phase {
        Phase::Active | Phase::Inactive => false,
        Phase::Unindexed(Why::Empty) => state.counts.messages + counts.messages > 0,
        _ => true,
    }
}

/// The next moment at which time alone changes something.
pub fn wake_at(state: &State, policy: &Policy) -> Option<Timestamp> {
    if !policy.tracked {
        return None;
    }
    let retry = state.failure.filter(|_| state.phase == Phase::Failed).map(|failure| failure.retry_at);
    let deadlines = [idle_deadline(state, policy), timeout_deadline(state, policy), disconnect_deadline(state, policy)];
    deadlines.into_iter().chain([retry, late_deadline(state)]).flatten().min()
}

/// Answered command ids are remembered this long, by the events' own time.
const ANSWERED_FOR_MS: i64 = 24 * 3_600_000;
/// And at most this many of one session.
const ANSWERED_MAX: usize = 1_000;

/// One session with its version: the state folded from its stream, and the wishes it has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    id: SessionId,
    version: SequenceNumber,
    position: Position,
    state: State,
    answered: VecDeque<(CommandId, Timestamp)>,
}

/// A history that is not this session's, or has a hole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {found:?} follows {after:?} in the history of {stream}")]
pub struct GapInHistory {
    /// The stream that was read.
    pub stream: String,
    /// The last good event.
    pub after: SequenceNumber,
    /// The one that came.
    pub found: SequenceNumber,
}

impl Aggregate {
    /// A session of which nothing is known.
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            version: SequenceNumber(0),
            position: Position(0),
            state: State::default(),
            answered: VecDeque::new(),
        }
    }

    /// Folds a recorded history. Refuses one with a hole.
    pub fn rehydrate(id: SessionId, history: impl IntoIterator<Item = Recorded<Event>>) -> Result<Self, GapInHistory> {
        let mut aggregate = Self::new(id);
        for recorded in history {
            aggregate.commit(&recorded)?;
        }
        Ok(aggregate)
    }

    /// The facts that would follow from a wish, recording nothing. A wish that was answered before gives none.
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

    /// Takes in an event that is durable.
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

    /// Whether this wish has been answered.
    pub fn has_answered(&self, id: &CommandId) -> bool {
        self.answered.iter().any(|(known, _)| known == id)
    }

    /// Whose history it is.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// How many events it has seen.
    pub fn version(&self) -> SequenceNumber {
        self.version
    }

    /// Where in the journal its last event stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// What is so now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What the world still owes.
    pub fn pending(&self, policy: &Policy) -> Vec<Effect> {
        pending(&self.state, policy)
    }
}
