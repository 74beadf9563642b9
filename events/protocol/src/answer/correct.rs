//! Result of `correct`.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// What can be corrected of a session, as it stands after the call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Correct {
    /// The session.
    pub session_id: String,
    /// What was changed, or how to correct something.
    pub message: String,
    /// Number of corrections that were recorded; 0 if all stood already.
    pub changed: u64,
    /// The session's title.
    pub title: String,
    /// `person` if a person gave the title. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_said_by: Option<String>,
    /// The entries, corrected or not, numbered from 1.
    pub entries: Vec<CorrectEntry>,
    /// Number of earlier corrections whose entries the conversation no longer has. Absent if zero.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmatched: u64,
}

/// An entry that can be corrected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CorrectEntry {
    /// Its number in this list.
    pub number: u64,
    /// `decision`, `fix` or `open`.
    pub kind: String,
    /// Transcript line, from 1.
    pub line: u64,
    /// RFC 3339 UTC.
    pub at: Option<String>,
    /// The text.
    pub text: String,
    /// What a person says of it: `wrong`, `superseded`, `done` or `not_a_fix`. Absent if it is not corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}
