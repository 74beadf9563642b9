//! Arguments of the call that corrects what is told of a session.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `correct`. An entry is named by its number in the list (`3`) or by its transcript line (`L120`). Without
/// a correction, the entries are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorrectParams {
    /// A session id or a unique prefix of one; absent for the caller's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Decisions that are wrong.
    pub wrong: Vec<String>,
    /// Decisions that no longer hold.
    pub superseded: Vec<String>,
    /// Open items and next steps that are done.
    pub done: Vec<String>,
    /// Resolutions that resolved nothing.
    pub not_a_fix: Vec<String>,
    /// Corrected entries, `title` or `all`, whose corrections are taken back.
    pub undo: Vec<String>,
    /// The caller.
    pub caller: Caller,
}
