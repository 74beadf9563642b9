//! What has happened, event by event: lines of `replay --json`, and the result of `session/explain`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Row;

/// One event, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Happened {
    /// Place in the whole log.
    pub position: u64,
    /// `session:<id>`, `home` or another stream.
    pub stream: String,
    /// Place in its stream.
    pub sequence: u64,
    /// When it was recorded, RFC 3339 UTC.
    pub at: String,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version of the type's shape.
    pub v: u32,
    /// The request that brought it about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The event as it is stored, in `replay` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What happened, in one line.
    pub told: String,
    /// Why it happened, as far as the events and the timeouts tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Why this version cannot read it; then it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// The session's state before, for a session's event: as in [`Row::state`], with the reason of `unindexed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// And after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Everything that is different after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// What is owed after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<Owed>,
}

/// One field of a session's state that has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// The field.
    pub field: String,
    /// What it said; `null`: nothing.
    pub before: Option<String>,
    /// What it says.
    pub after: Option<String>,
}

/// Something that is to be done, now or at its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owed {
    /// `index`, `inactive`, `close`, `let go`, `retry` or `index late records`.
    pub what: String,
    /// When it is due, RFC 3339 UTC; `null`: now.
    pub at: Option<String>,
    /// Why, and how that time comes about.
    pub why: String,
}

/// Result of `session/explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Explain {
    /// The session.
    #[serde(flatten)]
    pub row: Row,
    /// Its events, the first first.
    pub events: Vec<Happened>,
    /// Go on after this sequence: there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// What is owed now.
    pub owed: Vec<Owed>,
    /// What bears on the session and stands in no event: switches, second files of its id, an actor that keeps failing.
    pub notes: Vec<String>,
}

/// The last line of `replay --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replayed {
    /// Records that were read.
    pub records: u64,
    /// Events among them that this version cannot read: they are not in the states.
    pub unreadable: u64,
    /// The sessions, by id, as they stand at the end.
    pub sessions: Vec<ReplayedSession>,
    /// The last position that was read.
    pub position: u64,
    /// The chain hash there.
    pub chain: String,
    /// SHA-256 over all sessions.
    pub state_hash: String,
    /// What is to be known of the file: that it is filtered, where the reading stopped.
    pub notes: Vec<String>,
    /// Where the file contradicts itself.
    pub differences: Vec<String>,
}

/// How a session stands at the end of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayedSession {
    /// The session.
    pub session_id: String,
    /// How many events it has.
    pub version: u64,
    /// As in [`Happened::after`].
    pub state: String,
    /// Why the session ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// How often its file was begun anew.
    pub generation: u32,
    /// How far it is read, in bytes.
    pub offset: u64,
    /// Typed prompts plus assistant messages that carry text.
    pub message_count: u64,
    /// Records of conversation that no index covers.
    pub unindexed: u64,
    /// Its current episode.
    pub episode_uuid: Option<String>,
}
