//! Commands: requests to change a session. A command may be refused.
//!
//! # Decisions
//!
//! - `Close` and `Wake` carry whether the file could not be read: otherwise an unreadable session would look
//!   like an empty one.

use uuid::Uuid;

use super::correction::Correction;
use super::event::{Agent, Kind};
use super::model_call::{Ask, CallOutcome, CallTokens, GaveUp};
use super::reason::{CloseReason, FailureReason};
use super::signal::Signal;
use super::value::{Counts, EffectId, FileIdentity, Place, TailDigest};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Cursor;

/// A command. It carries everything that the rules need to know from the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A transcript of this session was found on disk.
    Discover(Discover),
    /// Whole lines were read from the cursor on. Counts only, no text.
    Observe(Box<Observe>),
    /// The file no longer continues what was read: read it again from byte 0 as a new generation.
    Rewrite {
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// The transcript no longer exists.
    Vanish,
    /// The session is over, or its content is wanted now.
    Close(Close),
    /// Time has passed: apply the rules that are due.
    Wake {
        /// As in [`Close::unread`].
        unread: bool,
        /// How much of the silence the machine was asleep.
        asleep: Asleep,
    },
    /// An index job has finished.
    Complete(Complete),
    /// An index job failed.
    Fail {
        /// The job.
        effect: EffectId,
        /// Why it failed.
        why: FailureReason,
    },
    /// Rebuild what is stored although nothing was appended, with the current filter and redaction rules.
    Reindex,
    /// Resume tracking.
    Track {
        /// Track it even if a switch of the configuration excludes it.
        force: bool,
    },
    /// Stop tracking: neither read nor index until tracked again. Undoes a forced tracking.
    Untrack,
    /// Assign the session to a group.
    Assign {
        /// The group.
        group: String,
    },
    /// Forget the session's content and leave a tombstone.
    Forget,
    /// Remove the tombstone. Only a person may do this.
    Restore {
        /// True if there is a transcript to read.
        file_exists: bool,
    },
    /// A hook or a connection reports something. May come before the transcript is found.
    Signal(Signal),
    /// Offer the session a handoff; each session takes only one.
    Offer {
        /// The episode it is about.
        episode: Uuid,
        /// That episode's session.
        from: SessionId,
    },
    /// A prompt was typed in the session that was offered a handoff.
    Claim,
    /// Hide this episode until its content changes.
    DeleteEpisode {
        /// Must be the current episode.
        episode: Uuid,
    },
    /// Show this episode again.
    RestoreEpisode {
        /// Must be the current episode.
        episode: Uuid,
        /// True if its group was cleared since; the session's state does not know this.
        is_cleared: bool,
    },
    /// A person corrects what is told of the session. Refused without an episode.
    Correct(Vec<Correction>),
    /// Stored data was redacted again: record the files that replace the old ones. Refused if the conversation is no
    /// longer current.
    Redact(Box<Redact>),
    /// Of the conversation only what its episode needs is stored any more: record the files that replace the old ones.
    /// Refused if the conversation is no longer current, or if its identity differs.
    Shorten(Box<ReplacedConversation>),
    /// Enrich the episode now, at a person's request. No effect if a model has enriched it and was sent all of it.
    Enrich,
    /// A model is about to be asked. Refused if the content is not the episode's, or while another call runs.
    CallModel(Box<CallModel>),
    /// A call of a model has ended.
    TakeAnswer(Box<TakeAnswer>),
    /// The program that made this call has ended without recording its result. No effect for any other call.
    LoseCall {
        /// Number of the call.
        id: u32,
    },
    /// This content cannot be enriched, for a reason that waiting does not remove.
    GiveUpEnrichment {
        /// The content.
        content: ContentHash,
        /// The reason.
        why: GaveUp,
    },
}

/// See [`Command::Redact`].
#[derive(Clone, Debug, PartialEq)]
pub struct Redact {
    /// The conversation, if it changed.
    pub conversation: Option<ReplacedConversation>,
    /// Changed notes and model answers: old hash and new hash.
    pub notes: Vec<(ContentHash, ContentHash)>,
}

/// A stored conversation that replaces another one of the same reading.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplacedConversation {
    /// Manifest of the conversation that it replaces.
    pub of: ContentHash,
    /// Hash of the content: after a redaction, or unchanged of one that was shortened.
    pub hash: ContentHash,
    /// The stored result.
    pub stored: Stored,
}

/// See [`Command::CallModel`]. The fields are those of [`ModelCall`](super::ModelCall).
#[derive(Clone, Debug, PartialEq)]
pub struct CallModel {
    /// The model's name; cut to [`MAX_MODEL_CHARS`](super::MAX_MODEL_CHARS) characters.
    pub model: String,
    /// Hash of the content that the call is about.
    pub content: ContentHash,
    /// Hash of the request.
    pub request: ContentHash,
    /// Which of the session's requests it is.
    pub ask: Ask,
    /// As [`ModelCall::part`](super::ModelCall::part).
    pub part: u32,
    /// Number of parts of the conversation.
    pub parts: u32,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Limit of tokens of the answer.
    pub tokens_out: u64,
    /// Highest cost by that estimate, in nanodollars.
    pub nanos: u64,
}

/// See [`Command::TakeAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub struct TakeAnswer {
    /// Number of the call.
    pub id: u32,
    /// How the call ended.
    pub end: CallEnd,
    /// Tokens, if the endpoint reported them.
    pub tokens: Option<CallTokens>,
    /// Cost in nanodollars; `None` if unknown. Counts as 0 if the outcome is [free](CallOutcome::is_free) and no tokens
    /// were reported.
    pub nanos: Option<u64>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEnd {
    /// The answer was checked and stored beside the conversation.
    Good {
        /// Hash of the stored answer.
        answer: ContentHash,
        /// Facts of the answer that join the graph.
        facts: u32,
        /// Claims about lines that do not exist; dropped.
        dropped: u32,
        /// Messages, calls and results that no request contained.
        unseen: u64,
        /// Those of them that could never be sent, because only a bounded part of a conversation is held.
        not_held: u64,
    },
    /// There is no usable answer.
    Failed {
        /// How it ended.
        outcome: CallOutcome,
        /// Delay that the endpoint asked for, bounded by the caller, in milliseconds.
        retry_after_ms: Option<i64>,
    },
}

/// See [`Command::Discover`].
#[derive(Clone, Debug, PartialEq)]
pub struct Discover {
    /// The agent that writes it.
    pub agent: Agent,
    /// Absolute path of the transcript.
    pub path: String,
    /// The file behind the path.
    pub identity: FileIdentity,
    /// A session of its own, or a subagent's.
    pub kind: Kind,
    /// For a known session found at another path: true if that file takes over (the old one is gone, or the new one is
    /// longer and begins with the same bytes).
    pub takes_over: bool,
    /// When the file was last written, if known: the age of a session whose records have no times.
    pub written_at: Option<Timestamp>,
}

/// See [`Command::Observe`].
#[derive(Clone, Debug, PartialEq)]
pub struct Observe {
    /// The generation that was read.
    pub generation: u32,
    /// Byte offset at which reading began; must equal the current cursor.
    pub from: u64,
    /// Cursor at which reading ended.
    pub to: Cursor,
    /// Digest of the last bytes before `to`, to detect a rewrite later.
    pub tail: TailDigest,
    /// Counts of the range.
    pub counts: Counts,
    /// Time of the first record of the range that has one.
    pub first_at: Option<Timestamp>,
    /// Time of the last record of the range that has one.
    pub last_at: Option<Timestamp>,
    /// Time of the last conversation record of the range that has one.
    pub last_conversation_at: Option<Timestamp>,
    /// Where the session works, once the transcript names it.
    pub place: Option<Place>,
    /// The parent of a subagent, once the transcript names it.
    pub parent: Option<SessionId>,
}

/// Time during which the machine slept; it counts towards no deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// Milliseconds asleep since the [last sign](super::last_sign) of activity.
    pub since_sign_ms: i64,
    /// Milliseconds asleep since the last MCP connection closed; 0 if there is no such hint.
    pub since_disconnect_ms: i64,
}

/// See [`Command::Close`].
#[derive(Clone, Debug, PartialEq)]
pub struct Close {
    /// Which layer asked, and why.
    pub reason: CloseReason,
    /// Hash of a free-text note, which is stored outside of the log.
    pub note: Option<ContentHash>,
    /// True if the session itself asked (its agent still writes a final message).
    pub by_self: bool,
    /// True if the file could not be read to its end: it may hold more than was counted.
    pub unread: bool,
}

/// See [`Command::Complete`].
#[derive(Clone, Debug, PartialEq)]
pub struct Complete {
    /// The job.
    pub effect: EffectId,
    /// The generation it read.
    pub generation: u32,
    /// Byte offset up to which it read.
    pub to: u64,
    /// Hash of the filtered content.
    pub hash: ContentHash,
    /// Version of the filter that produced it.
    pub filter_version: u32,
    /// The stored result; `None` if the content was unchanged.
    pub stored: Option<Stored>,
}

/// What an index job made durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Uuid of the episode.
    pub episode: Uuid,
    /// Hash of the manifest that lists its conversation.
    pub manifest: ContentHash,
    /// Number of items of the conversation.
    pub items: u64,
}
