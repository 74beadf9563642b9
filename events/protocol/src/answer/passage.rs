//! The surroundings of one line of a session.

use serde::{Deserialize, Serialize};

/// Result of `get_passage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Passage {
    /// The session, or `memory:` and the uuid of a note.
    pub session_id: String,
    /// Its current episode, or the note's.
    pub episode_uuid: Option<String>,
    /// The content, in transcript order.
    pub said: Vec<PassagePart>,
    /// The line from which to read backwards, if anything precedes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The line from which to read on, if anything follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Approximate number of tokens of the answer.
    pub tokens: u64,
    /// Why there is nothing, or that the line belongs to another message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A part of a message: a text, or a tool call with its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassagePart {
    /// Its line in the transcript.
    pub line: u64,
    /// `user`, `assistant`, `tool`, `thinking` or `harness`.
    pub role: String,
    /// When its message began, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The text.
    pub text: String,
    /// Number of characters left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars_left_out: Option<u64>,
}
