//! The results of `project`, `projects` and `graph`.

use crate::is_zero;
use serde::{Deserialize, Serialize};

use super::{Freshness, Quote, Runs, TimelineSession};

/// Result of `projects`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Projects {
    /// The one with the latest activity first.
    pub projects: Vec<ProjectRow>,
    /// Further projects.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
    /// Sessions that belong to no project.
    #[serde(skip_serializing_if = "is_zero")]
    pub without_project: u32,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A project in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectRow {
    /// Its directory.
    pub project: String,
    /// Its sessions, without subagents' and empty ones.
    pub sessions: u32,
    /// Those that have not ended.
    pub active: u32,
    /// Last activity, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// Its agents, the one with the most sessions first.
    pub agents: Vec<AgentCount>,
    /// Open items of its latest session. Absent if that is not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<u32>,
}

/// Sessions of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCount {
    /// The agent.
    pub agent: String,
    /// Its sessions.
    pub sessions: u32,
}

/// Result of `project`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Project {
    /// Its directory.
    pub project: String,
    /// Number of its sessions, without subagents' and empty ones.
    pub sessions_total: u32,
    /// Its agents, the one with the most sessions first.
    pub agents: Vec<AgentCount>,
    /// Start of the first session, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_at: Option<String>,
    /// Last activity, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// Its latest sessions, the latest first.
    pub sessions: Vec<TimelineSession>,
    /// Older sessions. Open work is that of the listed sessions.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Decisions that hold, the newest first.
    pub decisions: Vec<ProjectDecision>,
    /// Further decisions that hold.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_decisions: u32,
    /// Decisions that no longer hold, the newest first.
    pub replaced: Vec<ReplacedDecision>,
    /// Further decisions that no longer hold.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_replaced: u32,
    /// True if there are more decisions than were looked at; then their numbers are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub decisions_cut: bool,
    /// Open work of the listed sessions, the newest first. Later sessions may have done it.
    pub open: Vec<Quote>,
    /// Further open work.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_open: u32,
    /// Files, those that most sessions changed first.
    pub files: Vec<ProjectFile>,
    /// Further files.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_files: u32,
    /// Tests, builds and lints, the most frequent first.
    pub checks: Vec<ProjectCheck>,
    /// Further checks.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_checks: u32,
    /// Sessions whose files and checks were counted, the newest ones.
    pub counted: u32,
    /// Older sessions that were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_counted: u32,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A decision that holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectDecision {
    /// The decision.
    #[serde(flatten)]
    pub said: Quote,
    /// `model` if only a model says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}

/// A decision that no longer holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplacedDecision {
    /// The decision.
    #[serde(flatten)]
    pub said: Quote,
    /// When it ceased to hold, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What replaced it. Absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Quote>,
}

/// A file of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectFile {
    /// Path, relative to the project if it is in it.
    pub path: String,
    /// Sessions that changed it.
    pub changed_in: u32,
    /// Sessions that only read it.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_in: u32,
    /// Lines added; with `removed` 0, perhaps unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Lines removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// End of the last session that changed or read it, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// The path to ask `blame` for.
    pub ask: String,
}

/// A test, a build or a lint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectCheck {
    /// Program and subcommand.
    pub command: String,
    /// `test`, `build`, `lint`, `types`, `format` or `check`.
    pub kind: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
    /// The weeks with runs, the oldest first.
    pub weeks: Vec<CheckWeek>,
    /// Runs in older weeks, which are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub earlier: u32,
}

/// The runs of a check in the sessions that ended in a week.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckWeek {
    /// Its Monday: `2026-03-09`, in the asker's time zone. Empty if it is unknown when the session ended.
    pub week: String,
    /// Outcomes of the runs.
    #[serde(flatten)]
    pub runs: Runs,
}

/// Result of `graph`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Graph {
    /// The answer in one sentence.
    pub message: String,
    /// The entity in the middle. Absent if the graph is not around one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<String>,
    /// The time for which the facts hold, RFC 3339 UTC.
    pub as_of: String,
    /// Entities, those nearest to the middle first.
    pub nodes: Vec<GraphNode>,
    /// Entities at facts that hold then, which were left out. A lower bound if `cut` is true.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_nodes: u32,
    /// Facts between the entities that hold then.
    pub facts: Vec<GraphFact>,
    /// Facts that hold then, which were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_facts: u32,
    /// True if there are more facts than were looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Days on which something of this began or ceased to hold, in the asker's time zone, the oldest first.
    pub days: Vec<String>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// An entity of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphNode {
    /// Its uuid.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Its kind. Empty if it is not known.
    pub label: String,
    /// Steps from the middle.
    pub hops: u32,
    /// Facts of this answer at it.
    pub facts: u32,
}

/// A fact of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphFact {
    /// Its uuid.
    pub uuid: String,
    /// The name of the relation.
    pub name: String,
    /// The fact in a sentence.
    pub fact: String,
    /// Its source node.
    pub source: String,
    /// Its target node.
    pub target: String,
    /// When it became valid, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_at: Option<String>,
    /// When it ceased to be valid, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid_at: Option<String>,
    /// Number of sessions that support it.
    pub sessions: u32,
    /// The latest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The transcript line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The time of that line, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}
