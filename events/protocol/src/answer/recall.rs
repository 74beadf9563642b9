//! What is known of a question in one answer, and of a project in the order of time.

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `recall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recall {
    /// As which kinds of question it was taken: `latest`, `open`, `preferences`, `decisions`, `failed`, `solved`, `files`;
    /// none: it was only searched for.
    pub took: Vec<String>,
    /// The project that was looked at, if only one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Best first; those of one session are not together.
    pub entries: Vec<RecallEntry>,
    /// What was found and did not fit into the budget.
    pub left_out: u64,
    /// About how many tokens this answer has; never more than the budget.
    pub tokens: u64,
    /// What there is to know of the answer: that nothing is known of what was asked, to what its words narrowed it, how more
    /// is found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Sessions that were indexed for this answer and those still being read.
    pub freshness: Brief,
}

/// How fresh an answer is, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brief {
    /// Sessions that were indexed for this answer.
    pub indexed_now: u64,
    /// Sessions that are still being read and may be missing.
    pub pending: u64,
    /// Whether the asking session has something new that was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_out_asking: bool,
    /// Whether the asking session was looked into as far as it was read before; what it says comes last.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asking_last: bool,
    /// Position in the log that the answer covers.
    pub position: u64,
    /// As for a search: why something may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// As for a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// One line of what is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallEntry {
    /// `session`, `done` (what came of it), `passage`, `note`, `decision`, `fixed`, `failed`, `open`, `next`, `file` or
    /// `fact`.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Whose it is: to be given to `show`.
    pub session_id: String,
    /// The line of its transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Of a fact, of what a fact says as well, and of a note: its uuid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Of a fact or a decision that does not hold any more: since which day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// `model` where only a model says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}

/// Result of `timeline`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The latest first.
    pub days: Vec<Day>,
    /// Where to go on, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A day with the sessions that ended in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Day {
    /// `2026-03-14`, in UTC.
    pub day: String,
    /// The latest first.
    pub sessions: Vec<Past>,
}

/// A session in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Past {
    /// The session.
    pub session_id: String,
    /// The project's directory.
    pub project: Option<String>,
    /// Whose transcript it is.
    pub agent: Option<String>,
    /// Where it stands.
    pub state: String,
    /// When it began, RFC 3339 UTC.
    pub started_at: Option<String>,
    /// When it was last heard of, RFC 3339 UTC.
    pub ended_at: Option<String>,
    /// How long that is, pauses included.
    pub duration_seconds: Option<u64>,
    /// Its title, or what it was for.
    pub title: String,
    /// `done` (nothing is open), `open` (something is) or `failed` (its last failure was not seen to succeed later).
    pub outcome: String,
    /// How many files it changed.
    pub files_changed: u64,
    /// How many commits it made.
    pub commits: u64,
    /// What is open, the first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// How many open ends there are.
    pub open_ends: u64,
}

impl From<&Freshness> for Brief {
    fn from(fresh: &Freshness) -> Self {
        Self {
            indexed_now: fresh.indexed_now,
            pending: fresh.pending,
            left_out_asking: fresh.left_out_asking,
            asking_last: false,
            position: fresh.position,
            note: fresh.note.clone(),
            vectors: fresh.vectors.clone(),
        }
    }
}
