//! Result of `replay`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{HistoryEvent, ReplayedSession};

/// The sessions as of a position of the log, and the event there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replay {
    /// The position.
    pub position: u64,
    /// The last position of the log.
    pub last: u64,
    /// The event there; `null` in an empty log.
    pub event: Option<HistoryEvent>,
    /// The session whose events are named below.
    pub session_id: Option<String>,
    /// The position of its event before this position, if any.
    pub previous: Option<u64>,
    /// The position of its event after this position, if any.
    pub next: Option<u64>,
    /// The position of its last change of state before this position, if any.
    pub previous_change: Option<u64>,
    /// The position of its next change of state after this position, if any.
    pub next_change: Option<u64>,
    /// Sessions as of this position, the one of the event first, then those with the latest records.
    pub sessions: Vec<ReplayedSession>,
    /// Number of sessions that were left out.
    pub more: u64,
    /// Number of sessions by state.
    pub states: BTreeMap<String, u64>,
}
