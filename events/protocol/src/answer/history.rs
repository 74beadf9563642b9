//! A history event by event: the lines of `replay --json`, and the result of `session/explain`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Row;

/// One event and its effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryEvent {
    /// Its position in the log.
    pub position: u64,
    /// `session:<id>`, `home` or another stream.
    pub stream: String,
    /// Its sequence in the stream.
    pub sequence: u64,
    /// When it was recorded, RFC 3339 UTC.
    pub at: String,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version of the event's shape.
    pub v: u32,
    /// The request that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The event as stored, in `replay` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// A description in one line.
    pub told: String,
    /// The reason, as far as the events and timeouts show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Why this version cannot read it. Such an event has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// For a session's event, the state before: as in [`Row::state`], with the reason of `unindexed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The state after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// All changes to the session's state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// What is owed afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<Owed>,
}

/// A change to one field of a session's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// The field.
    pub field: String,
    /// The old value; `null` for none.
    pub before: Option<String>,
    /// The new value; `null` for none.
    pub after: Option<String>,
}

/// A pending action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owed {
    /// `index`, `inactive`, `close`, `let go`, `retry` or `index late records`.
    pub what: String,
    /// When it is due, RFC 3339 UTC; `null` for now.
    pub at: Option<String>,
    /// The reason, and how the time is determined.
    pub why: String,
}

/// Result of `session/explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Explain {
    /// The session.
    #[serde(flatten)]
    pub row: Row,
    /// Its events, oldest first.
    pub events: Vec<HistoryEvent>,
    /// The sequence to continue after, if there are more events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// What is owed now.
    pub owed: Vec<Owed>,
    /// Circumstances that no event records: switches, second files with its id, an actor that keeps failing.
    pub notes: Vec<String>,
}

/// The last line of `replay --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replayed {
    /// Records read.
    pub records: u64,
    /// Events among them that this version cannot read. The states do not reflect them.
    pub unreadable: u64,
    /// The final states of the sessions, by id.
    pub sessions: Vec<ReplayedSession>,
    /// The last position read.
    pub position: u64,
    /// The chain hash there.
    pub chain: String,
    /// SHA-256 over the states of all sessions.
    pub state_hash: String,
    /// Remarks about the file: that it is filtered, where reading stopped.
    pub notes: Vec<String>,
    /// Contradictions in the file.
    pub differences: Vec<String>,
}

/// The final state of a session in a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayedSession {
    /// The session.
    pub session_id: String,
    /// Its number of events.
    pub version: u64,
    /// As in [`Happened::after`].
    pub state: String,
    /// Why the session ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// How often its file was restarted.
    pub generation: u32,
    /// How far it was read, in bytes.
    pub offset: u64,
    /// Number of typed prompts and assistant messages with text.
    pub message_count: u64,
    /// Conversation records not covered by any index.
    pub unindexed: u64,
    /// Its current episode.
    pub episode_uuid: Option<String>,
}
