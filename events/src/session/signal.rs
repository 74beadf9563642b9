//! What an agent's hooks say of a session, and what the end of its connection hints at. A hint like every other layer: it
//! is recorded, and the rules say what comes of it.
//!
//! # Hazards
//!
//! - An end after noticed work is an end of its own, also while the lines before it are unread; that a session
//!   was merely opened again is not work. A lost connection says nothing of a session that has ended, and its
//!   transcript is read first. It may close up to 10 s after its grace: a session just woken is not woken again
//!   sooner.
//!
//! # Decisions
//!
//! - The handoff that a session was offered, and that it claimed it, stand in its own stream and not in `home`:
//!   one append with the signal, one checkpoint, one history to explain. A claim holds for good, unless the
//!   session that made it is forgotten.
//! - A `SessionEnd` is recorded as `Ended` and `Signalled` before the file is read, and owes a close, which a
//!   crash in between leaves owed; so the acknowledgement costs one sync and no reading. An end that comes
//!   while another stands is kept as an owed close: when what is read lifts the first end, it ends the session
//!   at once.
//! - A session known only from hooks is a row of phase *new*, which no list shows. Without a transcript it is
//!   let go as `empty` a check interval after its end, or when the timeout or a lost connection ends it; a
//!   transcript that comes later is read all the same.

use std::fmt;

use uuid::Uuid;

use super::reason::{CloseReason, named};
use baton_conversation::record::{SessionId, Timestamp};

/// Something that somebody outside noticed of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// What.
    pub kind: SignalKind,
    /// What the agent said beside it: source, reason or trigger.
    pub detail: Option<SignalDetail>,
    /// When it was noticed, by the clock of whoever noticed it; never later than its recording.
    pub at: Timestamp,
    /// With [`SignalKind::SessionStart`]: the session that ended in the same place for this one to begin, where only one
    /// can be meant. Processes that served that session serve this one from then on.
    pub follows: Option<SessionId>,
}

named! {
    /// What was noticed.
    SignalKind {
        /// The agent began to work in the session, or goes on after a compaction.
        SessionStart = "session_start",
        /// Somebody typed a prompt. Activity.
        UserPromptSubmit = "user_prompt_submit",
        /// The agent has answered. Activity.
        Stop = "stop",
        /// A subagent has answered. Activity.
        SubagentStop = "subagent_stop",
        /// The conversation is about to be compacted; the session goes on.
        PreCompact = "pre_compact",
        /// It was compacted; the session goes on.
        PostCompact = "post_compact",
        /// The agent has left the session.
        SessionEnd = "session_end",
        /// The last connection of the session's MCP servers closed.
        McpDisconnect = "mcp_disconnect",
        /// A hook that this version has no use for. Activity.
        Other = "other",
    }
}

named! {
    /// Source of a start, reason of an end, trigger of a compaction.
    SignalDetail {
        /// A start: a new session.
        Startup = "startup",
        /// A start: an older session goes on. An end: another session is resumed in its place.
        Resume = "resume",
        /// `/clear`: the end of one session and the start of the next.
        Clear = "clear",
        /// A start: the same session after a compaction.
        Compact = "compact",
        /// A start: a new session that repeats another's history.
        Fork = "fork",
        /// An end: logged out.
        Logout = "logout",
        /// An end: `/exit` or the end of input.
        PromptInputExit = "prompt_input_exit",
        /// A compaction that somebody asked for.
        Manual = "manual",
        /// A compaction because the context was full.
        Auto = "auto",
        /// One that this version does not know, or the agent's own `other`.
        Other = "other",
    }
}

impl SignalKind {
    /// Whether it only says that somebody is at work: then few are recorded, and none but the first within the interval.
    pub fn is_activity(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::Stop | Self::SubagentStop | Self::Other)
    }

    /// The kind of a hook's name, as agents write it (`SessionStart`) or as people do (`session-start`); [`Self::Other`] for
    /// any other name.
    pub fn of_hook(name: &str) -> Self {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).flat_map(char::to_lowercase).collect();
        let is_it = |kind: &&Self| kind.as_str().replace('_', "") == plain;
        let known = Self::ALL.iter().copied().filter(|kind| *kind != Self::McpDisconnect);
        known.collect::<Vec<_>>().iter().find(is_it).copied().unwrap_or(Self::Other)
    }
}

impl fmt::Display for Signal {
    /// As one line says it: `session_end (clear) at 2026-…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(detail) = self.detail {
            write!(f, " ({detail})")?;
        }
        write!(f, " at {}", self.at)?;
        match &self.follows {
            Some(session) => write!(f, ", after {session}"),
            None => Ok(()),
        }
    }
}

/// What signals have left in the state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// When the agent last began to work in it. Where it came back after an end and left again without a word: that end.
    pub started_at: Option<Timestamp>,
    /// The session whose place it took when it did.
    pub follows: Option<Follows>,
    /// When somebody was last noticed at work in it, as far as that was recorded.
    pub active_at: Option<Timestamp>,
    /// When its last MCP connection closed, if nothing has come since.
    pub disconnected_at: Option<Timestamp>,
    /// A close that was promised and has not been asked for yet.
    pub close_owed: Option<CloseReason>,
}

impl Signal {
    /// Why the session is over by it, if it says so.
    pub fn end(&self) -> Option<CloseReason> {
        let is_end = self.kind == SignalKind::SessionEnd;
        is_end.then_some(match self.detail {
            Some(SignalDetail::Clear) => CloseReason::HookClear,
            Some(SignalDetail::Resume) => CloseReason::HookResume,
            Some(SignalDetail::Logout) => CloseReason::HookLogout,
            Some(SignalDetail::PromptInputExit) => CloseReason::HookPromptInputExit,
            _ => CloseReason::HookOther,
        })
    }
}

impl Signals {
    /// What a signal leaves in the state of its session. The end that it may bring about is an event of its own and comes
    /// first: an end without one stands for a signal that came too late to be one, and owes nothing.
    pub(super) fn apply(&mut self, signal: &Signal, ended_at: Option<Timestamp>, said_at: Option<Timestamp>) {
        let is_over = ended_at.is_some();
        match signal.kind {
            SignalKind::SessionStart => {
                self.started_at = self.started_at.max(Some(signal.at));
                if let Some(session) = &signal.follows {
                    self.follows = Some(Follows { session: session.clone(), at: signal.at });
                }
            }
            SignalKind::SessionEnd if is_over => {
                // Whoever came back to it after its end has left it again.
                if self.started_at.max(self.active_at) <= Some(signal.at) {
                    self.started_at = self.started_at.min(ended_at);
                    self.active_at = self.active_at.min(ended_at);
                }
                self.close_owed = self.close_owed.filter(|owed| owed.ends_session()).or(signal.end());
            }
            SignalKind::SessionEnd => {}
            SignalKind::PreCompact | SignalKind::PostCompact => {
                self.close_owed = self.close_owed.or(Some(CloseReason::HookCompact));
            }
            SignalKind::McpDisconnect => {
                let last_sign = self.started_at.max(self.active_at).max(said_at);
                if !is_over && last_sign <= Some(signal.at) {
                    self.disconnected_at = self.disconnected_at.max(Some(signal.at));
                }
                return;
            }
            _ => self.active_at = self.active_at.max(Some(signal.at)),
        }
        self.take_back_disconnect(signal.at);
    }

    /// Something has come of the session: its connection has closed for another reason than its end.
    pub(super) fn take_back_disconnect(&mut self, at: Timestamp) {
        self.disconnected_at = self.disconnected_at.filter(|closed| *closed > at);
    }
}

/// See [`Signals::follows`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The session that ended.
    pub session: SessionId,
    /// When this one began in its place.
    pub at: Timestamp,
}

/// What a session was told of the one before it. One session is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// The episode it was told of.
    pub episode: Uuid,
    /// That episode's session.
    pub from: SessionId,
    /// When it was offered.
    pub at: Timestamp,
    /// Whether a prompt was typed in it since: then it has taken the work over.
    pub claimed: bool,
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
            ("mcp_disconnect", SignalKind::Other),
            ("PreToolUse", SignalKind::Other),
            ("", SignalKind::Other),
        ] {
            assert_eq!(SignalKind::of_hook(name), kind, "{name}");
        }
    }
}
