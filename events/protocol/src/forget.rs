//! What a person asks of what is stored: to be forgotten, or made anew.

use serde::{Deserialize, Serialize};

/// Arguments of `forget`: either sessions, or a project, a date, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForgetParams {
    /// Ids, or unique prefixes of them.
    pub sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that fits one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions in which nothing was said since then, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// Leave forks and copies of them alone.
    pub only: bool,
    /// Say what would go, and change nothing.
    pub dry_run: bool,
    /// Lift the tombstones instead, and what was deleted or cleared.
    pub undo: bool,
    /// With `undo`: everything.
    pub all: bool,
    /// Besides the sessions that are named: what was added to this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes_of: Option<String>,
    /// Identity of this wish, so that asking again gives the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `reindex`; without any, what another filter made is made anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReindexParams {
    /// Ids, or unique prefixes of them.
    pub sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that fits one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// All there are.
    pub all: bool,
}
