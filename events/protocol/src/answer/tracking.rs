//! Results of the calls that control which sessions are read and indexed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Result of `unindexed`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unindexed {
    /// `success`.
    pub status: String,
    /// Number of sessions.
    pub count: u64,
    /// Latest activity first.
    pub sessions: Vec<UnindexedRow>,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A session that a query would index.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UnindexedRow {
    /// The session.
    pub session_id: String,
    /// Its transcript.
    pub file_path: Option<String>,
    /// The project's directory.
    pub project: Option<String>,
    /// As in [`Row`](super::Row).
    pub state: String,
    /// RFC 3339 UTC.
    pub last_activity: Option<String>,
    /// As in [`Row`](super::Row).
    pub message_count: u64,
    /// For a subagent's session, the session that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
}

/// Result of `sync`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sync {
    /// Sessions in the range.
    pub sessions: u64,
    /// Of these, sessions that are not indexed, or have grown since.
    pub would_index: u64,
    /// Of these, sessions indexed by this call.
    pub indexed: u64,
    /// Sessions of their subagents that were or would be indexed with them. Not counted above.
    pub subagents: u64,
    /// Estimated tokens of the transcripts that were or would be indexed.
    pub tokens_raw: u64,
    /// Estimated tokens that the filter leaves of them.
    pub tokens_filtered: u64,
    /// Least cost of a summary of each by the default model, in US dollars. `enrich_cost_estimate` is more precise.
    pub llm_cost_estimate: f64,
    /// In a dry run: sessions of the range that no model has enriched, indexed or not.
    #[serde(skip_serializing_if = "is_zero")]
    pub would_enrich: u64,
    /// Most that enriching these with `enrich_model` would cost, in US dollars. Absent if its price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrich_cost_estimate: Option<f64>,
    /// The model that would be asked: the configured one, or else the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub enrich_model: String,
    /// The first few sessions that could not be read or stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Number of these sessions.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u64,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Result of `tracking`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tracking {
    /// The global switch.
    pub global_enabled: bool,
    /// Number of listed sessions.
    pub active_sessions: u64,
    /// Tracked sessions that are open.
    pub sessions: Vec<TrackedSession>,
    /// Switches of individual projects, by path or glob.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub projects: BTreeMap<String, bool>,
    /// Projects that are never read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// An open session that is tracked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrackedSession {
    /// The session.
    pub session_id: String,
    /// The project's directory.
    pub project_root: Option<String>,
    /// RFC 3339 UTC.
    pub last_activity: Option<String>,
}

/// Result of `track` and `untrack`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Track {
    /// `success` or `error`.
    pub status: String,
    /// The session, if it could be determined.
    pub session_id: Option<String>,
    /// What happened and what to do next.
    pub message: String,
}
