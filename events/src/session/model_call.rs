//! Calls of a model about one session: which request, how it ended, what was made of the answer.

use std::fmt;

use super::reason::named;
pub use crate::prices::CallTokens;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

/// The next step where a model was not sent all of a session.
pub const UNSEEN_STEP: &str = "set llm.context_tokens in config.json to what the model really takes at once, then \
                               `baton enrich` it again";

named! {
    /// Which of the requests of one session a call makes.
    Ask {
        /// The whole conversation at once.
        Whole = "whole",
        /// A part of a long one.
        Part = "part",
        /// Answers to parts, to be made one: step by step, until it is that to all parts.
        Merge = "merge",
    }
}

impl Ask {
    /// Whether the answer makes the episode; `part` is that of [`ModelCall::part`].
    pub fn is_last(self, part: u32) -> bool {
        match self {
            Self::Whole => true,
            Self::Part => false,
            Self::Merge => part == 0,
        }
    }
}

named! {
    /// How a call of a model ended.
    CallOutcome {
        /// With an answer that can be used.
        Good = "good",
        /// The model declined.
        Refused = "refused",
        /// The answer was cut off at the bound of its length.
        Cut = "cut_off",
        /// The answer is not what was asked for.
        Invalid = "invalid",
        /// Too many requests, or an account that is used up.
        Limited = "rate_limited",
        /// The service failed.
        Unavailable = "unavailable",
        /// No answer in time.
        TimedOut = "timed_out",
        /// The connection broke while an answer was waited for.
        Broken = "connection_lost",
        /// What came is no answer of the API.
        NotUnderstood = "not_understood",
        /// What came is a page for browsers: whoever sent it has asked no model.
        Page = "web_page",
        /// There was no connection: nothing was sent.
        Unreachable = "unreachable",
        /// The key, the model or the address is not accepted.
        Denied = "denied",
        /// The request itself is not accepted.
        Rejected = "rejected",
        /// The program ended before the answer was recorded.
        Lost = "lost",
    }
}

impl CallOutcome {
    /// Whether the model answered, and the answer cannot be used: it is asked once more and told why.
    pub fn is_bad_answer(self) -> bool {
        matches!(self, Self::Refused | Self::Cut | Self::Invalid)
    }

    /// Whether nothing is charged for it, whatever was sent.
    pub fn is_free(self) -> bool {
        matches!(
            self,
            Self::Limited | Self::Unavailable | Self::Page | Self::Unreachable | Self::Denied | Self::Rejected
        )
    }
}

named! {
    /// Why a model's part is left out, until the content changes or a person asks again; or why a wish to ask again ends.
    GaveUp {
        /// The model declined twice.
        Refused = "refused",
        /// Its answer was cut off twice.
        Cut = "cut_off",
        /// Its answer could not be used twice.
        Invalid = "invalid",
        /// The endpoint accepts no request for it.
        Rejected = "rejected",
        /// What was stored of the conversation could not be read.
        Unreadable = "stored_unreadable",
        /// There is nothing in it that a model could be told.
        Empty = "nothing_said",
        /// It is enriched, and asked again a model would be sent no more of it than it was: nothing but a wish ends by it.
        NoMore = "no_more_to_send",
    }
}

impl GaveUp {
    /// What a person may do about it, then to ask again with `baton enrich`.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::Refused => "another model (llm.model) may take it",
            Self::Cut => "set llm.max_output_tokens to more, as far as the model goes",
            Self::Invalid => "take a larger model, or a server that holds answers to a JSON schema (response_format)",
            Self::Rejected => {
                "see what the endpoint says to `baton enrich`; llm.model or llm.context_tokens may be wrong"
            }
            Self::Unreadable => {
                "`baton log verify` tells what is damaged, `baton reindex` stores the conversation anew"
            }
            Self::Empty => "nothing helps: there is nothing in it that session_tracking.filtering lets a model be told",
            Self::NoMore => UNSEEN_STEP,
        }
    }
}

/// A call as it is recorded before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// Which of the session's calls, from 1 over its life.
    pub id: u32,
    /// The model that is asked, as it is configured; at most [`MAX_MODEL_CHARS`] characters.
    pub model: String,
    /// Hash of the content that it is asked about.
    pub content: ContentHash,
    /// Hash of the request: the same request is not made twice once it has a good answer.
    pub request: ContentHash,
    /// Which request of the session's.
    pub ask: Ask,
    /// With [`Ask::Part`] which part, from 1; with [`Ask::Merge`] which step, from 1, or 0 for the last one; else 0.
    pub part: u32,
    /// Into how many parts the conversation is divided; 1 for a whole one.
    pub parts: u32,
    /// Whether it asks once more, after an answer that could not be used.
    pub again: bool,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Most tokens of the answer.
    pub tokens_out: u64,
    /// What it will cost at most by that estimate, in thousandths of a millionth of a US dollar. 0 where no price is known.
    pub nanos: u64,
    /// When.
    pub at: Timestamp,
}

/// Longest name of a model that is recorded, in characters.
pub const MAX_MODEL_CHARS: usize = 100;

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The call.
    pub id: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens, where they were reported.
    pub tokens: Option<CallTokens>,
    /// What it cost, in thousandths of a millionth of a US dollar; `None` where that is unknown.
    pub nanos: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Hash of the answer, checked, as it is stored beside the conversation.
    pub answer: Option<ContentHash>,
    /// When to try again, after a failure that may pass.
    pub retry_at: Option<Timestamp>,
    /// When.
    pub at: Timestamp,
}

/// What a model has made of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrichedBy {
    /// Hash of the answer, as it is stored beside the conversation.
    pub answer: ContentHash,
    /// The model.
    pub model: String,
    /// Messages, calls and results in the middle of a very long conversation that the model was not sent.
    pub unseen: u64,
    /// Of these, those that no model is ever sent, for there is a bound to what is held of a conversation. 0 also where it was
    /// recorded before they counted.
    pub not_held: u64,
    /// When.
    pub at: Timestamp,
}

impl EnrichedBy {
    /// How much of the conversation the model was not sent because its context is too small for it: with a larger one more of
    /// it is sent.
    pub fn for_want_of_context(&self) -> u64 {
        self.unseen.saturating_sub(self.not_held)
    }
}

impl fmt::Display for ModelCall {
    /// As one line names it: `call 3 (part 2 of 5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.id)?;
        match self.ask {
            Ask::Whole => Ok(()),
            Ask::Part => write!(f, " (part {} of {})", self.part, self.parts),
            Ask::Merge if self.part > 0 => write!(f, " (step {} of merging {} parts)", self.part, self.parts),
            Ask::Merge => write!(f, " (merging {} parts)", self.parts),
        }
    }
}
