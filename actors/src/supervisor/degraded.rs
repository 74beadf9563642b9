//! Who keeps failing and is left alone, for `status`.

use baton_conversation::record::{SessionId, Timestamp};

/// One child that is left alone until its next try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Degraded {
    /// One of the actors there is one of.
    Actor {
        /// `indexer`, `watcher` or `gateway`.
        name: &'static str,
        /// When it is tried again.
        until: Timestamp,
    },
    /// A session whose actor keeps failing.
    Session {
        /// Which.
        id: SessionId,
        /// When it is tried again.
        until: Timestamp,
    },
    /// A session whose history cannot be read.
    Unreadable {
        /// Which.
        id: SessionId,
        /// Why not.
        reason: String,
        /// When it is tried again.
        until: Timestamp,
    },
}

impl Degraded {
    /// The session, if it is one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Actor { .. } => None,
            Self::Session { id, .. } | Self::Unreadable { id, .. } => Some(id),
        }
    }

    /// What is wrong.
    pub fn what(&self) -> String {
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
                format!("session {id} keeps failing and is left alone: nothing new of it is indexed; next try {until}")
            }
            Self::Unreadable { id, reason, until } => {
                format!("the history of session {id} cannot be read: {reason}; next try {until}")
            }
        }
    }

    /// What to do about it.
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
            let told = degraded.what();
            assert!(told.contains(what) && told.contains("next try 1970"), "{told}");
            assert!(degraded.fix().contains(fix), "{}", degraded.fix());
        }
    }
}
