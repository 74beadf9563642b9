//! What the log is asked for: sizes and hashes, and its records as they are stored.

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
    /// Hash of the state of all sessions at it, 64 hex digits: a replay of an export comes to the same.
    pub state_hash: String,
    /// Events recorded.
    pub events: u64,
    /// Sessions that they are about.
    pub sessions: u64,
    /// Events that this version cannot read.
    pub unreadable: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of the log that are the only truth: its segment files.
    pub bytes: u64,
    /// Bytes of the whole home that are needed, to be held against `disk.total`: the segments, what the index and the current
    /// conversations hold, the part of the memory that is not deleted. `None` where no daemon can tell.
    pub live_bytes: Option<u64>,
    /// Bytes on disk, by what they are for.
    pub disk: Footprint,
    /// What is wrong with the log, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Bytes on disk, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Footprint {
    /// Segments of the log.
    pub segments: u64,
    /// The index of the log; disposable.
    pub index: u64,
    /// What repairs have cut off or put aside.
    pub aside: u64,
    /// Conversations and notes.
    pub conversations: u64,
    /// The searchable memory; disposable.
    pub memory: u64,
    /// All files of the home together.
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
    /// Where to read on: `from` of the next call.
    pub next: u64,
    /// In order.
    pub records: Vec<LogRecord>,
    /// Where that was asked for: all forgotten sessions that were put in a group. The records have its name, and whoever
    /// shows them to anybody hides it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
}

/// One record.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogRecord {
    /// The chain hash at it.
    pub chain: String,
    /// Its format byte.
    pub format: u8,
    /// The rest of its bytes, as they are stored: read as raw text they have the hash that `chain` tells.
    pub record: Box<RawValue>,
}
