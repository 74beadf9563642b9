//! Results of what hooks call, and of what is told about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Result of `hook`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// What became of it: `recorded`, `known` (the same call was taken before), `accepted` (activity), `ignored`.
    pub status: String,
    /// Why it was ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the agent is to be told, for hooks that may say something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Result of `hook/stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookStats {
    /// By the event's name.
    pub events: BTreeMap<String, HookEventStats>,
    /// Calls that were ignored, by reason.
    pub ignored: BTreeMap<String, u64>,
    /// Signals that wait in the spool.
    pub spooled: u64,
    /// Signals that were lost: the agent named no session in time, or the spool had no room.
    pub dropped: u64,
    /// Files of the spool that could not be read, and were put aside.
    pub unreadable: u64,
    /// Since when is counted, RFC 3339 UTC.
    pub since: String,
    /// The last signal of a hook that the log has, RFC 3339 UTC: also from before calls were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_recorded_at: Option<String>,
}

/// What `status` says of hooks; `hook/stats` says more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookSummary {
    /// Whether anything comes of them.
    pub enabled: bool,
    /// Calls that came, by socket or spool, since they are counted.
    pub calls: u64,
    /// MCP servers of agents that hold a connection.
    pub present: u64,
    /// When the last one was called, RFC 3339 UTC.
    pub last_at: Option<String>,
    /// Calls that were ignored, by reason.
    pub ignored: BTreeMap<String, u64>,
    /// Signals that wait in the spool.
    pub spooled: u64,
    /// Signals that were lost: the agent named no session in time, or the spool had no room.
    pub dropped: u64,
}

/// One event's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookEventStats {
    /// Calls that came, by socket or spool.
    pub calls: u64,
    /// Of these: taken from the spool, by why they were there.
    pub failures: BTreeMap<String, u64>,
    /// Microseconds from the client's start to its answer, or to where it gave up waiting for one, over the last 1,000
    /// calls that met a daemon; `null` while there is none.
    pub p50_us: Option<u64>,
    /// As `p50_us`.
    pub p95_us: Option<u64>,
    /// As `p50_us`.
    pub p99_us: Option<u64>,
    /// When the last one was called, RFC 3339 UTC.
    pub last_at: Option<String>,
}

/// Result of `handoff`, of the tool `get_handoff`, and of `baton handoff --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handoff {
    /// `Handoff of …`, or why there is none.
    pub message: String,
    /// The project.
    pub project: Option<String>,
    /// The session it is of.
    pub session_id: Option<String>,
    /// Its episode.
    pub episode_uuid: Option<String>,
    /// When that session ended, or was last at work; RFC 3339 UTC.
    pub ended_at: Option<String>,
    /// The session that has taken it over, if one has.
    pub claimed_by: Option<String>,
    /// What it was for.
    pub objective: Option<String>,
    /// What was decided.
    pub decisions: Vec<String>,
    /// What failed and how it was solved.
    pub errors: Vec<HandoffError>,
    /// What is open.
    pub unresolved: Vec<String>,
    /// What comes next.
    pub next_steps: Vec<String>,
    /// Its files that have changed since, relative to the project where they lie in it.
    pub changed_since: Vec<String>,
    /// Everything in one text, as an agent is told it: fenced as quotation, within the configured size.
    pub text: String,
}

/// See [`Handoff::errors`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffError {
    /// What failed.
    pub text: String,
    /// What solved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}
