//! The result of `status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Enrichment, HookSummary, Problem, Redacting, Storage, Vault, Vectors};

/// Result of `status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The daemon's process.
    pub pid: u32,
    /// The daemon's version.
    pub version: String,
    /// Protocol version.
    pub protocol: u32,
    /// Where everything lies.
    pub home: String,
    /// When the daemon was started, RFC 3339 UTC.
    pub started_at: String,
    /// Directories whose transcripts are read.
    pub roots: Vec<Root>,
    /// Whether transcripts are still being looked for: then counts say little.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub looking: bool,
    /// Transcripts found on disk.
    pub transcripts: u64,
    /// Sessions by state, without subagents'.
    pub sessions: BTreeMap<String, u64>,
    /// Subagents' sessions by state.
    pub subagents: BTreeMap<String, u64>,
    /// Reading of history: sessions still to be read.
    pub backlog: Progress,
    /// The event log.
    pub log: Log,
    /// The searchable memory.
    pub memory: Memory,
    /// Whether searches also go by likeness of meaning.
    pub vectors: Vectors,
    /// Whether a model makes more of episodes.
    pub enrichment: Enrichment,
    /// Notes for people, where they are or were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<Vault>,
    /// What everything takes on disk, as of the last few seconds. `None` while it is still being added up.
    pub storage: Option<Storage>,
    /// What hooks have said.
    #[serde(default)]
    pub hooks: HookSummary,
    /// What is wrong, each with its fix.
    pub problems: Vec<Problem>,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Sessions whose episode an older filter made, and `baton reindex` would make anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_filter: Option<u64>,
    /// How far redacting what earlier versions stored is; absent once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacting: Option<Redacting>,
    /// Episodes, notes and facts that were deleted or cleared and that `baton forget --undo` has found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
}

/// A directory that is watched.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Root {
    /// The directory.
    pub path: String,
    /// Which agent writes there: `claude_code`, `codex`.
    pub agent: String,
    /// Whether it is there.
    pub exists: bool,
    /// `notify`, or `sweep` where change notification is not to be had.
    pub watched_by: String,
    /// Who named it: `default`, `config.json`, or the kind of client that did (`cli`, `mcp`, `hook`).
    pub named_by: String,
}

/// How far the reading of history is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Sessions done since there was nothing to do.
    pub done: u64,
    /// Sessions still to do.
    pub pending: u64,
    /// Bytes of what is done.
    pub bytes_done: u64,
    /// Bytes of what is still to do.
    pub bytes_pending: u64,
    /// When there was last nothing to do, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Sessions a second since then, while there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_per_second: Option<f64>,
}

/// The event log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Log {
    /// Last durable position.
    pub position: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Events that this version cannot read.
    pub unreadable: u64,
}

/// The searchable memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Position in the log that searches cover.
    pub position: u64,
    /// How many events it is behind the log.
    pub lag: u64,
    /// Documents.
    pub documents: u64,
}
