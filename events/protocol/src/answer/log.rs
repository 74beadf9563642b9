//! Results of calls on the log: sizes, hashes, and records as stored.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Result of `log/stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogStats {
    /// The position of the last event.
    pub position: u64,
    /// The chain hash at it, 32 hex digits.
    pub chain: String,
    /// Hash of the state of all sessions at that position, 64 hex digits. A replay of an export yields the same.
    pub state_hash: String,
    /// Number of events.
    pub events: u64,
    /// Number of sessions with events.
    pub sessions: u64,
    /// Events that this version cannot read.
    pub unreadable: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of the segment files, which alone are authoritative.
    pub bytes: u64,
    /// Bytes of the whole home that are needed, comparable with `disk.total`: the segments, the content of the index
    /// and of the current conversations, and the undeleted part of the memory. `None` if no daemon can tell.
    pub live_bytes: Option<u64>,
    /// Bytes on disk, by use.
    pub disk: Footprint,
    /// A problem with the log, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Bytes on disk, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Footprint {
    /// Segments of the log.
    pub segments: u64,
    /// The index of the log; disposable.
    pub index: u64,
    /// Data that repairs cut off or set aside.
    pub aside: u64,
    /// Conversations and notes.
    pub conversations: u64,
    /// The searchable memory; disposable.
    pub memory: u64,
    /// All files of the home.
    pub total: u64,
}

/// Result of `log/read`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LogRead {
    /// The position of the last event of the log.
    pub position: u64,
    /// The chain hash at it.
    pub chain: String,
    /// Where to continue: `from` of the next call.
    pub next: u64,
    /// In order of position.
    pub records: Vec<LogRecord>,
    /// If requested: all forgotten sessions that were put into a group. Their records contain the group's name, which
    /// clients must hide when they show the records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
}

/// One record.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogRecord {
    /// The chain hash at this record.
    pub chain: String,
    /// Its format byte.
    pub format: u8,
    /// The rest of its bytes, as stored. Hashing them as raw text yields `chain`.
    pub record: Box<RawValue>,
}
