//! Messages from an agent's hook to the daemon, over the socket or, if the daemon does not answer in time, through a
//! file in `spool/`. They contain ids, paths and names only, and no text of a prompt, a message or a tool.

use serde::{Deserialize, Serialize};

use super::Caller;
use crate::named;

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
/// Longest configurable time of a hook, in milliseconds: Claude Code ends a hook after the 5 s that it is installed
/// with, and all hooks of a session's end together after 1.5 s.
pub const HOOK_MS: u64 = 3_000;
/// The same for a hook at a session's end.
pub const HOOK_END_MS: u64 = 1_000;
/// Longest accepted session id, in bytes. Real ids have 36; the rest is for odd file names.
pub const MAX_SESSION_ID_BYTES: usize = 200;

/// True if a session may have this id: 1 to [`MAX_SESSION_ID_BYTES`] bytes without control characters, `/` or `\`.
pub fn is_session_id(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && text.len() <= MAX_SESSION_ID_BYTES
        && !text.chars().any(|c| c.is_control() || c == '/' || c == '\\')
}

named! {
    /// Kind of a signal.
    SignalKind {
        /// The agent started to work in the session, or continues after a compaction.
        SessionStart = "session_start",
        /// A prompt was typed. Activity.
        UserPromptSubmit = "user_prompt_submit",
        /// The agent finished its answer. Activity.
        Stop = "stop",
        /// A subagent finished its answer. Activity.
        SubagentStop = "subagent_stop",
        /// The conversation is about to be compacted; the session goes on.
        PreCompact = "pre_compact",
        /// The conversation was compacted; the session goes on.
        PostCompact = "post_compact",
        /// The agent left the session.
        SessionEnd = "session_end",
        /// The last connection of the session's MCP servers closed.
        McpDisconnect = "mcp_disconnect",
        /// A hook that this version does not use. Activity.
        Other = "other",
    }
}

/// Names that agents other than Claude Code have for its events, without capitals.
const OTHER_NAMES: [(&str, SignalKind); 5] = [
    // Gemini CLI. Its PreCompress precedes every request, and is no compaction.
    ("beforeagent", SignalKind::UserPromptSubmit),
    ("afteragent", SignalKind::Stop),
    // Copilot CLI.
    ("userpromptsubmitted", SignalKind::UserPromptSubmit),
    ("agentstop", SignalKind::Stop),
    // Cursor.
    ("beforesubmitprompt", SignalKind::UserPromptSubmit),
];

impl SignalKind {
    /// True if it only shows activity: of such signals only the first within the check interval is recorded.
    pub fn is_activity(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::Stop | Self::SubagentStop | Self::Other)
    }

    /// The kind of a hook's name, in the agents' form (`SessionStart`, `BeforeAgent`) or a person's (`session-start`);
    /// [`Self::Other`] for any other name.
    pub fn from_hook_name(name: &str) -> Self {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).flat_map(char::to_lowercase).collect();
        if let Some((_, kind)) = OTHER_NAMES.iter().find(|(other, _)| *other == plain) {
            return *kind;
        }
        let is_it = |kind: &&Self| kind.as_str().replace('_', "") == plain;
        let known = Self::ALL.iter().copied().filter(|kind| *kind != Self::McpDisconnect);
        known.collect::<Vec<_>>().iter().find(is_it).copied().unwrap_or(Self::Other)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hooks_name_is_known_however_it_is_written() {
        for (name, kind) in [
            ("SessionStart", SignalKind::SessionStart),
            ("session-start", SignalKind::SessionStart),
            ("session_end", SignalKind::SessionEnd),
            ("USERPROMPTSUBMIT", SignalKind::UserPromptSubmit),
            ("SubagentStop", SignalKind::SubagentStop),
            ("BeforeAgent", SignalKind::UserPromptSubmit),
            ("AfterAgent", SignalKind::Stop),
            ("userPromptSubmitted", SignalKind::UserPromptSubmit),
            ("agentStop", SignalKind::Stop),
            ("beforeSubmitPrompt", SignalKind::UserPromptSubmit),
            ("PreCompress", SignalKind::Other),
            ("mcp_disconnect", SignalKind::Other),
            ("PreToolUse", SignalKind::Other),
            ("", SignalKind::Other),
        ] {
            assert_eq!(SignalKind::from_hook_name(name), kind, "{name}");
        }
    }
}
