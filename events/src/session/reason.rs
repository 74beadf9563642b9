//! Enumerated reasons of events, each with its recorded name.

use baton_protocol::named;

named! {
    /// Which layer asked for a close, and why.
    CloseReason {
        /// An agent or a person asked for it.
        Explicit = "explicit",
        /// `/clear`.
        HookClear = "hook_clear",
        /// A compaction; the session goes on.
        HookCompact = "hook_compact",
        /// The user logged out.
        HookLogout = "hook_logout",
        /// `/exit` or end of input, told by a hook or by the transcript.
        HookPromptInputExit = "hook_prompt_input_exit",
        /// Another session was resumed in its place.
        HookResume = "hook_resume",
        /// The agent ended for another reason.
        HookOther = "hook_other",
        /// The agent's MCP connection closed and no activity followed.
        McpDisconnect = "mcp_disconnect",
        /// Nothing happened within the inactivity timeout.
        InactivityTimeout = "inactivity_timeout",
        /// A query needed the content.
        LazyQuery = "lazy_query",
        /// A person asked to index a range of history.
        Sync = "sync",
        /// A person asked to rebuild what is stored. Only index jobs have this reason: it closes nothing.
        Reindex = "reindex",
    }
}

impl CloseReason {
    /// True if the session is over by it. A query, a compaction, a sync and a reindex only want the content.
    pub fn ends_session(self) -> bool {
        !matches!(self, Self::LazyQuery | Self::Sync | Self::HookCompact | Self::Reindex)
    }
}

named! {
    /// Why a session was abandoned without an index.
    UnindexedReason {
        /// The inactivity timeout is disabled.
        TimeoutDisabled = "timeout_disabled",
        /// It has no conversation text.
        Empty = "empty",
        /// The transcript vanished before it was read.
        Gone = "gone",
        /// Tracking was stopped.
        Untracked = "untracked",
    }
}

named! {
    /// Why an index job failed.
    FailureReason {
        /// The transcript could not be opened or read.
        Unreadable = "unreadable",
        /// The transcript is no longer there.
        Gone = "gone",
        /// The transcript no longer continues what was read; a new generation follows.
        Rewritten = "rewritten",
        /// The conversation could not be stored.
        NotStored = "not_stored",
        /// Previously stored data could not be read back.
        StoredUnreadable = "stored_unreadable",
        /// The job itself failed, for example by a panic.
        Broken = "broken",
    }
}
