//! Arguments of the calls that control which sessions are read and indexed.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `unindexed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UnindexedParams {
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True to include inactive sessions.
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
    /// Only sessions active within this many days; 0 or absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Most sessions, newest first; 0 or absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u32>,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// Arguments of `tracking`. Without a switch to set, the current one is returned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrackingParams {
    /// The new value of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The project whose switch is set; absent for the global one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether the file with sessions that an agent keeps in the project's directory is read; sets no switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stores: Option<bool>,
}

/// Arguments of `track`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrackParams {
    /// A session id or a unique prefix of one; absent for the caller's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The group to put it into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// True to track it even if a switch is off.
    pub force: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `untrack`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntrackParams {
    /// A session id or a unique prefix of one.
    pub session: String,
}

/// Arguments of `tracking/status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrackingStatusParams {
    /// A session id or a unique prefix of one; absent for the switch and the open sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}
