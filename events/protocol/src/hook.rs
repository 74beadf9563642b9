//! What a hook of an agent says to the daemon, over the socket or, when nobody answers in time, through a file in `spool/`.
//! Ids, paths and names only: no word of a prompt, a message or a tool.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Folder of the home in which hooks leave what nobody took.
pub const SPOOL: &str = "spool";
/// File in that folder: one byte for each hook that could not be left there because it was full.
pub const SPOOL_DROPPED: &str = "dropped";
/// Files in that folder beyond which nothing more is left there.
pub const SPOOL_FILES_MAX: usize = 4_096;
/// Largest such file, in bytes: more than the longest paths.
pub const SPOOL_FILE_BYTES: u64 = 64 * 1024;
/// Set for everything that Baton starts itself: a hook that sees it does nothing.
pub const OWN_CHILD: &str = "BATON_CHILD";

/// Arguments of `hook`: one event of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookParams {
    /// Identity of this call, unique: the same one again is recorded once.
    pub id: String,
    /// The event's name as the agent writes it: `SessionStart`.
    pub event: String,
    /// When it was called, milliseconds since 1970 by the client's clock.
    pub at: i64,
    /// The agent's session.
    pub session_id: String,
    /// Its transcript, absolute; the file may not be there yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// Where the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agent calls source, reason or trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The subagent, when the event is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The subagent's transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_transcript_path: Option<String>,
    /// How long the client still waits, in milliseconds; 0: it does not, as with what was spooled.
    pub wait_ms: u64,
}

/// What a hook leaves in the spool. The file is named `<at, 13 digits>-<id>.json`; of signals that only tell of activity
/// the last of a session is kept, in `activity-<session id>.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spooled {
    /// Shape of this file.
    pub v: u32,
    /// Why it was not taken: `absent`, `timeout`, `refused`, `garbled` or `other_version`.
    pub why: String,
    /// How long the client had tried, in microseconds.
    pub took_us: u64,
    /// What it would have said.
    pub hook: HookParams,
}

/// Notification `hook/took`: how long a call took from the client's start to its answer. Last thing that a client says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    /// The event's name.
    pub event: String,
    /// Microseconds.
    pub us: u64,
}

/// Arguments of `presence`: an MCP server of an agent is there for as long as this connection is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PresenceParams {
    /// Whose it is.
    pub caller: Caller,
}

/// Arguments of `handoff`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffParams {
    /// A directory, or a name that fits exactly one project; none: the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Who asks.
    pub caller: Caller,
}
