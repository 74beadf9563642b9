//! Results of `forget` and `reindex`.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Result of `forget`: what is removed, or with `undo` what is restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forget {
    /// `success`, or `error` if something was not done. `message` says what; repeating the call continues.
    pub status: String,
    /// True if nothing was changed.
    pub dry_run: bool,
    /// The selected sessions and their subagents' sessions.
    pub sessions: Vec<ForgetRow>,
    /// Sessions removed with them because they hold the same records: forks and copies, with their subagents.
    pub also: Vec<ForgetAlso>,
    /// Such sessions that stay because only the named ones were to be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ForgetAlso>,
    /// For a project: number of notes and facts added to it that are removed for good.
    #[serde(skip_serializing_if = "is_zero")]
    pub notes: u64,
    /// Of these, the ones that were named individually.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub note_ids: Vec<String>,
    /// With `undo`: number of deleted or cleared episodes, notes and facts that can be found again.
    #[serde(skip_serializing_if = "is_zero")]
    pub found_again: u64,
    /// Files of conversations and notes that were deleted, or in a dry run would be. The memory's files are not
    /// counted.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// True if files and bytes describe the present state; there may be more by the time they are deleted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What is outside Baton's home and stays: the agent's own transcripts, exports, backups.
    pub kept_elsewhere: String,
    /// The first of the agent's transcripts that still exist.
    pub transcripts: Vec<String>,
    /// For a project: what happens to sessions that start there later, and how to exclude them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub later: String,
    /// What was done, and what to do next.
    pub message: String,
}

/// A removed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetRow {
    /// The session.
    pub session_id: String,
    /// Its state before.
    pub state: String,
    /// Its directory.
    pub project: Option<String>,
    /// Its transcript.
    pub file_path: Option<String>,
    /// Time of its last conversation record.
    pub last_activity: Option<String>,
    /// Number of messages with text.
    pub message_count: u64,
    /// For a subagent: the session that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
}

/// A session removed with another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetAlso {
    /// The session.
    pub session_id: String,
    /// The reason.
    pub why: String,
    /// Number of records shared with a named one; 0 for a subagent.
    pub shared: u64,
    /// Its directory.
    pub project: Option<String>,
}

/// Result of `reindex`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reindex {
    /// `success`, or `error` if some could not be rebuilt.
    pub status: String,
    /// Selected sessions.
    pub sessions: u64,
    /// Of these, sessions with a new episode.
    pub reindexed: u64,
    /// Of these, sessions whose episode stayed the same.
    pub unchanged: u64,
    /// Of these, sessions that must not be touched, or have nothing to rebuild from.
    pub skipped: u64,
    /// Of these, sessions that could not be read or stored.
    pub failures: u64,
    /// The first of the latter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// What was done, and what to do next.
    pub message: String,
}
