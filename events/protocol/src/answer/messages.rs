//! What was said in a session, message by message.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of `session/messages`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Messages {
    /// The session.
    pub session_id: String,
    /// The episode as of which it is.
    pub episode_uuid: Option<String>,
    /// How many messages the session has, those that are not listed included.
    pub total: u64,
    /// In the order in which they begin.
    pub messages: Vec<Message>,
    /// Around a line: the line of the message before the first; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Where to go on: the line of the next message, to be given as `from`. `null` at the end.
    pub next: Option<u64>,
    /// Which of `messages`, from 0, holds the line that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<u64>,
    /// Why there are none, and what to do; or that the line which was asked for is another's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What somebody said at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// `user`, `assistant`, `tool` (a result whose call is not there) or `harness`.
    pub role: String,
    /// The line of the transcript where it begins.
    pub line: u64,
    /// RFC 3339 UTC.
    pub at: Option<String>,
    /// The id of the model's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Whether somebody went back to before it, so that it is not part of what went on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// Whether it is of a subagent's conversation inside the main file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sidechain: bool,
    /// What it says.
    pub parts: Vec<Part>,
    /// Parts that are not listed, of a message with very many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_left_out: Option<u64>,
}

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// `prompt`, `queued` (a prompt that never reached the agent), `answer` (typed into a tool's question or denial), `media`,
    /// `text`, `thinking`, `tool`, `summary`, `notice`, `compaction`.
    pub kind: String,
    /// Its line in the transcript.
    pub line: u64,
    /// The query text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How many characters of a very long text are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars_left_out: Option<u64>,
    /// For `tool`.
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
    /// The tool's name as written.
    pub name: String,
    /// Its parameters, long ones shortened.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, Value>,
    /// Whether there is no result: it runs, or was cut off.
    pub in_flight: bool,
    /// `ok`, `failed`, `denied`, `interrupted`; `null` while in flight.
    pub outcome: Option<String>,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds, where the transcript tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Where the result stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_line: Option<u64>,
    /// Lines that an edit added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines that an edit removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// The session of the subagent that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
}
