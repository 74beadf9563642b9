//! Arguments of the calls that say which sessions are read, and index them.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `unindexed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UnindexedParams {
    /// Only those of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether sessions that nobody works in any more are listed too.
    pub include_inactive: bool,
}

impl Default for UnindexedParams {
    fn default() -> Self {
        Self { project: None, include_inactive: true }
    }
}

/// Arguments of `sync`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyncParams {
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions with activity in so many days; 0 and none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// At most so many, newest first; 0 and none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u32>,
    /// Look and count only.
    pub dry_run: bool,
}

/// Arguments of `tracking`: the switch to set, or none to show it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrackingParams {
    /// Sets the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The project whose switch is meant; none: the global one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Arguments of `track`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrackParams {
    /// An id or a unique prefix of one; none: the caller's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The group it belongs to from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether to track it although a switch says no.
    pub force: bool,
    /// Who asks.
    pub caller: Caller,
}

/// Arguments of `untrack`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntrackParams {
    /// An id or a unique prefix of one.
    pub session: String,
}
