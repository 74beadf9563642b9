//! Result of `status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Enrichment, HookSummary, Problem, Redacting, Storage, Vault, Vectors};

/// Result of `status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The daemon's process id.
    pub pid: u32,
    /// The daemon's version.
    pub version: String,
    /// Protocol version.
    pub protocol: u32,
    /// The home directory.
    pub home: String,
    /// When the daemon started, RFC 3339 UTC.
    pub started_at: String,
    /// Directories from which transcripts are read.
    pub roots: Vec<Root>,
    /// True while transcripts are still being discovered. Until then the counts are incomplete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub looking: bool,
    /// Transcripts found on disk.
    pub transcripts: u64,
    /// Number of sessions by state, without subagents' sessions.
    pub sessions: BTreeMap<String, u64>,
    /// Number of subagents' sessions by state.
    pub subagents: BTreeMap<String, u64>,
    /// Progress of reading the history.
    pub backlog: Progress,
    /// The event log.
    pub log: Log,
    /// The searchable memory.
    pub memory: Memory,
    /// The state of vectors.
    pub vectors: Vectors,
    /// The state of enrichment.
    pub enrichment: Enrichment,
    /// The vault, if notes are or were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<Vault>,
    /// Disk usage as of a few seconds ago. `None` while it is still being computed.
    pub storage: Option<Storage>,
    /// The state of hooks.
    #[serde(default)]
    pub hooks: HookSummary,
    /// What is wrong, each with its fix.
    pub problems: Vec<Problem>,
    /// A note for the user who expects more, for instance that tracking is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Sessions whose episode was made by an older filter and would be rebuilt by `baton reindex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_filter: Option<u64>,
    /// Sessions that an earlier version stored without what their tools report. They are read again in the background;
    /// those whose transcript is gone, or whose episode is by an older filter, stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untyped: Option<u64>,
    /// Progress of redacting data stored by earlier versions. Absent once finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacting: Option<Redacting>,
    /// Deleted or cleared episodes, notes and facts that `baton forget --undo` can restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    /// The versions of agents whose transcripts were read.
    pub formats: Vec<Format>,
}

/// How far the reader of an agent's transcripts knows what one version of the agent writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Format {
    /// The agent: `gemini`.
    pub agent: String,
    /// Its name for display.
    pub title: String,
    /// Its version, `format-N` if it records only that of its format, or `null` if neither.
    pub version: Option<String>,
    /// Sessions, subagents' included, whose transcripts name this version last.
    pub sessions: u64,
    /// Their last activity, RFC 3339 UTC.
    pub last_activity: Option<String>,
    /// Records and parts of records of unknown types, by type.
    pub unknown: BTreeMap<String, UnknownRecords>,
    /// Sessions that are expected to be complete: no subagent's, and of more than a few records.
    pub complete: u64,
    /// How many of them lack a `prompt`, a `reply`, any `time`, a `directory`.
    pub without: BTreeMap<String, u64>,
    /// What all of them lack, and sessions of other versions have.
    pub vanished: Vec<String>,
    /// True if the version was used lately, and something in it is unknown or has vanished.
    pub behind: bool,
}

/// Counts of one unknown type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnknownRecords {
    /// How many there are.
    pub records: u64,
    /// In how many sessions.
    pub sessions: u64,
}

/// A watched directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Root {
    /// The directory.
    pub path: String,
    /// The agent that writes there: `claude_code`, `codex`.
    pub agent: String,
    /// True if the directory exists.
    pub exists: bool,
    /// `notify`, or `sweep` if change notification is unavailable.
    pub watched_by: String,
    /// The origin of the entry: `default`, `config.json`, or the kind of client that named it (`cli`, `mcp`, `hook`).
    pub named_by: String,
}

/// Progress of reading the history.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Sessions done since the backlog was last empty.
    pub done: u64,
    /// Sessions still to do.
    pub pending: u64,
    /// Bytes done.
    pub bytes_done: u64,
    /// Bytes still to do.
    pub bytes_pending: u64,
    /// When the backlog was last empty, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Sessions per second since then, while the backlog is not empty.
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
    /// The log position that searches cover.
    pub position: u64,
    /// Number of events by which it lags behind the log.
    pub lag: u64,
    /// Number of documents.
    pub documents: u64,
}
