//! What is so now: one session folded from its events. `evolve` may not refuse, because what has happened has happened.

pub(super) mod enrichment;

use uuid::Uuid;

use super::event::{Agent, Counts, EffectId, EpisodeRef, Event, FileIdentity, Kind, Place, TailDigest};
use super::reason::{CloseReason, FailureWhy, Why};
use super::signal::{Handoff, Signals};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Cursor;
use enrichment::Enrichment;

/// The named phase of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing has happened yet.
    New,
    /// Records are coming.
    Active,
    /// No record for the check interval.
    Inactive,
    /// An index job is owed or running.
    Indexing,
    /// The current episode covers the conversation.
    Indexed,
    /// The last index job failed; another will try.
    Failed,
    /// Let go without an index.
    Unindexed(Why),
    /// A tombstone.
    Forgotten,
}

impl Phase {
    /// The name in answers; `New` reads as `active`, because nobody sees it.
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

/// Everything that is known of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Where it stands.
    pub phase: Phase,
    /// The transcript, once discovered.
    pub transcript: Option<Transcript>,
    /// Where the session works.
    pub place: Option<Place>,
    /// The group it was put in, if not its project.
    pub group: Option<String>,
    /// Whether it is tracked although a switch may say no.
    pub forced: bool,
    /// How often the file was begun anew.
    pub generation: u32,
    /// Where reading stands in this generation.
    pub read: Cursor,
    /// Digest of the bytes before that.
    pub tail: TailDigest,
    /// What was counted in this generation.
    pub counts: Counts,
    /// First record's time.
    pub first_at: Option<Timestamp>,
    /// When it was discovered, or its file was last written before that.
    pub discovered_at: Timestamp,
    /// Time of the last record that has one, in any generation.
    pub last_at: Option<Timestamp>,
    /// Time of the last conversation record, in any generation.
    pub last_conversation_at: Option<Timestamp>,
    /// The end, kept apart from the phase: who said that the session is over, and when.
    pub end: Option<End>,
    /// The last close that was asked for, whatever became of it.
    pub last_close: Option<CloseReason>,
    /// Hash of the note that came with it.
    pub close_note: Option<ContentHash>,
    /// The current episode. Nothing else names it.
    pub episode: Option<EpisodeRef>,
    /// The current episode, where somebody has deleted it: found and shown no more until the content changes.
    pub deleted: Option<Uuid>,
    /// Up to where the content is known to be what the episode says.
    pub checked: Option<Checked>,
    /// Conversation records that were read and that no finished index covers.
    pub unindexed: u64,
    /// When late records are indexed at the latest.
    pub late_index_at: Option<Timestamp>,
    /// The running index job.
    pub job: Option<Job>,
    /// Failures in a row.
    pub failure: Option<Failure>,
    /// Index jobs started so far.
    pub starts: u32,
    /// What hooks and connections have said.
    pub signals: Signals,
    /// What it was told of the session before it.
    pub handoff: Option<Handoff>,
    /// What a model is to make of it, and has made of it.
    pub enrichment: Option<Box<Enrichment>>,
}

/// The file a session is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Which agent writes it.
    pub agent: Agent,
    /// Absolute path.
    pub path: String,
    /// The file behind it.
    pub identity: FileIdentity,
    /// Session or subagent.
    pub kind: Kind,
}

/// See [`State::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub reason: CloseReason,
    /// When.
    pub at: Timestamp,
    /// Whether the session itself asked.
    pub by_self: bool,
}

/// See [`State::checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Generation.
    pub generation: u32,
    /// Byte offset.
    pub to: u64,
}

/// See [`State::job`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its identity.
    pub effect: EffectId,
    /// Up to where it reads.
    pub to: u64,
    /// What asked for it.
    pub reason: CloseReason,
    /// How many of the unindexed records it covers.
    pub covers: u64,
    /// A close that came after the records that the job does not cover.
    pub again: Option<CloseReason>,
    /// Whether records came that belong to no end: the session is open again when the job is done.
    pub resumed: bool,
}

/// See [`State::failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why the last one failed.
    pub why: FailureWhy,
    /// How often in a row.
    pub attempts: u32,
    /// When the next is due.
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
    /// The moment from which idleness is measured: the last conversation record, else the last record of a session that
    /// has none, else the discovery.
    pub fn last_activity(&self) -> Timestamp {
        self.last_conversation_at.or(self.last_at).unwrap_or(self.discovered_at)
    }

    /// Whether its end has not come: somebody may go on in it at any time.
    pub fn is_open(&self) -> bool {
        let is_left = matches!(self.phase, Phase::Forgotten | Phase::Unindexed(Why::Untracked | Why::Gone));
        self.end.is_none() && !is_left
    }

    /// Whether only hooks have told of it: no transcript was ever seen. Lists do not show it.
    pub fn is_unseen(&self) -> bool {
        self.transcript.is_none() && matches!(self.phase, Phase::New | Phase::Unindexed(Why::Empty))
    }

    /// Whether the episode was made by this version of the filter, if there is one.
    pub fn filter_is(&self, version: u32) -> bool {
        self.episode.as_ref().is_none_or(|episode| episode.filter_version == version)
    }

    /// The group a query finds it under: the assigned one, else the project.
    pub fn group_id(&self) -> Option<&str> {
        self.group.as_deref().or(self.place.as_ref().map(|place| place.project.as_str()))
    }

    /// The group as anybody is told it: what a forgotten session was put into may tell what it was about.
    pub fn shown_group_id(&self) -> Option<&str> {
        match self.phase {
            Phase::Forgotten => self.place.as_ref().map(|place| place.project.as_str()),
            _ => self.group_id(),
        }
    }

    /// The parent, if this is a subagent's session that knows it.
    pub fn parent(&self) -> Option<&SessionId> {
        match &self.transcript.as_ref()?.kind {
            Kind::Main => None,
            Kind::Subagent { parent } => parent.as_ref(),
        }
    }

    /// Whether this is a subagent's session.
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
                // A record of the very moment in which the connection closed was written before.
                state.signals.take_back_disconnect(at.plus_ms(-1));
            }
            state.unindexed += counts.conversation;
            state.late_index_at = late_index_at.or(state.late_index_at);
            if state.phase == Phase::Inactive && counts.conversation > 0 {
                state.phase = Phase::Active;
            }
        }
        Event::Rewritten { generation, identity } => {
            begin_generation(&mut state, *generation);
            enrichment::resumed(&mut state);
            if let Some(transcript) = &mut state.transcript {
                transcript.identity = *identity;
            }
            state.phase = Phase::Active;
        }
        Event::Resumed => {
            state.end = None;
            state.late_index_at = None;
            state.signals.close_owed = state.signals.close_owed.filter(|reason| !reason.ends_session());
            enrichment::resumed(&mut state);
            match &mut state.job {
                Some(job) => job.resumed = true,
                None => state.phase = Phase::Active,
            }
        }
        Event::WentIdle => state.phase = Phase::Inactive,
        Event::CloseRequested { reason, note } => {
            // Nobody takes the word of who has ended the session, but for somebody who says so himself.
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
            // A hook's end comes before its close.
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
                && state.episode.as_ref().is_some_and(|before| episode.is_of_the_content_of(before));
            state.deleted = stays_deleted.then_some(episode.uuid);
            state.episode = Some(episode.clone());
            finish_job(&mut state);
            enrichment::indexed(&mut state);
        }
        Event::IndexSkipped { effect, to, .. } => {
            state.checked = Some(Checked { generation: state.generation, to: *to });
            if effect.is_some() {
                finish_job(&mut state);
            }
            enrichment::indexed(&mut state);
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
            state.phase = Phase::Unindexed(Why::Untracked);
        }
        Event::TrackingForced => state.forced = true,
        Event::TrackingResumed => {
            let up_to_date = state.episode.is_some() && state.unindexed == 0;
            state.phase = if up_to_date { Phase::Indexed } else { Phase::Active };
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
            // Its text is gone.
            state.close_note = None;
            state.signals.active_at = None;
            state.signals.disconnected_at = None;
            state.signals.close_owed = None;
            enrichment::forgotten(&mut state);
        }
        Event::Restored { generation, file_exists } => {
            begin_generation(&mut state, *generation);
            state.phase = match &state.transcript {
                // It was forgotten before it was discovered.
                None => Phase::New,
                Some(_) if *file_exists => Phase::Active,
                Some(_) => Phase::Unindexed(Why::Gone),
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
        Event::Redacted { episode, notes } => {
            if let (Some(before), Some(after)) = (state.episode.clone(), episode) {
                state.deleted = state.deleted.map(|gone| if gone == before.uuid { after.uuid } else { gone });
                state.episode = Some(after.clone());
                enrichment::rehashed(&mut state, before.hash, after.hash);
            }
            let now = |hash: ContentHash| notes.iter().find(|(old, _)| *old == hash).map_or(hash, |(_, new)| *new);
            state.close_note = state.close_note.map(now);
            enrichment::renamed(&mut state, now);
        }
        Event::EnrichmentOwed { at, asked } => enrichment::owe(&mut state, *at, *asked),
        Event::ModelCalled { call } => enrichment::called(&mut state, call),
        Event::ModelAnswered { answer } => enrichment::answered(&mut state, answer),
        Event::Enriched { episode, by, .. } => enrichment::enriched(&mut state, *episode, by.clone()),
        Event::EnrichmentGivenUp { content, why } => enrichment::given_up(&mut state, *content, *why),
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
