//! Children that keep failing and are suspended, for `status`.

use baton_conversation::record::{SessionId, Timestamp};

/// A child that is suspended until its next try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Degraded {
    /// An actor that exists once.
    Actor {
        /// `indexer`, `watcher` or `gateway`.
        name: &'static str,
        /// When it is retried.
        until: Timestamp,
    },
    /// A session whose actor keeps failing.
    Session {
        /// The session's id.
        id: SessionId,
        /// When it is retried.
        until: Timestamp,
    },
    /// A session whose history cannot be read.
    Unreadable {
        /// The session's id.
        id: SessionId,
        /// The reason.
        reason: String,
        /// When it is retried.
        until: Timestamp,
    },
}

impl Degraded {
    /// The session, unless it is an actor that exists once.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Actor { .. } => None,
            Self::Session { id, .. } | Self::Unreadable { id, .. } => Some(id),
        }
    }

    /// Describes the problem.
    pub fn describe(&self) -> String {
        match self {
            Self::Actor { name: "indexer", until } => {
                format!(
                    "the indexer keeps failing: nothing is indexed, and searches find nothing new; next try {until}"
                )
            }
            Self::Actor { name: "watcher", until } => {
                format!("the watcher keeps failing: new and changed transcripts are not noticed; next try {until}")
            }
            Self::Actor { name, until } => format!("the {name} keeps failing; next try {until}"),
            Self::Session { id, until } => {
                format!("session {id} keeps failing and is suspended: nothing new of it is indexed; next try {until}")
            }
            Self::Unreadable { id, reason, until } => {
                format!("the history of session {id} cannot be read: {reason}; next try {until}")
            }
        }
    }

    /// Says what to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Actor { name: "indexer", .. } => {
                "see `daemon.log`; free disk space or fix the permissions of `memory/` and `blobs/`; `baton stop` has the \
                 next command try at once"
            }
            Self::Actor { .. } => "see `daemon.log`; `baton stop` has the next command try at once",
            Self::Session { .. } => {
                "see `daemon.log`, and please report it with the lines of that session; `baton close` tries at once"
            }
            Self::Unreadable { .. } => {
                "`baton log verify` tells what is damaged; if a newer version wrote it, install that again; `baton close` \
                 tries at once"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_is_wrong_when_it_is_tried_again_and_what_to_do() {
        let (id, until) = (SessionId::new("s").unwrap(), Timestamp(0));
        let unreadable = Degraded::Unreadable { id: id.clone(), reason: "a hole".to_owned(), until };
        let all = [
            (Degraded::Actor { name: "indexer", until }, "indexer", "memory/"),
            (Degraded::Actor { name: "watcher", until }, "watcher", "baton stop"),
            (Degraded::Session { id, until }, "session s keeps failing", "baton close"),
            (unreadable, "cannot be read: a hole", "log verify"),
        ];
        for (degraded, what, fix) in all {
            let told = degraded.describe();
            assert!(told.contains(what) && told.contains("next try 1970"), "{told}");
            assert!(degraded.fix().contains(fix), "{}", degraded.fix());
        }
    }
}
