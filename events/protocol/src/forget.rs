//! Arguments of the calls that forget or rebuild stored data.

use serde::{Deserialize, Serialize};

/// Arguments of `forget`: either sessions, or a project, a date, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForgetParams {
    /// Session ids, or unique prefixes of them.
    pub sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that matches one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions without messages since then, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// True to leave their forks and copies alone.
    pub only: bool,
    /// True to report what would be forgotten and change nothing.
    pub dry_run: bool,
    /// True to lift tombstones instead, and restore what was deleted or cleared.
    pub undo: bool,
    /// With `undo`: restore everything.
    pub all: bool,
    /// Besides the named sessions: the notes and facts added to this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes_of: Option<String>,
    /// Idempotency key: a repeated request with the same key gets the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `reindex`. Without any, everything made by another filter is rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReindexParams {
    /// Session ids, or unique prefixes of them.
    pub sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that matches one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True for all sessions.
    pub all: bool,
}
