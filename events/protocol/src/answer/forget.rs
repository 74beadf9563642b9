//! What forgetting and making anew come to.

use serde::{Deserialize, Serialize};

use super::is_zero;

/// Result of `forget`: what goes, or with `undo` what comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forget {
    /// `success`, or `error` when something was not done; `message` says what, and to call again goes on with it.
    pub status: String,
    /// Whether it was only looked what would go.
    pub dry_run: bool,
    /// The sessions that were meant, with those of their subagents.
    pub sessions: Vec<ForgetRow>,
    /// Sessions that go with them because they hold the same records: forks and copies, with their subagents.
    pub also: Vec<ForgetAlso>,
    /// Such sessions, where only those that were named were to go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ForgetAlso>,
    /// Of a project: how many notes and facts go that were added to it, for good.
    #[serde(skip_serializing_if = "is_zero")]
    pub notes: u64,
    /// Of these, what was named one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub note_ids: Vec<String>,
    /// With `undo`: how many episodes, notes and facts that were deleted or cleared are found again.
    #[serde(skip_serializing_if = "is_zero")]
    pub found_again: u64,
    /// Files of conversations and notes that were deleted; where it was only looked, that are there to be deleted. What the
    /// memory holds is not counted.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether files and bytes are what is there now: by the time they go it may be more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What is outside of Baton's home, and is not touched: the agent's own transcripts, exports, backups.
    pub kept_elsewhere: String,
    /// The agent's transcripts that are still there, the first of them.
    pub transcripts: Vec<String>,
    /// Of a project: what becomes of sessions that begin there later, and how to keep them out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub later: String,
    /// What was done, and what to do next.
    pub message: String,
}

/// A session that goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetRow {
    /// The session.
    pub session_id: String,
    /// Its state before.
    pub state: String,
    /// Where it works.
    pub project: Option<String>,
    /// Its transcript.
    pub file_path: Option<String>,
    /// The last conversation record's time.
    pub last_activity: Option<String>,
    /// Messages with text.
    pub message_count: u64,
    /// Of a subagent: whose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
}

/// A session that goes with another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetAlso {
    /// The session.
    pub session_id: String,
    /// The reason.
    pub why: String,
    /// How many records it has in common with one that was named; 0 for a subagent.
    pub shared: u64,
    /// Where it works.
    pub project: Option<String>,
}

/// Result of `reindex`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reindex {
    /// `success`, or `error` when some could not be made anew.
    pub status: String,
    /// Sessions that were chosen.
    pub sessions: u64,
    /// Those of them whose episode is another now.
    pub reindexed: u64,
    /// Those that came to the same.
    pub unchanged: u64,
    /// Those that may not be touched, or have nothing that could be made anew.
    pub skipped: u64,
    /// Those that could not be read or stored.
    pub failures: u64,
    /// The first of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// What was done, and what to do next.
    pub message: String,
}
