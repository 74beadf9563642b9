//! Results of the calls that hooks make, and of those about hooks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Author;

/// Result of `hook`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// `recorded`, `known` (the same call was already taken), `accepted` (activity), `ignored`.
    pub status: String,
    /// Why it was ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The text to give to the agent, for hooks that may return one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Result of `hook/stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookStats {
    /// Figures by event name.
    pub events: BTreeMap<String, HookEventStats>,
    /// Ignored calls, by reason.
    pub ignored: BTreeMap<String, u64>,
    /// Signals waiting in the spool.
    pub spooled: u64,
    /// Signals lost because the agent named no session in time, or the spool was full.
    pub dropped: u64,
    /// Spool files that were unreadable and set aside.
    pub unreadable: u64,
    /// Start of counting, RFC 3339 UTC.
    pub since: String,
    /// Time of the last hook signal in the log, RFC 3339 UTC. May precede the start of counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_recorded_at: Option<String>,
}

/// The state of hooks in `status`. `hook/stats` has more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookSummary {
    /// True if hooks have any effect.
    pub enabled: bool,
    /// Calls received by socket or spool since counting began.
    pub calls: u64,
    /// MCP servers of agents that hold a connection.
    pub present: u64,
    /// Time of the last call, RFC 3339 UTC.
    pub last_at: Option<String>,
    /// Ignored calls, by reason.
    pub ignored: BTreeMap<String, u64>,
    /// Signals waiting in the spool.
    pub spooled: u64,
    /// Signals lost because the agent named no session in time, or the spool was full.
    pub dropped: u64,
}

/// Figures about one kind of event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookEventStats {
    /// Calls received by socket or spool.
    pub calls: u64,
    /// Of these, the calls taken from the spool, by the reason they were there.
    pub failures: BTreeMap<String, u64>,
    /// Microseconds from the client's start to its answer, or until it stopped waiting, over the last 1,000 calls that
    /// reached a daemon. `null` if there are none.
    pub p50_us: Option<u64>,
    /// As `p50_us`.
    pub p95_us: Option<u64>,
    /// As `p50_us`.
    pub p99_us: Option<u64>,
    /// Time of the last call, RFC 3339 UTC.
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
    /// The session that hands over.
    pub session_id: Option<String>,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Author>,
    /// The agent of that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its episode.
    pub episode_uuid: Option<String>,
    /// When that session ended, or was last active, RFC 3339 UTC.
    pub ended_at: Option<String>,
    /// The session that took over, if any.
    pub claimed_by: Option<String>,
    /// Its purpose.
    pub objective: Option<String>,
    /// What the work came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Branch, pull requests and last commit, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The strongest test, build or lint that passed after the last change; if none did, the last one that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Files that were edited and not committed, in a session that commits or looks after it; in a repository without a
    /// commit all that it changed. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// Its decisions.
    pub decisions: Vec<String>,
    /// Its failures and their resolutions.
    pub errors: Vec<HandoffError>,
    /// Open ends.
    pub unresolved: Vec<String>,
    /// Next steps.
    pub next_steps: Vec<String>,
    /// Its files that have changed since, relative to the project if they are inside it.
    pub changed_since: Vec<String>,
    /// The whole handoff as one text for an agent: fenced as a quotation, within the configured size.
    pub text: String,
}

/// A failure in [`Handoff::errors`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffError {
    /// The failure.
    pub text: String,
    /// Its resolution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}
