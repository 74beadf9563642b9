//! Arguments of `replay`.

use serde::{Deserialize, Serialize};

/// Arguments of `replay`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayParams {
    /// A position of the log; beyond its end, or without it, the last one.
    pub at: Option<u64>,
    /// The session whose events are named as neighbours: its id or the beginning of it. Without it, the session of the
    /// event.
    pub session: Option<String>,
    /// Most sessions of the answer; 0 for the usual number.
    pub limit: u32,
}
