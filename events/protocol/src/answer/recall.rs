//! Results of `recall` and `timeline`.

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `recall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recall {
    /// The kinds of question it was understood as: `latest`, `open`, `preferences`, `decisions`, `failed`, `solved`,
    /// `files`. Empty if it was only searched for.
    pub took: Vec<String>,
    /// The project searched, if only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Best first. Entries of one session are not grouped.
    pub answer: Vec<RecallEntry>,
    /// True if nothing is claimed: what was found has too little of the question. `nearest` then names the sessions.
    pub abstained: bool,
    /// The sessions nearest to the question, if nothing is claimed.
    pub nearest: Vec<NearSession>,
    /// Number of results that did not fit into the budget.
    pub left_out: u64,
    /// Approximate number of tokens of this answer; never more than the budget.
    pub tokens: u64,
    /// Remarks on the answer: that nothing is known, how the question narrowed it, how to find more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How current and complete the answer is.
    pub freshness: BriefFreshness,
}

/// A session near to a question that it does not answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NearSession {
    /// Its id, to be passed to `show`.
    pub session_id: String,
    /// Its title.
    pub title: String,
    /// Who wrote it, if it is another's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<super::Author>,
    /// The day of its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The id of a later session that may have replaced what this one says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
    /// What was said there that has most of the question, the most telling first; of the first session also what failed and
    /// how it ended.
    pub said: Vec<NearLine>,
    /// The transcript line to begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A line of what is told of a session that is near.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NearLine {
    /// The text, on one line.
    pub text: String,
    /// The transcript line that says it.
    pub line: u64,
}

/// How current and complete an answer is, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BriefFreshness {
    /// Sessions indexed for this answer.
    pub indexed_now: u64,
    /// Sessions that are still being read and may be missing.
    pub pending: u64,
    /// True if new content of the caller's own session was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_out_asking: bool,
    /// True if the caller's own session was searched as far as it was already read. Its entries come last.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asking_last: bool,
    /// Position in the log that the answer covers.
    pub position: u64,
    /// As in [`Freshness::note`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// As in [`Freshness::vectors`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallEntry {
    /// `session`, `done` (a result), `answer` (a conclusion), `passage`, `note`, `decision`, `fixed`, `failed`, `open`, `next`, `file` or
    /// `fact`.
    pub kind: String,
    /// The text.
    pub text: String,
    /// Its session, to be passed to `show`.
    pub session_id: String,
    /// Its transcript line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Its time, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Its day, in the asker's time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The uuid of a fact or a note, or of the fact that says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// For a fact or a decision that no longer holds: the day it ended, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The id of a later session that may have replaced what its session says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
    /// `model` if only a model says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<super::Author>,
}

/// Result of `timeline`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// Latest first.
    pub days: Vec<Day>,
    /// Pass it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A day and the sessions that ended on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Day {
    /// `2026-03-14`, in the asker's time zone.
    pub day: String,
    /// Latest first.
    pub sessions: Vec<TimelineSession>,
}

/// A session in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineSession {
    /// The session.
    pub session_id: String,
    /// The project's directory.
    pub project: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// Its state.
    pub state: String,
    /// True if it has not ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// When it started, RFC 3339 UTC.
    pub started_at: Option<String>,
    /// Its last activity, RFC 3339 UTC.
    pub ended_at: Option<String>,
    /// The time between the two, pauses included.
    pub duration_seconds: Option<u64>,
    /// Its title, or its purpose.
    pub title: String,
    /// `done` (nothing is open), `open` (something is) or `failed` (its last failure was not followed by a success).
    pub outcome: String,
    /// Number of files changed.
    pub files_changed: u64,
    /// Number of commits made.
    pub commits: u64,
    /// The first few open ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Number of open ends.
    pub open_ends: u64,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<super::Author>,
}

impl From<&Freshness> for BriefFreshness {
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
