//! What the upkeep of a home comes to: verifying it, giving back what it does not need, cutting off what is damaged.

use serde::{Deserialize, Serialize};

/// Result of `log/verify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// Whether everything was looked at and nothing is wrong.
    pub clean: bool,
    /// Whether everything was looked at that can be; what was not is told in `left_out`.
    pub complete: bool,
    /// Whether a running daemon was verified; else the files of its home.
    pub running: bool,
    /// The last position that is whole.
    pub position: u64,
    /// The chain hash at it, 32 hex digits.
    pub chain: String,
    /// The hash of the session table as the events up to there fold to it.
    pub state_hash: String,
    /// How much was looked at.
    pub checked: Checked,
    /// What is wrong, the first of it.
    pub findings: Vec<Finding>,
    /// How many findings there are.
    pub found: u64,
    /// What was not looked at, and why.
    pub left_out: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Bytes of segments and conversations that were read a second.
    pub bytes_per_second: u64,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Events, each against the chain.
    pub events: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes in them, unpacked.
    pub segment_bytes: u64,
    /// Streams, each for holes.
    pub streams: u64,
    /// Records of the index, against the segments.
    pub indexed: u64,
    /// Keys by stream of the index, against the segments.
    pub keys: u64,
    /// Sessions whose state was compared: the table in use or the one that is stored, with the events.
    pub sessions: u64,
    /// Conversations, each with its manifest.
    pub conversations: u64,
    /// Their chunks, each against its hash.
    pub chunks: u64,
    /// Bytes of them, unpacked.
    pub conversation_bytes: u64,
    /// Notes, each against its hash.
    pub notes: u64,
    /// Documents of the memory, against one that was built anew.
    pub documents: u64,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The problem.
    pub what: String,
    /// Where: a file, a position, a session.
    pub place: String,
    /// The way out.
    pub fix: String,
}

/// Result of `log/compact`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compact {
    /// The last position before it.
    pub position: u64,
    /// The hash of the session table there.
    pub state_hash: String,
    /// Bytes given back.
    pub freed_bytes: u64,
    /// The index of the log.
    pub index: CompactedIndex,
    /// Conversations.
    pub conversations: CompactedConversations,
    /// Duration in seconds.
    pub seconds: f64,
}

/// What became of the index of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactedIndex {
    /// Events that it holds.
    pub events: u64,
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
    /// How long nothing could be recorded meanwhile, in milliseconds.
    pub pause_ms: f64,
}

/// What became of conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactedConversations {
    /// Sessions examined.
    pub sessions: u64,
    /// Files removed that no event names any more.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions left alone because an index of them is under way.
    pub busy: u64,
    /// Events that a newer version has written: while there are any nothing is removed, for what they name is not known.
    pub unreadable: u64,
}

/// Result of `baton log repair`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repair {
    /// Whether anything was cut.
    pub cut: bool,
    /// The last position that is whole, and with which the log ends after a cut.
    pub position: u64,
    /// The chain hash at it.
    pub chain: String,
    /// What is damaged; `None` when the log is whole.
    pub damage: Option<Finding>,
    /// Where the log is to be cut, or was: what was recorded together is cut together, so this may be less than was asked for.
    pub cut_at: Option<u64>,
    /// What the cut takes away, or has.
    pub lost: Lost,
    /// Where it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// What a cut takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Events that can still be read.
    pub events: u64,
    /// Bytes that cannot.
    pub unreadable_bytes: u64,
    /// Segment files, the one that is cut through included.
    pub segments: u64,
    /// Sessions that are known only from there on.
    pub sessions: u64,
    /// Sessions that go back to an earlier state.
    pub sessions_set_back: u64,
    /// Episodes that were recorded from there on.
    pub episodes: u64,
    /// Files of conversations that only these name.
    pub conversation_files: u64,
    /// Sessions whose earlier conversation is not there any more: it had been replaced. They are read again if their
    /// transcripts are there.
    pub conversations_missing: u64,
}

/// How far redacting what earlier versions stored is, by the rules of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Redacting {
    /// Sessions and notes that were looked at.
    pub done: u64,
    /// How many there are.
    pub total: u64,
    /// Those whose text changed.
    pub changed: u64,
    /// What keeps it from being done, while something does; it is tried again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Bytes on disk by what they are for, and how many of them are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// Segments of the log: the only truth.
    pub segments: Part,
    /// The index of the log.
    pub sled: Part,
    /// Conversations and notes.
    pub chunks: Part,
    /// The searchable memory.
    pub memory: Part,
    /// What was cut off or put aside, `log/cut-…/` and `log/sled.broken-…/`: only a person removes it.
    pub aside: Part,
}

/// What one part takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes that are needed, as far as that is known: what the part holds, without what it takes beside; the index of the
    /// log in the form in which it is given to sled, the memory by the share of documents that are not deleted.
    pub live_bytes: Option<u64>,
}

impl Storage {
    /// Bytes that are needed, as far as that is known.
    pub fn live_bytes(&self) -> u64 {
        let parts = [self.segments, self.sled, self.chunks, self.memory];
        parts.iter().filter_map(|part| part.live_bytes).sum()
    }
}
