//! Wishes: what somebody would like to happen to a session. A wish may be refused.
//!
//! # Decisions
//!
//! - `Close` and `Wake` carry whether the file could not be read: otherwise an unreadable session would look
//!   like an empty one.

use uuid::Uuid;

use super::event::{Agent, Counts, EffectId, FileIdentity, Kind, Place, TailDigest};
use super::model_call::{Ask, CallOutcome, CallTokens, GaveUp};
use super::reason::{CloseReason, FailureWhy};
use super::signal::Signal;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Cursor;

/// A wish. Whatever a rule needs to know from the world comes inside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A transcript of this session was found on disk.
    Discover(Discover),
    /// Whole lines were read from where reading stood. Counts only, no text.
    Observe(Box<Observe>),
    /// The file no longer continues what was read: start again from byte 0 as a new generation.
    Rewrite {
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// The transcript is not there any more.
    Vanish,
    /// Some layer noticed, or was told, that the session is over or that its content is wanted now.
    Close(Close),
    /// Time has passed: apply whatever rule is due.
    Wake {
        /// As in [`Close::unread`].
        unread: bool,
        /// How much of the silence the machine has slept.
        asleep: Asleep,
    },
    /// An index job has finished.
    Complete(Complete),
    /// An index job could not finish.
    Fail {
        /// The job.
        effect: EffectId,
        /// Why.
        why: FailureWhy,
    },
    /// Make what is stored anew, although nothing was appended: by another filter, or by today's rules of redaction.
    Reindex,
    /// Lift a stop.
    Track {
        /// Read and index it also while a switch of the configuration says no.
        force: bool,
    },
    /// Never read, never index, until tracked again. Takes back what was forced.
    Untrack,
    /// Put the session in a group of its own name.
    Assign {
        /// The group.
        group: String,
    },
    /// Forget everything about the session and leave a tombstone.
    Forget,
    /// Lift a tombstone. Only a person may.
    Restore {
        /// Whether the transcript is there to be read again.
        file_exists: bool,
    },
    /// A hook or a connection says something. May come before the transcript is there.
    Signal(Signal),
    /// The session is told of the one before it; one session once.
    Offer {
        /// The episode it is told of.
        episode: Uuid,
        /// That episode's session.
        from: SessionId,
    },
    /// Somebody typed a prompt in the session that was told.
    Claim,
    /// Find and show this episode no more, until the content is another.
    DeleteEpisode {
        /// Which. Another one than the current is none.
        episode: Uuid,
    },
    /// Find and show this episode again.
    RestoreEpisode {
        /// Which. Another one than the current is none.
        episode: Uuid,
        /// Whether its group was cleared since, which a session does not know.
        is_cleared: bool,
    },
    /// What is stored was redacted again: have what changed stand in its place. What is no longer current is none.
    Redact(Box<Redact>),
    /// Somebody wants a model to enrich the episode, now. Of content that a model has
    /// enriched, and was sent all of, this is none.
    Enrich,
    /// A model is about to be asked. Refused for content that is not the episode's, or while another call runs.
    CallModel(Box<CallModel>),
    /// A call has ended.
    TakeAnswer(Box<TakeAnswer>),
    /// The call that was begun is nobody's any more: the program that made it has ended. Another one is none.
    LoseCall {
        /// The call, by its number in the event that began it.
        id: u32,
    },
    /// A model cannot be asked for this content, for a reason that no wait removes.
    GiveUpEnrichment {
        /// The content.
        content: ContentHash,
        /// Why.
        why: GaveUp,
    },
}

/// See [`Command::Redact`].
#[derive(Clone, Debug, PartialEq)]
pub struct Redact {
    /// The conversation, where it changed.
    pub conversation: Option<RedactedConversation>,
    /// Notes and answers of models that changed, each with what stands in its place.
    pub notes: Vec<(ContentHash, ContentHash)>,
}

/// See [`Redact::conversation`].
#[derive(Clone, Debug, PartialEq)]
pub struct RedactedConversation {
    /// The manifest of what was redacted.
    pub of: ContentHash,
    /// Hash of the content as it is now.
    pub hash: ContentHash,
    /// What was made durable.
    pub stored: Stored,
}

/// See [`Command::CallModel`]. The fields are those of [`ModelCall`](super::ModelCall).
#[derive(Clone, Debug, PartialEq)]
pub struct CallModel {
    /// The model; cut to its bound.
    pub model: String,
    /// Hash of the content that it is asked about.
    pub content: ContentHash,
    /// Hash of the request.
    pub request: ContentHash,
    /// Which request of the session's.
    pub ask: Ask,
    /// With [`Ask::Part`] which part, from 1; else 0.
    pub part: u32,
    /// Into how many parts the conversation is divided.
    pub parts: u32,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Most tokens of the answer.
    pub tokens_out: u64,
    /// What it will cost at most, in thousandths of a millionth of a US dollar.
    pub nanos: u64,
}

/// See [`Command::TakeAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub struct TakeAnswer {
    /// The call, by its number in the event that began it.
    pub id: u32,
    /// How it ended.
    pub end: CallEnd,
    /// Tokens, where they were reported.
    pub tokens: Option<CallTokens>,
    /// What it cost, in thousandths of a millionth of a US dollar; `None` where that is unknown. What is
    /// [free](CallOutcome::is_free) and has nothing reported counts as 0.
    pub nanos: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEnd {
    /// With an answer that was checked and is stored beside the conversation.
    Good {
        /// Hash of what is stored.
        answer: ContentHash,
        /// Facts in it that join the graph.
        facts: u32,
        /// What it claimed of lines that do not exist; dropped.
        dropped: u32,
        /// Messages, calls and results that no request has told.
        unseen: u64,
        /// Of these, those that none could tell, for there is a bound to what is held of a conversation.
        not_held: u64,
    },
    /// Without one.
    Failed {
        /// How.
        outcome: CallOutcome,
        /// How long the endpoint asks to wait, bounded by the caller, in milliseconds.
        retry_after_ms: Option<i64>,
    },
}

/// See [`Command::Discover`].
#[derive(Clone, Debug, PartialEq)]
pub struct Discover {
    /// Which agent writes it.
    pub agent: Agent,
    /// Absolute path of the transcript.
    pub path: String,
    /// The file behind the path.
    pub identity: FileIdentity,
    /// A session of its own, or a subagent of one.
    pub kind: Kind,
    /// For a known session found at another path: whether that file takes over (the old one is gone, or this one is
    /// longer and begins with the same bytes).
    pub takes_over: bool,
    /// When the file was last written, where that is known: a session whose transcript says no time was left then.
    pub written_at: Option<Timestamp>,
}

/// See [`Command::Observe`].
#[derive(Clone, Debug, PartialEq)]
pub struct Observe {
    /// The generation that was read.
    pub generation: u32,
    /// Byte offset where this reading began; must be where the last one ended.
    pub from: u64,
    /// Where it ended, and what is needed to go on from there.
    pub to: Cursor,
    /// Digest of the last bytes before `to`, to notice a rewrite later.
    pub tail: TailDigest,
    /// What was in the range.
    pub counts: Counts,
    /// Time of the first record of the range that has one.
    pub first_at: Option<Timestamp>,
    /// Time of the last record of the range that has one.
    pub last_at: Option<Timestamp>,
    /// Time of the last conversation record of the range that has one.
    pub last_conversation_at: Option<Timestamp>,
    /// Where the session works, once the transcript has said so.
    pub place: Option<Place>,
    /// The parent of a subagent, once the transcript has said so.
    pub parent: Option<SessionId>,
}

/// See [`Command::Wake`]. Time asleep counts towards no deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// Milliseconds since the [last sign](super::last_sign) of work in which the machine slept.
    pub since_sign_ms: i64,
    /// Milliseconds since the last MCP connection closed in which it slept; 0 without such a hint.
    pub since_disconnect_ms: i64,
}

/// See [`Command::Close`].
#[derive(Clone, Debug, PartialEq)]
pub struct Close {
    /// Which layer, and why.
    pub reason: CloseReason,
    /// Hash of a free-text note, whose text is stored outside the log.
    pub note: Option<ContentHash>,
    /// Whether the session itself asked (its agent will still write its last words).
    pub by_self: bool,
    /// Whether the file could not be read to its end just now: it may hold more than was counted.
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
    /// The episode that was stored; `None` when the content was found unchanged.
    pub stored: Option<Stored>,
}

/// What an index job made durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The episode.
    pub episode: Uuid,
    /// Name of the manifest that lists its conversation.
    pub manifest: ContentHash,
    /// How many items the conversation has.
    pub items: u64,
}
