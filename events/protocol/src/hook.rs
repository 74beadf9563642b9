//! Messages from an agent's hook to the daemon, over the socket or, if the daemon does not answer in time, through a
//! file in `spool/`. They contain ids, paths and names only, and no text of a prompt, a message or a tool.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Folder of the home in which hooks leave events that the daemon did not take.
pub const SPOOL: &str = "spool";
/// File in that folder with one byte for each event that was dropped because the folder was full.
pub const SPOOL_DROPPED: &str = "dropped";
/// Most files in that folder. Further events are dropped.
pub const SPOOL_FILES_MAX: usize = 4_096;
/// Largest such file, in bytes. Longer than the longest paths need.
pub const SPOOL_FILE_BYTES: u64 = 64 * 1024;
/// Environment variable set for every process that Baton starts. A hook that sees it does nothing.
pub const OWN_CHILD: &str = "BATON_CHILD";

/// Arguments of `hook`: one event of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookParams {
    /// Unique id of this event. A repeated one is recorded once.
    pub id: String,
    /// The event's name as the agent writes it: `SessionStart`.
    pub event: String,
    /// When the hook was called, in milliseconds since 1970 by the client's clock.
    pub at: i64,
    /// The agent's session.
    pub session_id: String,
    /// Its transcript, absolute; the file may not be there yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// The agent's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agent calls source, reason or trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The subagent, if the event is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The subagent's transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_transcript_path: Option<String>,
    /// How long the client still waits, in milliseconds. 0 if it does not, as for spooled events.
    pub wait_ms: u64,
}

/// A hook event in the spool. Its file is named `<at, 13 digits>-<id>.json`. Of events that only report activity, the
/// last one of a session is kept, in `activity-<session id>.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spooled {
    /// Version of the file's format.
    pub v: u32,
    /// Why the daemon did not take it: `absent`, `timeout`, `refused`, `garbled` or `other_version`.
    pub why: String,
    /// How long the client had tried, in microseconds.
    pub took_us: u64,
    /// The event.
    pub hook: HookParams,
}

/// Notification `hook/took`: the time from the client's start to its answer. The client's last message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookTook {
    /// The event's name.
    pub event: String,
    /// The time, in microseconds.
    pub us: u64,
}

/// Arguments of `presence`: an agent's MCP server is present while this connection is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PresenceParams {
    /// The caller whose server it is.
    pub caller: Caller,
}

/// Arguments of `handoff`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffParams {
    /// A directory, or a name that matches exactly one project. Absent for the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The caller.
    pub caller: Caller,
}
