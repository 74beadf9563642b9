//! What stands around one line of a session.

use serde::{Deserialize, Serialize};

/// Result of `get_passage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Passage {
    /// The session, or `memory:` and the uuid of a note.
    pub session_id: String,
    /// Its current episode, or the note's.
    pub episode_uuid: Option<String>,
    /// What was said, in the order of the transcript.
    pub said: Vec<Said>,
    /// The line from which to read what stands before, if anything does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The line from which to read on, if anything follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// About how many tokens the answer takes.
    pub tokens: u64,
    /// Why there is nothing, or that the line is another's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A part of a message: a text, or a tool with what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    /// Its line in the transcript.
    pub line: u64,
    /// `user`, `assistant`, `tool`, `thinking` or `harness`.
    pub role: String,
    /// When its message began, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The query text.
    pub text: String,
    /// Characters of it that are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars_left_out: Option<u64>,
}
