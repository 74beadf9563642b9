//! What an agent's hooks report about a session, and what the end of its connection suggests. A signal is a hint: it is
//! recorded, and the rules decide what follows.
//!
//! # Hazards
//!
//! - An end that comes after noticed work is a new end, even while the lines before it are unread; reopening a session
//!   is not work. A lost connection does not affect a session that has ended, and its transcript is read first. The
//!   close may come up to 10 s after the grace period: a session that was just woken is not woken again sooner.
//!
//! # Decisions
//!
//! - The offer of a handoff and its claim are recorded in the session's own stream and not in `home`: one append with
//!   the signal, one checkpoint, one history to explain. A claim is permanent, unless the claiming session is
//!   forgotten.
//! - A `SessionEnd` is recorded as `Ended` and `Signalled` before the file is read, and owes a close, which stays owed
//!   if a crash comes between; so the acknowledgement costs one sync and no reading. An end that comes while another
//!   stands is kept as an owed close: if what is then read lifts the first end, it ends the session at once.
//! - A session known only from hooks is a row of phase *new*, which no list shows. Without a transcript it is abandoned
//!   as `empty` a check interval after its end, or when the timeout or a lost connection ends it; a transcript that
//!   comes later is still read.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::reason::CloseReason;
use baton_conversation::record::{SessionId, Timestamp};
use baton_protocol::{SignalKind, named};

/// A report about a session from outside its transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// Kind of the signal.
    #[serde(rename = "signal")]
    pub kind: SignalKind,
    /// The agent's own detail: source, reason or trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<SignalDetail>,
    /// When it was noticed, by the reporter's clock; never later than its recording.
    pub at: Timestamp,
    /// With [`SignalKind::SessionStart`]: the session that ended in the same place for this one to begin, if it is
    /// unambiguous. Processes that served that session serve this one from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<SessionId>,
}

named! {
    /// Source of a start, reason of an end, trigger of a compaction.
    SignalDetail {
        /// A start: a new session.
        Startup = "startup",
        /// A start: an older session continues. An end: another session is resumed in its place.
        Resume = "resume",
        /// `/clear`: the end of one session and the start of the next.
        Clear = "clear",
        /// A start: the same session after a compaction.
        Compact = "compact",
        /// A start: a new session that repeats another's history.
        Fork = "fork",
        /// An end: the user logged out.
        Logout = "logout",
        /// An end: `/exit` or the end of input.
        PromptInputExit = "prompt_input_exit",
        /// A compaction that was asked for.
        Manual = "manual",
        /// A compaction because the context was full.
        Auto = "auto",
        /// A detail that this version does not know, or the agent's own `other`.
        Other = "other",
    }
}

impl fmt::Display for Signal {
    /// The form in one line: `session_end (clear) at 2026-…`.
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

/// The part of a session's state that signals leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signals {
    /// When the agent last started to work in it. If it came back after an end and left again without activity: that
    /// end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The session that it replaced at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// Last recorded activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_at: Option<Timestamp>,
    /// When its last MCP connection closed, if no activity came since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disconnected_at: Option<Timestamp>,
    /// A close that is owed and has not been requested yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_owed: Option<CloseReason>,
}

impl Signal {
    /// The reason of the end, if the signal ends the session.
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
    /// Folds a signal in. The end that it may cause is an event of its own and comes first: a
    /// [`SignalKind::SessionEnd`] while `ended_at` is `None` came too late to be an end, and owes nothing.
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
                // The agent came back after the end and has left again.
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

    /// Notes activity at `at`: a connection that closed at or before that time no longer ends the session.
    pub(super) fn take_back_disconnect(&mut self, at: Timestamp) {
        self.disconnected_at = self.disconnected_at.filter(|closed| *closed > at);
    }
}

/// See [`Signals::follows`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// The session that ended.
    pub session: SessionId,
    /// When this session replaced it.
    pub at: Timestamp,
}

/// A handoff that was given to a session; each session is offered one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The episode that it is about.
    pub episode: Uuid,
    /// That episode's session.
    pub from: SessionId,
    /// When it was offered.
    pub at: Timestamp,
    /// True if a prompt was typed in the session since: it continues that work.
    pub claimed: bool,
}
