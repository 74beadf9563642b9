//! Arguments of the calls that read and verify the event log.

use serde::{Deserialize, Serialize};

/// Arguments of `log/read`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogReadParams {
    /// The first record to return, from 1: its position, or with `session` its number in that session's history.
    pub from: u64,
    /// Instead of `from`: this many records from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// Most records. The answer may have fewer, and has none only at the end of the log.
    pub limit: u32,
    /// Only records of this session: a session id or a unique prefix of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long to wait for the next record if there is none yet, in milliseconds. The daemon may return none earlier.
    pub wait_ms: u64,
    /// True to list the forgotten sessions that were put in a group, so that clients can hide the group's name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
}

impl Default for LogReadParams {
    fn default() -> Self {
        Self { from: 1, last: None, limit: 256, session: None, wait_ms: 0, forgotten: false }
    }
}

/// Arguments of `log/verify`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyParams {
    /// True to skip the memory, whose rebuild takes longest.
    #[serde(default)]
    pub quick: bool,
}
