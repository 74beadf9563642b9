//! Events of a session: facts that are never refused and never edited.
//!
//! An event never contains text of a conversation: only ids, paths, hashes, counts, times and enumerated reasons.
//!
//! # Decisions
//!
//! - Added to the design: `Located`, `ParentFound` and `Moved` (where a session works, whose subagent it is and a
//!   rename are often known only after the discovery), and `TrackingForced` (that tracking was forced past a switch
//!   must survive a restart; it overrides switches, not an exclusion).

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use super::correction::Correction;
use super::model_call::{EnrichedBy, GaveUp, ModelAnswer, ModelCall};
use super::reason::{CloseReason, FailureReason, UnindexedReason};
use super::signal::Signal;
use crate::project;
use baton_conversation::hash::ContentHash;
pub use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
pub use baton_conversation::transcript::Kind;
use baton_conversation::transcript::{Cursor, Observation, add_type, add_unknown};

/// Something that happened to one session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session's transcript was found for the first time.
    Discovered {
        /// The agent that writes it.
        agent: Agent,
        /// Absolute path.
        path: String,
        /// The file behind the path.
        identity: FileIdentity,
        /// A session of its own or a subagent's.
        kind: Kind,
        /// When the file was last written, or the time of discovery if that is unknown.
        at: Timestamp,
    },
    /// The transcript is now at another path; what was read of it stays valid.
    Moved {
        /// Absolute path.
        path: String,
        /// The file behind the path.
        identity: FileIdentity,
    },
    /// The transcript has named the session's working directory.
    Located {
        /// The place.
        place: Place,
    },
    /// The transcript has named the session whose subagent this is.
    ParentFound {
        /// The session that spawned it.
        parent: SessionId,
    },
    /// Records were read and counted. Each byte range is covered by exactly one such event.
    RecordsAppended {
        /// The generation of the range.
        generation: u32,
        /// First byte of the range.
        from: u64,
        /// Cursor at the end of the range.
        to: Box<Cursor>,
        /// Digest of the last bytes before `to`.
        tail: TailDigest,
        /// Counts of the range.
        counts: Counts,
        /// Time of the first record of the range that has one.
        first_at: Option<Timestamp>,
        /// Time of the last record of the range that has one, at most the time of reading.
        last_at: Option<Timestamp>,
        /// Time of the last conversation record, at most the time of reading; `None` if the range has none.
        last_conversation_at: Option<Timestamp>,
        /// For records that belong to a recorded end: deadline for indexing them.
        late_index_at: Option<Timestamp>,
    },
    /// The file was rewritten: reading begins again at byte 0 of this generation.
    Rewritten {
        /// The new generation.
        generation: u32,
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// The session goes on: new conversation came after an end or an index, or a missing transcript reappeared.
    Resumed,
    /// No record came within the check interval.
    WentIdle,
    /// A layer asked for the session to be closed or indexed.
    CloseRequested {
        /// Which layer asked, and why.
        reason: CloseReason,
        /// Hash of a free-text note, stored outside the log.
        note: Option<ContentHash>,
    },
    /// The session is over, unless it is resumed.
    Ended {
        /// Why it is over.
        reason: CloseReason,
        /// When it was over.
        at: Timestamp,
        /// True if the session itself asked for it.
        by_self: bool,
    },
    /// An index job is owed.
    IndexingStarted {
        /// The job.
        effect: EffectId,
        /// What caused the job.
        reason: CloseReason,
        /// Byte offset up to which it reads.
        to: u64,
    },
    /// An episode was stored and is now the session's current one.
    Indexed {
        /// The job that stored it.
        effect: EffectId,
        /// The episode, its content and where it lies.
        episode: EpisodeRef,
    },
    /// The content is unchanged: the current episode stays.
    IndexSkipped {
        /// The job that found this; `None` if nothing had to be read.
        effect: Option<EffectId>,
        /// The current episode.
        episode: Uuid,
        /// Byte offset up to which the content is known to be unchanged.
        to: u64,
    },
    /// An index job failed.
    IndexingFailed {
        /// The job.
        effect: EffectId,
        /// Why it failed.
        why: FailureReason,
        /// Failures in a row, this one included.
        attempts: u32,
        /// When to try again at the earliest.
        retry_at: Timestamp,
    },
    /// The session was abandoned without an index.
    Abandoned {
        /// The reason.
        why: UnindexedReason,
    },
    /// A person or agent stopped the tracking of this session.
    TrackingStopped,
    /// Tracking was resumed.
    TrackingResumed,
    /// The session is tracked even if a switch excludes it, until its tracking is stopped.
    TrackingForced,
    /// The session was assigned to a group.
    GroupAssigned {
        /// The group.
        group: String,
    },
    /// The session's content was forgotten; this tombstone stays.
    Forgotten,
    /// The session is no longer forgotten.
    Restored {
        /// The generation that is read from now on.
        generation: u32,
        /// True if there is a transcript to read.
        file_exists: bool,
    },
    /// A hook or a connection reported something about the session.
    Signalled {
        /// The signal.
        signal: Signal,
    },
    /// A handoff from the previous session was given to this one.
    HandoffOffered {
        /// The episode it is about.
        episode: Uuid,
        /// That episode's session.
        from: SessionId,
        /// When it was offered.
        at: Timestamp,
    },
    /// A prompt was typed in the session after the handoff: it continues that work.
    HandoffClaimed {
        /// The episode that was handed off.
        episode: Uuid,
    },
    /// The episode is hidden from search and lists until its content changes. Its stored data stays.
    EpisodeDeleted {
        /// The episode.
        episode: Uuid,
    },
    /// The episode is shown again: its deletion is lifted, and it counts as having joined its group now, so earlier
    /// clears do not hide it.
    EpisodeRestored {
        /// The episode.
        episode: Uuid,
    },
    /// A person corrected what is told of the session, or took a correction back.
    Corrected {
        /// The correction.
        correction: Correction,
        /// When it was given.
        at: Timestamp,
    },
    /// The session's stored text was redacted again by newer rules and changed: other files replace the old ones.
    /// Nothing was read again, and no model was asked.
    Redacted {
        /// The episode, if its conversation changed; only uuid, hash and manifest differ.
        episode: Option<EpisodeRef>,
        /// Changed notes and model answers: old hash and new hash.
        notes: Vec<(ContentHash, ContentHash)>,
    },
    /// A model is to enrich the episode: the session ended while one was enabled, or a person asked for it.
    EnrichmentOwed {
        /// When it became owed.
        at: Timestamp,
        /// True if a person asked for it.
        asked: bool,
    },
    /// A model is about to be asked; recorded before anything is sent.
    ModelCalled {
        /// The call.
        call: ModelCall,
    },
    /// A call of a model has ended, or is known to have been cut off.
    ModelAnswered {
        /// The result of the call.
        answer: ModelAnswer,
    },
    /// The episode is now what a model made of the same content. Its uuid and hash stay.
    Enriched {
        /// The episode.
        episode: Uuid,
        /// The answer it is made of, the model and the time.
        by: EnrichedBy,
        /// Facts of the answer that join the graph.
        facts: u32,
        /// Claims about lines that do not exist, dropped from this answer and those merged into it.
        dropped: u32,
    },
    /// No model enriches this content unless a person asks again: the episode stays as it is.
    EnrichmentGivenUp {
        /// The content.
        content: ContentHash,
        /// The reason.
        why: GaveUp,
    },
}

/// Identity of a file: survives a rename, not a replacement. Zeros if the platform reports none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FileIdentity {
    /// Device.
    pub device: u64,
    /// Inode or file index.
    pub inode: u64,
}

/// Where a session works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The first working directory named in the transcript.
    pub cwd: String,
    /// The project: the repository of `cwd`, else `cwd`; see [`project::of_path`].
    pub project: String,
    /// The address of the repository, if it was seen; see [`project::remote`].
    pub remote: Option<String>,
    /// The project as it was recorded, if another one is derived from it. Stored in place of `project`, so that what was
    /// stored before keeps its bytes and hashes.
    recorded: Option<String>,
}

impl Place {
    /// A place with the project as it is recorded.
    pub fn new(cwd: impl Into<String>, project: impl Into<String>) -> Self {
        let recorded = project.into();
        let project = project::of_path(&recorded).into_owned();
        let recorded = Some(recorded).filter(|recorded| *recorded != project);
        Self { cwd: cwd.into(), project, remote: None, recorded }
    }

    /// This place with the address of its repository.
    pub fn with_remote(self, remote: Option<String>) -> Self {
        Self { remote, ..self }
    }

    /// This place in another project.
    pub fn in_project(self, project: impl Into<String>) -> Self {
        Self::new(self.cwd, project).with_remote(self.remote)
    }

    /// The project as it is stored.
    pub fn recorded_project(&self) -> &str {
        self.recorded.as_deref().unwrap_or(&self.project)
    }
}

/// First half of the SHA-256 of up to 4,096 bytes before an offset.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct TailDigest(pub [u8; 16]);

impl fmt::Debug for TailDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Counts of a range of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Lines that hold a JSON object.
    pub records: u64,
    /// Records that carry conversation: prompts, replies, thinking, calls, results.
    pub conversation: u64,
    /// Typed prompts plus assistant messages (by message id) that carry text.
    pub messages: u64,
    /// Typed prompts.
    pub prompts: u64,
    /// Lines that are not a JSON object.
    pub malformed: u64,
    /// Lines too long to be buffered.
    pub oversize: u64,
    /// All records by type (bounded); empty for events recorded in version 1.
    pub by_type: BTreeMap<String, u64>,
    /// Records of a type this version does not know, by type (bounded).
    pub unknown: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds the counts of the next range. The number of distinct types is bounded.
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.conversation += other.conversation;
        self.messages += other.messages;
        self.prompts += other.prompts;
        self.malformed += other.malformed;
        self.oversize += other.oversize;
        for (kind, count) in &other.by_type {
            add_type(&mut self.by_type, kind, *count);
        }
        for (kind, count) in &other.unknown {
            add_unknown(&mut self.unknown, kind, *count);
        }
    }
}

impl From<&Observation> for Counts {
    fn from(seen: &Observation) -> Self {
        Self {
            records: seen.records,
            conversation: seen.conversation,
            messages: seen.messages,
            prompts: seen.prompts,
            malformed: seen.malformed,
            oversize: seen.oversize,
            by_type: seen.by_type.clone(),
            unknown: seen.unknown.clone(),
        }
    }
}

/// The session's current episode, and where its conversation is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeRef {
    /// UUIDv5 of session id and hash: the same content has the same uuid.
    pub uuid: Uuid,
    /// Extractive or enriched.
    pub tier: Tier,
    /// Hash of the filtered content.
    pub hash: ContentHash,
    /// Version of the filter that produced it.
    pub filter_version: u32,
    /// Generation of the transcript from which it was read.
    pub generation: u32,
    /// Byte offset up to which it was read.
    pub to: u64,
    /// Manifest that lists the conversation's chunks.
    pub manifest: ContentHash,
    /// Number of items of the conversation.
    pub items: u64,
    /// When it was recorded.
    pub at: Timestamp,
}

impl EpisodeRef {
    /// True if both have the same content: the same hash, or the same bytes through another filter version.
    pub fn has_same_content(&self, other: &Self) -> bool {
        let same_bytes = (self.generation, self.to) == (other.generation, other.to);
        self.uuid == other.uuid || (same_bytes && self.filter_version != other.filter_version)
    }
}

/// How an episode was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// By rules, offline.
    Extractive,
    /// By a model, from the same conversation.
    Enriched,
}

/// Identity of an effect: the n-th index job of a session, for one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    /// The generation.
    pub generation: u32,
    /// Number of the job, from 1 over the session's life.
    pub start: u32,
}

impl fmt::Display for EffectId {
    /// The form in logs and answers: `2.3` is the third job of the session, in its second generation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.start)
    }
}

impl Tier {
    /// The name in events and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Enriched => "enriched",
        }
    }

    /// The value of a recorded name; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "extractive" => Some(Self::Extractive),
            "enriched" => Some(Self::Enriched),
            _ => None,
        }
    }
}
