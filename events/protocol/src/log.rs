//! Arguments of the calls that read and verify the event log.

use serde::{Deserialize, Serialize};

/// Arguments of `log/read`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogReadParams {
    /// The first record that is wanted, from 1: its position, or with `session` its place in that session's own history.
    pub from: u64,
    /// Instead of `from`: so many from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// At most so many; the answer may have fewer, and has none only at the end.
    pub limit: u32,
    /// Only records of this session: an id or a unique prefix of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long to wait for a record where there is none yet, in milliseconds. The daemon may answer with none earlier.
    pub wait_ms: u64,
    /// Whether to name the sessions of which no group is told.
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
    /// Whether the memory is left out: building one anew takes longest.
    #[serde(default)]
    pub quick: bool,
}
