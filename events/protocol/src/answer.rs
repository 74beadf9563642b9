//! Results of calls: exactly the JSON that `--json` prints. Fields may be added, never renamed or removed.

mod agent_costs;
mod coding;
mod config;
mod correct;
mod ending;
mod enrichment;
mod episode;
mod forget;
mod graph;
mod history;
mod hook;
mod log;
mod memory;
mod messages;
mod page;
mod passage;
mod project;
mod recall;
mod relay;
mod replay;
mod search;
mod status;
mod today;
mod tracking;
mod upkeep;
mod usage;
mod vault;
mod vectors;

use crate::is_zero;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use agent_costs::{AgentCost, AgentCosts};
pub use coding::{
    Blame, BlameCandidate, BlameSession, Fix, FixAccount, FixMatch, FixRow, FixTried, How, HowLine, HowSubcommand,
    PatternCommand, PatternLoop, PatternSequence, Patterns, Quote, Runs,
};
pub use config::{Config, ConfigValue, ImportedKey};
pub use correct::{Correct, CorrectEntry};
pub use enrichment::{Cost, Costs, Enrich, EnrichFailure, Enrichment, SessionEnrichment};
pub use episode::{
    CommandLine, CorrectedLine, Episode, ErrorLine, Exchange, ExchangeCommand, FileModified, FileRead, Line, Metadata,
    SupersededLine, WorkState,
};
pub use forget::{Forget, ForgetAlso, ForgetRow, Reindex};
pub use graph::{Fact, Facts, Node, Nodes};
pub use history::{Change, Explain, HistoryEvent, Owed, Replayed, ReplayedSession};
pub use hook::{Handoff, HandoffError, Hook, HookEventStats, HookStats, HookSummary};
pub use log::{Footprint, LogRead, LogRecord, LogStats};
pub use memory::{AddMemory, AddTriplet, ClearGraph, Deleted, Edge, EpisodeEntities, MemoryStatus};
pub use messages::{Message, Messages, Part as MessagePart, ToolUse};
pub use page::Page;
pub use passage::{Passage, PassagePart};
pub use project::{
    AgentCount, CheckWeek, Graph, GraphFact, GraphNode, Project, ProjectCheck, ProjectDecision, ProjectFile,
    ProjectRow, Projects, ReplacedDecision,
};
pub use recall::{BriefFreshness, Day, NearLine, NearSession, Recall, RecallEntry, Timeline, TimelineSession};
pub use relay::{
    Author, RelayEntry, RelayInvitation, RelayLag, RelayLagOneWay, RelayLog, RelayPreview, RelayRemovals, RelayRemoved,
    RelayStatus, RelayWriter,
};
pub use replay::Replay;
pub use search::{Hit, Search};
pub use status::{Format, Log, Memory, Progress, Root, Status, UnknownRecords};
pub use today::{ProjectOpen, Spent, Today};
pub use tracking::{Sync, Track, TrackedSession, Tracking, Unindexed, UnindexedRow};
pub use upkeep::{
    Checked, Compact, CompactedConversations, CompactedIndex, Finding, Keep, KeepRow, Lost, Part, Redacting, Repair,
    Storage, Update, Verify,
};
pub use usage::{ModelUsage, SubagentUsage, Tokens, Usage, UsagePart};
pub use vault::{
    Vault, VaultCompact, VaultCompacted, VaultFailure, VaultFinding, VaultRead, VaultSync, VaultUpdated, VaultVerify,
};
pub use vectors::Vectors;

/// How current and complete an answer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Freshness {
    /// Sessions indexed for this answer.
    pub indexed_now: u64,
    /// Sessions that are still being read and may be missing.
    pub pending: u64,
    /// The first few of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_sessions: Vec<String>,
    /// True if new content of the caller's own session was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_out_asking: bool,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Position in the log that the answer covers.
    pub position: u64,
    /// The first few sessions whose latest content could not be read or stored and is therefore missing. `status` gives
    /// the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// If vectors are configured, for answers that rank by meaning: `used`; `behind: N pending`, used as far as they
    /// exist; `down: …` or `off: …`, ranked by words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// A problem with its remedy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// What.
    pub what: String,
    /// The remedy.
    pub fix: String,
}

/// Result of `sessions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sessions {
    /// Latest activity first. Sessions without messages come last.
    pub sessions: Vec<Row>,
    /// Progress of reading the history, while there are transcripts whose sessions are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

/// Result of `ids/short`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShortIds {
    /// For each requested id, its shortest unique prefix of at least 8 characters. For a note, a prefix of its uuid.
    pub short: BTreeMap<String, String>,
}

/// Progress of reading the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Transcripts whose sessions are known.
    pub done: u64,
    /// All transcripts.
    pub total: u64,
}

/// One session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The session.
    pub session_id: String,
    /// Its transcript.
    pub file_path: Option<String>,
    /// Its title; empty if it has none. Only in lists of sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The project's directory.
    pub project: Option<String>,
    /// The working directory in which it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its group.
    pub group_id: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// True if it is read and indexed.
    pub tracked: bool,
    /// `active inactive unindexed indexing indexed failed forgotten`.
    pub state: String,
    /// For `unindexed`: `timeout_disabled empty gone untracked`. For `failed`: what failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// First 16 hex digits.
    pub content_hash: Option<String>,
    /// The current episode.
    pub episode_uuid: Option<String>,
    /// RFC 3339 UTC.
    pub last_indexed_at: Option<String>,
    /// RFC 3339 UTC.
    pub last_activity: Option<String>,
    /// Number of typed prompts and assistant messages with text.
    pub message_count: u64,
    /// Why it was last closed.
    pub close_reason: Option<String>,
    /// The note given when it was closed.
    pub close_note: Option<String>,
    /// Why the session ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// For a note or fact added by hand: `text`, `json`, `message` or `triplet`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// True if its episode was deleted, or cleared with its group. It has none until its content changes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub episode_deleted: bool,
    /// When failed indexing is retried, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// The session that spawned this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Records by type. Empty if it was read by a version that did not count them.
    pub records_by_type: BTreeMap<String, u64>,
    /// Lines without a JSON object.
    pub malformed_lines: u64,
    /// Lines too long to read.
    pub oversize_lines: u64,
    /// Records of types unknown to this version, by type.
    pub unknown_types: BTreeMap<String, u64>,
    /// Events that this version cannot read because a newer one wrote them. The session is shown as the other events
    /// have it, and nothing new is recorded for it.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable_events: u64,
    /// State of its enrichment. Absent if no model was ever to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<SessionEnrichment>,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Author>,
}

/// Result of `show`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Show {
    /// The session.
    #[serde(flatten)]
    pub row: Row,
    /// The first lines of its transcript that this version could not read. The rest is in the episode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_lines: Vec<u64>,
    /// Its episode, if it has one.
    pub episode: Option<Episode>,
    /// Its model usage, as of the episode.
    pub usage: Option<Usage>,
    /// Related sessions.
    pub relations: Vec<Relation>,
}

/// A related session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relation {
    /// The relation of the other session to this one: `spawned_agent` and `spawned_by` for subagents; `continues` and
    /// `continued_by` for forks and copies; `preceded_by` and `followed_by` if one replaced the other in its terminal,
    /// or was the next in the same directory.
    pub name: String,
    /// The other session.
    pub session_id: String,
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For a subagent: its type, as the agent records it beside the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// For a subagent: its task, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For a subagent: the call that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// For a fork or copy: the number of shared records with searchable content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_records: Option<u64>,
}

/// Result of `close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Close {
    /// `success` only if the episode is durable and searchable.
    pub status: String,
    /// The session, if it could be determined.
    pub session_id: Option<String>,
    /// The episode; `null` for an empty session.
    pub episode_uuid: Option<String>,
    /// What happened and what to do next.
    pub message: String,
}

/// Result of `episodes`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Episodes {
    /// A summary in words.
    pub message: String,
    /// Newest first.
    pub episodes: Vec<EpisodeEntry>,
    /// Episodes that belong in this list but cannot be read.
    pub unreadable: u64,
    /// Episodes of subagents in the same groups, which are not listed.
    pub subagents_left_out: u64,
    /// How fresh the answer is.
    pub freshness: Freshness,
    /// Pass it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An episode in a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeEntry {
    /// The episode.
    pub uuid: String,
    /// `session_<first 8 of the id>`.
    pub name: String,
    /// The episode as text.
    pub content: String,
    /// End of the session, RFC 3339 UTC.
    pub created_at: Option<String>,
    /// By agent: `claude_code_jsonl`.
    pub source: String,
    /// `Session from <project>`.
    pub source_description: String,
    /// The group.
    pub group_id: Option<String>,
}

/// Result of `tools/call`, as defined by MCP.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolResult {
    /// One text: the result as JSON, or the error.
    pub content: Vec<ToolContent>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<serde_json::Value>,
    /// True if the call failed.
    pub is_error: bool,
}

/// A text in a tool's result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolContent {
    /// `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    pub text: String,
}
