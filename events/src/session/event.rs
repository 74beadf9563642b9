//! Facts: what has happened to a session. A fact is never refused and never edited.
//!
//! No text of a conversation is ever in an event: ids, paths, hashes, counts, times and enumerated reasons only.
//!
//! # Decisions
//!
//! - Added to the design: `Located`, `ParentFound` and `Moved` (where a session works, whose subagent it is and
//!   a rename are often known only after the discovery), and `TrackingForced` (that tracking was forced past a
//!   switch must survive a restart; it passes switches, not an exclusion).

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use super::model_call::{EnrichedBy, GaveUp, ModelAnswer, ModelCall};
use super::reason::{CloseReason, FailureWhy, Why};
use super::signal::Signal;
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
        /// Which agent writes it.
        agent: Agent,
        /// Absolute path.
        path: String,
        /// The file behind the path.
        identity: FileIdentity,
        /// A session of its own or a subagent's.
        kind: Kind,
        /// When, or when the file was last written, if that is known.
        at: Timestamp,
    },
    /// The transcript is now at another path; what was read of it stays read.
    Moved {
        /// Absolute path.
        path: String,
        /// The file behind the path.
        identity: FileIdentity,
    },
    /// The transcript has said where the session works.
    Located {
        /// The place.
        place: Place,
    },
    /// The transcript has said whose subagent it is.
    ParentFound {
        /// The session that spawned it.
        parent: SessionId,
    },
    /// Records were read, counted and are covered by this event and no other.
    RecordsAppended {
        /// The generation they belong to.
        generation: u32,
        /// First byte of the range.
        from: u64,
        /// Where reading stands now.
        to: Box<Cursor>,
        /// Digest of the last bytes before `to`.
        tail: TailDigest,
        /// What was in the range.
        counts: Counts,
        /// Time of the first record of the range that has one.
        first_at: Option<Timestamp>,
        /// Time of the last record that has one, never later than the moment of reading.
        last_at: Option<Timestamp>,
        /// Time of the last conversation record, never later than the moment of reading; `None` when the range has none.
        last_conversation_at: Option<Timestamp>,
        /// For records that belong to an end already noted: when to index them at the latest.
        late_index_at: Option<Timestamp>,
    },
    /// The file was rewritten: reading begins again at byte 0 of this generation.
    Rewritten {
        /// The new generation.
        generation: u32,
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// New conversation came after an end or an index, or a transcript that was gone is there again: the session goes on.
    Resumed,
    /// No new record for the check interval.
    WentIdle,
    /// A layer asked for the session to be closed or indexed.
    CloseRequested {
        /// Which layer, and why.
        reason: CloseReason,
        /// Hash of a free-text note, stored outside the log.
        note: Option<ContentHash>,
    },
    /// The session is over, until it is resumed.
    Ended {
        /// Why.
        reason: CloseReason,
        /// When.
        at: Timestamp,
        /// Whether the session itself asked for it.
        by_self: bool,
    },
    /// An index job is owed.
    IndexingStarted {
        /// The job.
        effect: EffectId,
        /// What asked for it.
        reason: CloseReason,
        /// Byte offset up to which it shall read.
        to: u64,
    },
    /// An episode is stored and is the session's current one.
    Indexed {
        /// The job that stored it.
        effect: EffectId,
        /// The episode, its content and where it lies.
        episode: EpisodeRef,
    },
    /// The content is what it was: the episode stays.
    IndexSkipped {
        /// The job that found out; `None` when nothing had to be read.
        effect: Option<EffectId>,
        /// The episode that stays.
        episode: Uuid,
        /// Byte offset up to which the content is known to be unchanged.
        to: u64,
    },
    /// An index job failed.
    IndexingFailed {
        /// The job.
        effect: EffectId,
        /// Why.
        why: FailureWhy,
        /// How often in a row.
        attempts: u32,
        /// When to try again.
        retry_at: Timestamp,
    },
    /// The session was let go without an index.
    Abandoned {
        /// Why.
        why: Why,
    },
    /// A person or agent stopped the tracking of this session.
    TrackingStopped,
    /// The stop was lifted.
    TrackingResumed,
    /// From now on the session is tracked although a switch may say no, until its tracking is stopped.
    TrackingForced,
    /// The session was put in a group.
    GroupAssigned {
        /// The group.
        group: String,
    },
    /// Everything about the session is forgotten; this tombstone stays.
    Forgotten,
    /// The tombstone was lifted.
    Restored {
        /// The generation that is read from now on.
        generation: u32,
        /// Whether there is a transcript to read.
        file_exists: bool,
    },
    /// A hook or a connection said something of the session.
    Signalled {
        /// What.
        signal: Signal,
    },
    /// The session was told of the one before it.
    HandoffOffered {
        /// The episode it was told of.
        episode: Uuid,
        /// That episode's session.
        from: SessionId,
        /// When.
        at: Timestamp,
    },
    /// Somebody typed a prompt in the session that was told: it has taken the work over.
    HandoffClaimed {
        /// The episode it was told of.
        episode: Uuid,
    },
    /// The episode is found and shown no more, until the content is another. What is stored of it stays.
    EpisodeDeleted {
        /// Which.
        episode: Uuid,
    },
    /// The episode is found and shown again: a deletion of it is lifted, and it counts as come into its group now, whatever
    /// was cleared before.
    EpisodeRestored {
        /// Which.
        episode: Uuid,
    },
    /// What is stored of the session was redacted again by newer rules, and its text changed: other files stand in its
    /// place. Nothing was read, and no model was asked.
    Redacted {
        /// The episode, where its conversation changed; nothing but its uuid, hash and manifest is another.
        episode: Option<EpisodeRef>,
        /// Notes and answers of models that changed, each with what stands in its place.
        notes: Vec<(ContentHash, ContentHash)>,
    },
    /// A model is to enrich the episode: the session has ended while one was enabled, or somebody asked for it.
    EnrichmentOwed {
        /// When.
        at: Timestamp,
        /// Whether somebody asked for it.
        asked: bool,
    },
    /// A model is asked: recorded before anything is sent.
    ModelCalled {
        /// The call.
        call: ModelCall,
    },
    /// A call of a model has ended, or is known to have been cut off.
    ModelAnswered {
        /// How.
        answer: ModelAnswer,
    },
    /// The episode is from now on what a model has made of the same content. Its uuid and hash stay.
    Enriched {
        /// The episode.
        episode: Uuid,
        /// By which answer of which model, and when.
        by: EnrichedBy,
        /// Facts of the answer that join the graph.
        facts: u32,
        /// What it, and the answers that it was joined of, claimed of lines that do not exist; dropped.
        dropped: u32,
    },
    /// No model enriches this content, unless somebody asks: the episode stays as it is.
    EnrichmentGivenUp {
        /// The content.
        content: ContentHash,
        /// Why.
        why: GaveUp,
    },
}

/// The file behind a path: survives a rename, not a replacement. Zeros where the platform tells nothing.
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
    /// The first working directory that the transcript names.
    pub cwd: String,
    /// The project: the git top level of `cwd` when it existed at discovery, else `cwd`.
    pub project: String,
}

/// SHA-256 of up to 4,096 bytes that precede an offset.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct TailDigest(pub [u8; 16]);

impl fmt::Debug for TailDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What was in a range of a transcript.
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
    /// Lines that hold no JSON object.
    pub malformed: u64,
    /// Lines too long to be buffered.
    pub oversize: u64,
    /// All records by type (bounded); none of what was recorded by version 1 of the event.
    pub by_type: BTreeMap<String, u64>,
    /// Records of a type this version does not know, by type (bounded).
    pub unknown: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds what was counted in the next range. A bounded number of unknown types are told apart.
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

/// The episode that a session currently has, and where its conversation lies.
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
    /// Generation of the transcript it was read from.
    pub generation: u32,
    /// Byte offset up to which it was read.
    pub to: u64,
    /// Manifest that lists the conversation's chunks.
    pub manifest: ContentHash,
    /// How many items the conversation has.
    pub items: u64,
    /// When it was recorded.
    pub at: Timestamp,
}

impl EpisodeRef {
    /// Whether this is of the same content as another: the same hash, or the same bytes through another filter.
    pub fn is_of_the_content_of(&self, other: &Self) -> bool {
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

/// One piece of work owed to one generation of one session; the n-th index job of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    /// Generation.
    pub generation: u32,
    /// Which start, counted from 1 over the session's life.
    pub start: u32,
}

impl fmt::Display for EffectId {
    /// As log and answers name a job: `2.3` is the third of the session, in its second generation.
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

    /// The value of a recorded name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "extractive" => Some(Self::Extractive),
            "enriched" => Some(Self::Enriched),
            _ => None,
        }
    }
}
