//! Calls of a model about one session: the request, how the call ended, what was made of the answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::prices::usd;
use baton_protocol::is_zero;

pub use crate::prices::CallTokens;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;
use baton_protocol::named;

/// Advice for when a model was not sent all of a session.
pub const UNSEEN_STEP: &str = "set llm.context_tokens in config.json to what the model really takes at once, then \
                               `baton enrich` it again";

named! {
    /// Which of a session's requests a call makes.
    Ask {
        /// The whole conversation at once.
        Whole = "whole",
        /// One part of a conversation that is too long for one request.
        Part = "part",
        /// Merges answers to parts, step by step, until one answer covers all parts.
        Merge = "merge",
    }
}

impl Ask {
    /// True if the answer makes the episode; `part` is that of [`ModelCall::part`].
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
        /// The answer can be used.
        Good = "good",
        /// The model declined.
        Refused = "refused",
        /// The answer was cut off at its length limit.
        Cut = "cut_off",
        /// The answer does not have the requested form.
        Invalid = "invalid",
        /// Too many requests, or an account that is used up.
        Limited = "rate_limited",
        /// The service reported a failure of its own.
        Unavailable = "unavailable",
        /// No answer came in time.
        TimedOut = "timed_out",
        /// The connection broke while waiting for the answer.
        Broken = "connection_lost",
        /// The response is not one of the API.
        NotUnderstood = "not_understood",
        /// The response is a web page: it came from a proxy or portal, not from a model.
        Page = "web_page",
        /// No connection could be made: nothing was sent.
        Unreachable = "unreachable",
        /// The endpoint does not accept the key, the model or the address.
        Denied = "denied",
        /// The endpoint does not accept the request.
        Rejected = "rejected",
        /// The program ended before the answer was recorded.
        Lost = "lost",
    }
}

impl CallOutcome {
    /// True if the model answered but the answer cannot be used: the request is repeated once, with the reason.
    pub fn is_bad_answer(self) -> bool {
        matches!(self, Self::Refused | Self::Cut | Self::Invalid)
    }

    /// True if nothing is charged for it, whatever was sent.
    pub fn is_free(self) -> bool {
        matches!(
            self,
            Self::Limited | Self::Unavailable | Self::Page | Self::Unreachable | Self::Denied | Self::Rejected
        )
    }
}

named! {
    /// Why this content is not enriched, until it changes or a person asks again; or why a request to enrich it again
    /// ends.
    GaveUp {
        /// The model declined twice.
        Refused = "refused",
        /// Its answer was cut off twice.
        Cut = "cut_off",
        /// Its answer could not be used twice.
        Invalid = "invalid",
        /// The endpoint accepts no request about it.
        Rejected = "rejected",
        /// The stored conversation could not be read.
        Unreadable = "stored_unreadable",
        /// It contains nothing to send to a model.
        Empty = "nothing_said",
        /// It is enriched already, and the model would receive no more than before. Ends only a person's request.
        NoMore = "no_more_to_send",
    }
}

impl GaveUp {
    /// What a person can do about it before running `baton enrich` again.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::Refused => "another model (llm.model) may take it",
            Self::Cut => "raise llm.max_output_tokens, as far as the model allows",
            Self::Invalid => "use a larger model, or a server that enforces a JSON schema (response_format)",
            Self::Rejected => {
                "see what the endpoint says to `baton enrich`; llm.model or llm.context_tokens may be wrong"
            }
            Self::Unreadable => {
                "`baton log verify` tells what is damaged, `baton reindex` stores the conversation again"
            }
            Self::Empty => "nothing to do: session_tracking.filtering lets nothing of it be sent to a model",
            Self::NoMore => UNSEEN_STEP,
        }
    }
}

/// A call, as recorded before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Number of the call, from 1 over the session's life.
    pub id: u32,
    /// The configured name of the model; at most [`MAX_MODEL_CHARS`] characters.
    pub model: String,
    /// Hash of the content that the call is about.
    pub content: ContentHash,
    /// Hash of the request: the same request is not made twice once it has a good answer.
    pub request: ContentHash,
    /// Which of the session's requests it is.
    pub ask: Ask,
    /// Part number from 1 with [`Ask::Part`]; step number from 1 with [`Ask::Merge`], 0 for its last step; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// Number of parts of the conversation; 1 if it is not divided.
    pub parts: u32,
    /// True if the call repeats a request whose answer could not be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Limit of tokens of the answer.
    pub tokens_out: u64,
    /// Highest cost by that estimate, in nanodollars; 0 if no price is known.
    pub nanos: u64,
    /// When the call was recorded.
    pub at: Timestamp,
}

/// Longest recorded model name, in characters.
pub const MAX_MODEL_CHARS: usize = 100;

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// Number of the call.
    pub id: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens, if the endpoint reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<CallTokens>,
    /// Cost in nanodollars; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nanos: Option<u64>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Hash of the checked answer, which is stored beside the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<ContentHash>,
    /// When to try again, after a failure that may be temporary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// When the end was recorded.
    pub at: Timestamp,
}

/// Origin of an enriched episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrichedBy {
    /// Hash of the answer, which is stored beside the conversation.
    pub answer: ContentHash,
    /// The name of the model.
    pub model: String,
    /// Messages, calls and results in the middle of a very long conversation that the model was not sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u64,
    /// Those of them that no model is ever sent, because only a bounded part of a conversation is held. Also 0 for
    /// events recorded before they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_held: u64,
    /// When it was recorded.
    pub at: Timestamp,
}

impl EnrichedBy {
    /// Number of things that were not sent because the model's context is too small; a larger context would include
    /// more.
    pub fn beyond_context(&self) -> u64 {
        self.unseen.saturating_sub(self.not_held)
    }
}

impl fmt::Display for ModelCall {
    /// The form in one line: `call 3 (part 2 of 5)`.
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

impl fmt::Display for ModelAnswer {
    /// One line: how the call ended, after what time, its tokens and its cost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} ended: {}", self.id, self.outcome)?;
        if self.outcome != CallOutcome::Lost {
            write!(f, " after {} ms", self.duration_ms)?;
        }
        if let Some(tokens) = self.tokens {
            write!(f, ", {} tokens read ({} cached), {} written", tokens.input, tokens.cached, tokens.output)?;
        }
        match self.nanos {
            Some(nanos) => write!(f, ", {}", usd(nanos))?,
            None => f.write_str(", cost unknown")?,
        }
        match self.retry_at {
            Some(at) => write!(f, "; next at {at} at the earliest"),
            None => Ok(()),
        }
    }
}
