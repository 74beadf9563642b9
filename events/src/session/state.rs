//! The state of one session, folded from its events. `evolve` cannot refuse an event, because it has already happened.

pub(super) mod enrichment;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::correction::Corrections;
use super::event::{Agent, Event, Kind};
use super::model_call::EnrichedBy;
use super::reason::{CloseReason, FailureReason, UnindexedReason};
use super::signal::{Handoff, Signals};
use super::value::{Counts, EffectId, EpisodeRef, FileIdentity, Place, TailDigest};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Cursor;
use enrichment::Enrichment;

/// Phase of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "phase", content = "why", rename_all = "snake_case")]
pub enum Phase {
    /// There are no events yet.
    New,
    /// Records are being written.
    Active,
    /// No record came within the check interval.
    Inactive,
    /// An index job is owed or running.
    Indexing,
    /// The current episode covers the conversation.
    Indexed,
    /// The last index job failed; it will be retried.
    Failed,
    /// Abandoned without an index.
    Unindexed(UnindexedReason),
    /// Forgotten; only a tombstone is left.
    Forgotten,
}

impl Phase {
    /// The name in answers. `New` reads as `active`, because no list shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New | Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Indexing => "indexing",
            Self::Indexed => "indexed",
            Self::Failed => "failed",
            Self::Unindexed(_) => "unindexed",
            Self::Forgotten => "forgotten",
        }
    }
}

/// Everything that is known of one session. Its stored shape is that of a [row](crate::schema::state).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The current phase.
    #[serde(flatten)]
    pub phase: Phase,
    /// The transcript, once discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// Where the session works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The assigned group, if it is not the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// True if it is tracked even if a switch excludes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// How many times the file was started anew, from 1.
    pub generation: u32,
    /// Cursor at which reading stopped in this generation.
    pub read: Cursor,
    /// Digest of the bytes before the cursor.
    pub tail: TailDigest,
    /// Counts of this generation.
    pub counts: Counts,
    /// Time of the first record of this generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_at: Option<Timestamp>,
    /// When it was discovered, or when its file was last written if that was earlier.
    pub discovered_at: Timestamp,
    /// Time of the last record that has one, in any generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// Time of the last conversation record, in any generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_conversation_at: Option<Timestamp>,
    /// Reason and time of the session's end; independent of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// The last close that was requested, whatever came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_close: Option<CloseReason>,
    /// Hash of the note of that close.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_note: Option<ContentHash>,
    /// The current episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeRef>,
    /// The current episode, if a person deleted it: it is hidden until the content changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Uuid>,
    /// What a person corrected.
    #[serde(default, skip_serializing_if = "Corrections::is_empty")]
    pub corrections: Corrections,
    /// Offset up to which the content is known to match the episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Conversation records that were read and that no finished index job covers.
    pub unindexed: u64,
    /// Deadline for indexing late records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_index_at: Option<Timestamp>,
    /// The running index job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// Consecutive failures of index jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Index jobs started so far.
    pub starts: u32,
    /// State left by hooks and connections.
    #[serde(flatten)]
    pub signals: Signals,
    /// The handoff from the session before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// State of its enrichment by a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<Box<Enrichment>>,
}

/// The file a session is read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// The agent that writes it.
    pub agent: Agent,
    /// Absolute path.
    pub path: String,
    /// The file behind the path.
    #[serde(rename = "file")]
    pub identity: FileIdentity,
    /// A session of its own or a subagent's.
    #[serde(flatten)]
    pub kind: Kind,
}

/// See [`State::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why it is over.
    pub reason: CloseReason,
    /// When it was over.
    pub at: Timestamp,
    /// True if the session itself asked for it.
    pub by_self: bool,
}

/// See [`State::checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The generation.
    pub generation: u32,
    /// Byte offset.
    pub to: u64,
}

/// See [`State::job`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Identity of the job.
    pub effect: EffectId,
    /// Byte offset up to which it reads.
    pub to: u64,
    /// What caused it.
    pub reason: CloseReason,
    /// Number of unindexed records that it covers.
    pub covers: u64,
    /// A close that was requested while there were records that the job does not cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<CloseReason>,
    /// True if records came that are not part of an end: the session is active again when the job is done.
    pub resumed: bool,
}

/// See [`State::failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Why the last job failed.
    pub why: FailureReason,
    /// Failures in a row.
    pub attempts: u32,
    /// When to try again.
    pub retry_at: Timestamp,
}

impl Default for State {
    fn default() -> Self {
        Self {
            phase: Phase::New,
            transcript: None,
            place: None,
            group: None,
            forced: false,
            generation: 1,
            read: Cursor::default(),
            tail: TailDigest::default(),
            counts: Counts::default(),
            first_at: None,
            discovered_at: Timestamp::default(),
            last_at: None,
            last_conversation_at: None,
            end: None,
            last_close: None,
            close_note: None,
            episode: None,
            deleted: None,
            corrections: Corrections::default(),
            checked: None,
            unindexed: 0,
            late_index_at: None,
            job: None,
            failure: None,
            starts: 0,
            signals: Signals::default(),
            handoff: None,
            enrichment: None,
        }
    }
}

impl State {
    /// Start of idleness: the last conversation record, else the last record, else the discovery.
    pub fn last_activity(&self) -> Timestamp {
        self.last_conversation_at.or(self.last_at).unwrap_or(self.discovered_at)
    }

    /// True if it has not ended: the agent may continue at any time.
    pub fn is_open(&self) -> bool {
        let is_left = matches!(
            self.phase,
            Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked | UnindexedReason::Gone)
        );
        self.end.is_none() && !is_left
    }

    /// True if only hooks have reported it and no transcript was ever found. Lists do not show it.
    pub fn is_unseen(&self) -> bool {
        self.transcript.is_none() && matches!(self.phase, Phase::New | Phase::Unindexed(UnindexedReason::Empty))
    }

    /// True if there is no episode, or it was made by this version of the filter.
    pub fn filter_is(&self, version: u32) -> bool {
        self.episode.as_ref().is_none_or(|episode| episode.filter_version == version)
    }

    /// The group for queries: the assigned one, else the project.
    pub fn group_id(&self) -> Option<&str> {
        self.group.as_deref().or(self.place.as_ref().map(|place| place.project.as_str()))
    }

    /// The group that may be shown: the name of a forgotten session's assigned group may reveal what it was about.
    pub fn shown_group_id(&self) -> Option<&str> {
        match self.phase {
            Phase::Forgotten => self.place.as_ref().map(|place| place.project.as_str()),
            _ => self.group_id(),
        }
    }

    /// The parent of a subagent's session, if known.
    pub fn parent(&self) -> Option<&SessionId> {
        match &self.transcript.as_ref()?.kind {
            Kind::Main => None,
            Kind::Subagent { parent } => parent.as_ref(),
        }
    }

    /// True for a subagent's session.
    pub fn is_subagent(&self) -> bool {
        matches!(self.transcript.as_ref().map(|transcript| &transcript.kind), Some(Kind::Subagent { .. }))
    }
}

/// Folds one event in. Total: any event in any state gives a state.
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::Discovered { agent, path, identity, kind, at } => {
            state.transcript =
                Some(Transcript { agent: *agent, path: path.clone(), identity: *identity, kind: kind.clone() });
            state.discovered_at = *at;
            state.phase = Phase::Active;
        }
        Event::Moved { path, identity } => {
            if let Some(transcript) = &mut state.transcript {
                transcript.path.clone_from(path);
                transcript.identity = *identity;
            }
        }
        Event::Located { place } => state.place = Some(place.clone()),
        Event::ParentFound { parent } => {
            if let Some(transcript) = &mut state.transcript {
                transcript.kind = Kind::Subagent { parent: Some(parent.clone()) };
            }
        }
        Event::RecordsAppended { to, tail, counts, first_at, last_at, last_conversation_at, late_index_at, .. } => {
            state.read = Cursor::clone(to);
            state.tail = *tail;
            state.counts.add(counts);
            state.first_at = state.first_at.or(*first_at);
            state.last_at = state.last_at.max(*last_at);
            state.last_conversation_at = state.last_conversation_at.max(*last_conversation_at);
            if let Some(at) = last_conversation_at {
                // A record of the same millisecond was written before the connection closed.
                state.signals.take_back_disconnect(at.plus_ms(-1));
            }
            state.unindexed = state.unindexed.saturating_add(counts.conversation);
            state.late_index_at = late_index_at.or(state.late_index_at);
            if state.phase == Phase::Inactive && counts.conversation > 0 {
                state.phase = Phase::Active;
            }
        }
        Event::Rewritten { generation, identity } => {
            begin_generation(&mut state, *generation);
            enrichment::drop_automatic(&mut state);
            if let Some(transcript) = &mut state.transcript {
                transcript.identity = *identity;
            }
            state.phase = Phase::Active;
        }
        Event::Resumed => {
            state.end = None;
            state.late_index_at = None;
            state.signals.close_owed = state.signals.close_owed.filter(|reason| !reason.ends_session());
            enrichment::drop_automatic(&mut state);
            match &mut state.job {
                Some(job) => job.resumed = true,
                None => state.phase = Phase::Active,
            }
        }
        Event::WentIdle => state.phase = Phase::Inactive,
        Event::CloseRequested { reason, note } => {
            // A later close does not replace the reason of the end, unless a person or agent asked explicitly.
            if *reason == CloseReason::Explicit || state.end.is_none() {
                state.last_close = Some(*reason);
                state.close_note = *note;
            }
            // Each close reads to the end of the file first.
            let serves = |owed: &CloseReason| reason.ends_session() || !owed.ends_session();
            state.signals.close_owed = state.signals.close_owed.filter(|owed| !serves(owed));
            if let Some(job) = &mut state.job
                && state.unindexed > job.covers
            {
                job.again = Some(*reason);
            }
        }
        Event::Ended { reason, at, by_self } => {
            state.end = Some(End { reason: *reason, at: *at, by_self: *by_self });
            state.signals.disconnected_at = None;
            // The end of a hook is recorded before its close.
            if state.last_close != Some(*reason) {
                state.last_close = Some(*reason);
                state.close_note = None;
            }
        }
        Event::IndexingStarted { effect, reason, to } => {
            state.phase = Phase::Indexing;
            let covers = state.unindexed;
            state.job = Some(Job { effect: *effect, to: *to, reason: *reason, covers, again: None, resumed: false });
            state.late_index_at = None;
            state.starts = state.starts.max(effect.start);
        }
        Event::Indexed { episode, .. } => {
            state.checked = Some(Checked { generation: episode.generation, to: episode.to });
            let stays_deleted = state.deleted.is_some()
                && state.episode.as_ref().is_some_and(|before| episode.has_same_content(before));
            state.deleted = stays_deleted.then_some(episode.uuid);
            state.episode = Some(episode.clone());
            finish_job(&mut state);
            enrichment::update_after_index(&mut state);
        }
        Event::IndexSkipped { effect, to, .. } => {
            state.checked = Some(Checked { generation: state.generation, to: *to });
            if effect.is_some() {
                finish_job(&mut state);
            }
            enrichment::update_after_index(&mut state);
        }
        Event::IndexingFailed { why, attempts, retry_at, .. } => {
            state.job = None;
            state.failure = Some(Failure { why: *why, attempts: *attempts, retry_at: *retry_at });
            state.phase = Phase::Failed;
        }
        Event::Abandoned { why } => {
            state.phase = Phase::Unindexed(*why);
            state.job = None;
            state.failure = None;
        }
        Event::TrackingStopped => {
            state.job = None;
            state.failure = None;
            state.forced = false;
            state.phase = Phase::Unindexed(UnindexedReason::Untracked);
        }
        Event::TrackingForced => state.forced = true,
        Event::TrackingResumed => {
            state.phase = if state.episode.is_some() && state.unindexed == 0 { Phase::Indexed } else { Phase::Active };
        }
        Event::GroupAssigned { group } => state.group = Some(group.clone()),
        Event::Forgotten => {
            state.phase = Phase::Forgotten;
            state.episode = None;
            state.deleted = None;
            state.checked = None;
            state.job = None;
            state.failure = None;
            state.end = None;
            state.late_index_at = None;
            state.forced = false;
            state.close_note = None;
            state.corrections.forget_text();
            state.signals.active_at = None;
            state.signals.disconnected_at = None;
            state.signals.close_owed = None;
            enrichment::forget(&mut state);
        }
        Event::Restored { generation, file_exists } => {
            begin_generation(&mut state, *generation);
            state.phase = match &state.transcript {
                // It was forgotten before it was discovered.
                None => Phase::New,
                Some(_) if *file_exists => Phase::Active,
                Some(_) => Phase::Unindexed(UnindexedReason::Gone),
            };
        }
        Event::Signalled { signal } => {
            state.signals.apply(signal, state.end.map(|end| end.at), state.last_conversation_at);
        }
        Event::HandoffOffered { episode, from, at } => {
            state.handoff = Some(Handoff { episode: *episode, from: from.clone(), at: *at, claimed: false });
        }
        Event::HandoffClaimed { episode } => {
            if let Some(handoff) = state.handoff.as_mut().filter(|handoff| handoff.episode == *episode) {
                handoff.claimed = true;
            }
        }
        Event::EpisodeDeleted { episode } => {
            state.deleted = state.episode.as_ref().map(|current| current.uuid).filter(|current| current == episode);
        }
        Event::EpisodeRestored { episode } => state.deleted = state.deleted.filter(|deleted| deleted != episode),
        Event::Corrected { correction, at } => state.corrections.apply(correction, *at),
        Event::Redacted { episode, notes } => {
            if let (Some(before), Some(after)) = (state.episode.clone(), episode) {
                state.deleted = state.deleted.map(|gone| if gone == before.uuid { after.uuid } else { gone });
                state.episode = Some(after.clone());
                enrichment::replace_content_hash(&mut state, before.hash, after.hash);
            }
            let now = |hash: ContentHash| notes.iter().find(|(old, _)| *old == hash).map_or(hash, |(_, new)| *new);
            state.close_note = state.close_note.map(now);
            state.corrections.title = state.corrections.title.map(now);
            enrichment::replace_answer_hashes(&mut state, now);
        }
        Event::Shortened { episode } => state.episode = Some(episode.clone()),
        Event::EnrichmentOwed { at, asked } => enrichment::owe(&mut state, *at, *asked),
        Event::ModelCalled { call } => enrichment::start_call(&mut state, call),
        Event::ModelAnswered { answer } => enrichment::end_call(&mut state, answer),
        Event::Enriched { episode, answer, model, unseen, not_held, at, .. } => {
            let by =
                EnrichedBy { answer: *answer, model: model.clone(), unseen: *unseen, not_held: *not_held, at: *at };
            enrichment::set_enriched(&mut state, *episode, by);
        }
        Event::EnrichmentGivenUp { content, why } => enrichment::give_up(&mut state, *content, *why),
    }
    state
}

fn begin_generation(state: &mut State, generation: u32) {
    state.generation = generation;
    state.read = Cursor::default();
    state.tail = TailDigest::default();
    state.counts = Counts::default();
    state.first_at = None;
    state.checked = None;
    state.unindexed = 0;
    state.late_index_at = None;
    state.job = None;
    state.failure = None;
    state.end = None;
}

fn finish_job(state: &mut State) {
    let job = state.job.take();
    state.unindexed = state.unindexed.saturating_sub(job.map_or(0, |job| job.covers));
    state.failure = None;
    state.phase = if job.is_some_and(|job| job.resumed) { Phase::Active } else { Phase::Indexed };
}
