//! Results of the upkeep of a home: verifying it, freeing what it does not need, cutting off what is damaged.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Result of `log/verify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// True if everything was checked and nothing is wrong.
    pub clean: bool,
    /// True if everything that can be checked was. `left_out` lists the rest.
    pub complete: bool,
    /// True if a running daemon was verified, false for the files of its home.
    pub running: bool,
    /// The last intact position.
    pub position: u64,
    /// The chain hash at it, 32 hex digits.
    pub chain: String,
    /// The hash of the session table folded from the events up to there.
    pub state_hash: String,
    /// What was checked.
    pub checked: Checked,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// Number of findings.
    pub found: u64,
    /// What was not checked, each with the reason.
    pub left_out: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Bytes of segments and conversations read per second.
    pub bytes_per_second: u64,
}

/// Counts of what was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Events, against the chain.
    pub events: u64,
    /// Segment files.
    pub segments: u64,
    /// Their uncompressed bytes.
    pub segment_bytes: u64,
    /// Streams, for gaps.
    pub streams: u64,
    /// Records of the index, against the segments.
    pub indexed: u64,
    /// Stream keys of the index, against the segments.
    pub keys: u64,
    /// Sessions whose state, in the table in use or the stored one, was compared with the events.
    pub sessions: u64,
    /// Conversations, with their manifests.
    pub conversations: u64,
    /// Their chunks, against their hashes.
    pub chunks: u64,
    /// Their uncompressed bytes.
    pub conversation_bytes: u64,
    /// Notes, against their hashes.
    pub notes: u64,
    /// Sessions of others that a relay brought, against their hashes.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: u64,
    /// Documents of the memory, against a rebuilt one.
    pub documents: u64,
}

/// A problem found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The problem.
    pub what: String,
    /// Where: a file, a position, a session.
    pub place: String,
    /// The remedy.
    pub fix: String,
}

/// Result of `log/compact`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compact {
    /// The last position before.
    pub position: u64,
    /// The hash of the session table at that position.
    pub state_hash: String,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// The index of the log.
    pub index: CompactedIndex,
    /// Conversations.
    pub conversations: CompactedConversations,
    /// Duration in seconds.
    pub seconds: f64,
}

/// The outcome for the index of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactedIndex {
    /// Events in the index.
    pub events: u64,
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
    /// How long recording was paused, in milliseconds.
    pub pause_ms: f64,
}

/// The outcome for conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactedConversations {
    /// Sessions examined.
    pub sessions: u64,
    /// Removed files that no event refers to.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions skipped because they are being indexed.
    pub busy: u64,
    /// Events written by a newer version. While there are any nothing is removed, because what they refer to is
    /// unknown.
    pub unreadable: u64,
}

/// Result of `keep`. Sizes are bytes on disk; of a dry run what would be freed is estimated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Keep {
    /// `success`, or `error` if a conversation could not be shortened.
    pub status: String,
    /// True if nothing was changed.
    pub dry_run: bool,
    /// The shortened conversations, the oldest first.
    pub sessions: Vec<KeepRow>,
    /// Number of stored conversations of sessions in which nothing is going on.
    pub conversations: u64,
    /// Their bytes before.
    pub bytes: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// Selected conversations that were shortened before.
    pub already: u64,
    /// Selected conversations of which everything is needed.
    pub whole: u64,
    /// Bytes by which the conversations still exceed the limit.
    pub over_bytes: u64,
    /// Conversations that could not be shortened; they stay as they were.
    pub failures: u64,
    /// The first of these, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A shortened conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeepRow {
    /// The session.
    pub session_id: String,
    /// Its project.
    pub project: Option<String>,
    /// When something last happened in it.
    pub last_activity: String,
    /// Bytes of its conversation before.
    pub bytes: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
}

/// Result of `update`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Update {
    /// The asking program's version.
    pub version: String,
    /// The newest version that there is.
    pub newest: String,
    /// True if that is newer.
    pub newer: bool,
    /// Where it is described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Result of `baton log repair`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repair {
    /// True if anything was cut.
    pub cut: bool,
    /// The last intact position, at which the log ends after a cut.
    pub position: u64,
    /// The chain hash at it.
    pub chain: String,
    /// The damage; `None` if the log is intact.
    pub damage: Option<Finding>,
    /// Where the log is or would be cut. Events recorded together are cut together, so this may be less than requested.
    pub cut_at: Option<u64>,
    /// What the cut removed or would remove.
    pub lost: Lost,
    /// Where the removed data is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// What a cut removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Events that are still readable.
    pub events: u64,
    /// Bytes that are not.
    pub unreadable_bytes: u64,
    /// Segment files, including the one that is cut in two.
    pub segments: u64,
    /// Sessions known only from events after the cut.
    pub sessions: u64,
    /// Sessions that return to an earlier state.
    pub sessions_set_back: u64,
    /// Episodes recorded after the cut.
    pub episodes: u64,
    /// Conversation files that only these refer to.
    pub conversation_files: u64,
    /// Sessions whose earlier conversation was replaced and no longer exists. They are read again if their transcripts
    /// exist.
    pub conversations_missing: u64,
}

/// Progress of redacting, by current rules, what earlier versions stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Redacting {
    /// Sessions and notes examined.
    pub done: u64,
    /// Number of sessions and notes.
    pub total: u64,
    /// Of the examined, those whose text changed.
    pub changed: u64,
    /// What prevents completion, if anything. It is retried automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Bytes on disk by use, and how many of them are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// Segments of the log, which alone are authoritative.
    pub segments: Part,
    /// The index of the log.
    pub sled: Part,
    /// Conversations and notes.
    pub chunks: Part,
    /// The searchable memory.
    pub memory: Part,
    /// Data cut off or set aside, `log/cut-…/` and `log/sled.broken-…/`. Only a person removes it.
    pub aside: Part,
}

/// Disk usage of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes needed, if known: the content of the part without overhead. For the index of the log, its size as given to
    /// sled; for the memory, the share of undeleted documents.
    pub live_bytes: Option<u64>,
}

impl Storage {
    /// Returns the bytes needed, as far as known.
    pub fn live_bytes(&self) -> u64 {
        let parts = [self.segments, self.sled, self.chunks, self.memory];
        parts.iter().filter_map(|part| part.live_bytes).sum()
    }
}
