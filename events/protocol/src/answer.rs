//! The results of calls: exactly the JSON that `--json` prints. Fields may be added, never renamed or removed.

mod coding;
mod config;
mod enrichment;
mod episode;
mod forget;
mod graph;
mod history;
mod hook;
mod log;
mod memory;
mod messages;
mod passage;
mod recall;
mod search;
mod status;
mod tracking;
mod upkeep;
mod usage;
mod vault;
mod vectors;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use coding::{
    Blame, BlameCandidate, BlameSession, Fix, FixMatch, FixRow, FixTried, How, HowLine, HowSubcommand, PatternCommand,
    PatternLoop, PatternSequence, Patterns, Place, Runs,
};
pub use config::{Config, ConfigValue, ImportedKey};
pub use enrichment::{Cost, Costs, Enrich, EnrichFailure, Enrichment, SessionEnrichment};
pub use episode::{CommandLine, Episode, ErrorLine, FileModified, FileRead, Line, Metadata};
pub use forget::{Forget, ForgetAlso, ForgetRow, Reindex};
pub use graph::{Fact, Facts, Node, Nodes};
pub use history::{Change, Explain, Happened, Owed, Replayed, ReplayedSession};
pub use hook::{Handoff, HandoffError, Hook, HookEventStats, HookStats, HookSummary};
pub use log::{Footprint, LogRead, LogRecord, LogStats};
pub use memory::{AddMemory, AddTriplet, ClearGraph, Edge, EpisodeEntities, MemoryStatus, Taken};
pub use messages::{Message, Messages, Part as MessagePart, ToolUse};
pub use passage::{Passage, Said};
pub use recall::{Brief, Day, Past, Recall, RecallEntry, Timeline};
pub use search::{Hit, Search};
pub use status::{Log, Memory, Progress, Root, Status};
pub use tracking::{Sync, Track, TrackedSession, Tracking, Unindexed, UnindexedRow};
pub use upkeep::{
    Checked, Compact, CompactedConversations, CompactedIndex, Finding, Lost, Part, Redacting, Repair, Storage, Verify,
};
pub use usage::{ModelUsage, SubagentUsage, Tokens, Usage};
pub use vault::{
    Vault, VaultCompact, VaultCompacted, VaultFailure, VaultFinding, VaultRead, VaultSync, VaultUpdated, VaultVerify,
};
pub use vectors::Vectors;

/// What an answer covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Freshness {
    /// Sessions that were indexed for this answer.
    pub indexed_now: u64,
    /// Sessions that are still being read and may be missing.
    pub pending: u64,
    /// The first few of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_sessions: Vec<String>,
    /// Whether the asking session has something new that was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_out_asking: bool,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Position in the log that the answer covers.
    pub position: u64,
    /// Sessions whose latest content could not be read or stored, the first few: it is missing. `status` says why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Where vectors are configured, and for answers that go by what is meant: `used`; `behind: N pending`, used as far as there
    /// are any; `down: …` or `off: …`, words alone decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// Something that is wrong.
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
    /// Latest activity first; those in which nothing was said come last.
    pub sessions: Vec<Row>,
    /// How far the history is read, while there are transcripts of which no session is known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

/// Result of `ids/short`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShortIds {
    /// For each id that was asked for, the shortest beginning of at least 8 characters that names it alone. Of a note it is
    /// the beginning of its uuid.
    pub short: BTreeMap<String, String>,
}

/// How much of what there is to be read has been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Transcripts whose sessions are known.
    pub done: u64,
    /// All that there are.
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
    /// The project's directory.
    pub project: Option<String>,
    /// The group it is found under.
    pub group_id: Option<String>,
    /// Which agent.
    pub agent: Option<String>,
    /// Whether it is read and indexed.
    pub tracked: bool,
    /// `active inactive unindexed indexing indexed failed forgotten`.
    pub state: String,
    /// For `unindexed`: `timeout_disabled empty gone untracked`; for `failed`: what failed.
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
    /// Typed prompts plus assistant messages that carry text.
    pub message_count: u64,
    /// Why it was last closed.
    pub close_reason: Option<String>,
    /// The closer's words.
    pub close_note: Option<String>,
    /// Why the session ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// For a note or fact added by hand: `text`, `json`, `message` or `triplet`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether its episode was deleted, or cleared with its group: there is none until the content changes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub episode_deleted: bool,
    /// When a failed index is tried again, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// The session that spawned this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Records by type; none for what was read by versions that did not count them.
    pub records_by_type: BTreeMap<String, u64>,
    /// Lines that hold no JSON object.
    pub malformed_lines: u64,
    /// Lines that were too long to be read.
    pub oversize_lines: u64,
    /// Records of types this version does not know, by type; empty when there are none.
    pub unknown_types: BTreeMap<String, u64>,
    /// Events of its history that this version of Baton cannot read, because a newer one wrote them: it is shown as far as
    /// the others say, and nothing new of it is recorded.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable_events: u64,
    /// How its enrichment stands; none where no model was ever to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<SessionEnrichment>,
}

/// Result of `show`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Show {
    /// The session.
    #[serde(flatten)]
    pub row: Row,
    /// Lines of its transcript that this version could not read, the first of them: the rest is in the episode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_lines: Vec<u64>,
    /// Its episode, if it has one.
    pub episode: Option<Episode>,
    /// What it took of its models, as of the episode.
    pub usage: Option<Usage>,
    /// The sessions it has to do with.
    pub relations: Vec<Relation>,
}

/// Another session that has to do with one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relation {
    /// What the other is to this one: `spawned_agent` and `spawned_by` for subagents; `continues` and `continued_by` for
    /// forks and copies; `preceded_by` and `followed_by` where one took the other's place in its terminal, or was the next in
    /// the same directory.
    pub name: String,
    /// The other.
    pub session_id: String,
    /// Of a subagent: what kind it is, as the agent says beside its transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Of a subagent: what it was to do, in the agent's few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of a subagent: the call that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Of a fork or copy: how many records both have of which there is something to find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_records: Option<u64>,
}

/// Result of `close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Close {
    /// `success` only when the episode is durable and findable.
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
    /// Episodes that would stand among these and cannot be read.
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

/// Result of `tools/call`, as MCP has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolResult {
    /// One text: the result as JSON, or why there is none.
    pub content: Vec<ToolContent>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<serde_json::Value>,
    /// Whether it failed.
    pub is_error: bool,
}

/// A text of a tool's result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolContent {
    /// `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    pub text: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
