//! Files with many sessions, each read as a transcript of its own.
//!
//! Such a session has a path of its own that does not exist on the disk: the file's, a separator, and the session's id.
//! Its lines are made of the file's bytes, as those of a [`Document`](super::Document).

use std::ops::Range;

use crate::record::SessionId;

/// How an agent's file with many sessions is read.
#[derive(Clone, Copy, Debug)]
pub struct SessionFile {
    /// The file's name.
    pub name: &'static str,
    /// The sessions in a file, in order, by its path and content.
    pub sessions: fn(&str, &[u8]) -> Vec<StoredSession>,
    /// The lines of one session, each with a newline; `None` if the file does not have it.
    pub lines: fn(&StoredPath<'_>, &[u8], &WallClock<'_>) -> Option<Vec<u8>>,
}

/// One session of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id, which stays the same as long as the file is only extended.
    pub session: SessionId,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// When it began, by the clock on the wall where the agent ran, in milliseconds as if that were UTC.
    pub began: Option<i64>,
}

/// The path of a session in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredPath<'p> {
    /// The file.
    pub file: &'p str,
    /// The session's id.
    pub session: &'p str,
}

/// Turns a time of the clock on the wall into milliseconds since 1970.
pub type WallClock<'c> = dyn Fn(i64) -> i64 + 'c;

impl SessionFile {
    /// Takes the path of a session apart; `None` if it is no such path.
    pub fn split<'p>(&self, path: &'p str) -> Option<StoredPath<'p>> {
        let (file, session) = path.rsplit_once(['/', '\\'])?;
        let above = file.strip_suffix(self.name)?;
        above.ends_with(['/', '\\']).then_some(StoredPath { file, session })
    }

    /// The path of a session in the file at `file`.
    pub fn path_of(file: &str, session: &SessionId) -> String {
        format!("{file}/{session}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_path_names_its_file() {
        let file = SessionFile { name: ".history", sessions: |_, _| Vec::new(), lines: |_, _, _| None };
        let id = SessionId::new("0a1b").unwrap();
        let path = SessionFile::path_of("/srv/shop/.history", &id);
        assert_eq!(file.split(&path), Some(StoredPath { file: "/srv/shop/.history", session: "0a1b" }));
        for none in ["/srv/shop/.history", "/srv/shop/x.history/0a1b", "/srv/.history/a/b", ".history/0a1b", ""] {
            assert_eq!(file.split(none), None, "{none}");
        }
    }
}
