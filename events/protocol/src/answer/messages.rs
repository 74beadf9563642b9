//! The messages of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of `session/messages`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Messages {
    /// The session.
    pub session_id: String,
    /// The episode it is based on.
    pub episode_uuid: Option<String>,
    /// Number of messages in the session, including those not listed.
    pub total: u64,
    /// In the order of their first lines.
    pub messages: Vec<Message>,
    /// With `around`: the line of the message before the first; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The line of the next message, to be passed as `from`. `null` at the end.
    pub next: Option<u64>,
    /// The index in `messages` of the one that contains the requested line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<u64>,
    /// Why there are none, and what to do; or that the requested line belongs to another message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// `user`, `assistant`, `tool` (a result without its call) or `harness`.
    pub role: String,
    /// The transcript line where it starts.
    pub line: u64,
    /// RFC 3339 UTC.
    pub at: Option<String>,
    /// The id given by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// True if the conversation was rewound to a point before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// True if it belongs to a subagent's conversation inside the main file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sidechain: bool,
    /// Its content.
    pub parts: Vec<Part>,
    /// Number of parts left out of a very long message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_left_out: Option<u64>,
}

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// `prompt`, `queued` (a prompt that never reached the agent), `answer` (typed in reply to a tool's question or
    /// denial), `media`, `text`, `thinking`, `tool`, `summary`, `notice`, `compaction`.
    pub kind: String,
    /// Its line in the transcript.
    pub line: u64,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Number of characters left out of a very long text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars_left_out: Option<u64>,
    /// The call, for `tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUse>,
}

/// A call with its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUse {
    /// The call's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name, as written.
    pub name: String,
    /// Its parameters; long ones are shortened.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, Value>,
    /// True if there is no result and none of a person's prompts or interruptions came after it: it may be running.
    pub in_flight: bool,
    /// `ok`, `failed`, `denied`, `interrupted` (also if it never got a result); `null` while in flight.
    pub outcome: Option<String>,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration in milliseconds, if the transcript records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The transcript line of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_line: Option<u64>,
    /// Lines that an edit added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines that an edit removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// The session of the subagent that carried it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
}
