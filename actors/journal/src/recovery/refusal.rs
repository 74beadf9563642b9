//! Why a log was not opened, worded so that a person can act on it.

use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;

use super::super::segment::scan::{Damaged, ScanError};

/// Why a log was not opened. No record was touched, except with `Io`: a repair may then be half done, and the next open
/// completes it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file could not be read or written.
    #[error("cannot open the log: {what} {}: {source}{}", path.display(), advice_for(source))]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Records that were certainly on disk are bad or missing.
    #[error(
        "the log is damaged: {} at byte {offset}, position {position}: {what}. No record was touched. `baton log verify` \
         shows all damage. Restore that file from a backup; or {}go on without the rest with `baton log repair \
         --cut-at {position}`, which keeps what it cuts in {}: transcripts that still exist are read again",
        segment.display(),
        export_advice(*position),
        log.display()
    )]
    Damaged {
        /// The segment file.
        segment: PathBuf,
        /// Offset of the damage.
        offset: u64,
        /// The position of the first record that is bad or missing, or of the first one of its append.
        position: Position,
        /// What is wrong there.
        what: String,
        /// The folder of the log.
        log: PathBuf,
    },
    /// The log contains something that only a newer version of this program understands.
    #[error(
        "cannot open the log: {} at position {position}: {what}. Update baton, or start the version that you used last; \
         nothing was changed",
        segment.display()
    )]
    Newer {
        /// The segment file.
        segment: PathBuf,
        /// Position of the first record concerned.
        position: Position,
        /// What is not understood.
        what: String,
    },
    /// Another process has the log open.
    #[error("another process has the log open ({0}); stop it with `baton stop`, or wait until it has ended")]
    InUse(String),
}

impl OpenError {
    /// The refusal to open the log in folder `log`, whose segments cannot be read on.
    pub(super) fn new(error: ScanError, log: &Path) -> Self {
        match error {
            ScanError::Io { what, place, source } => Self::Io { what, path: place.path, source },
            ScanError::Newer(Damaged { path, position, what, .. }) => Self::Newer { segment: path, position, what },
            ScanError::Damaged(Damaged { path, offset, position, what, .. }) => {
                Self::Damaged { segment: path, offset, position, what, log: log.to_owned() }
            }
        }
    }
}

/// How to save the records before a position; empty if there are none.
fn export_advice(position: Position) -> &'static str {
    match position {
        Position(0 | 1) => "",
        _ => "save what lies before it with `baton log export --unredacted -o FILE`, and ",
    }
}

/// What to do about a system error; empty if unknown.
fn advice_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ". The disk is full: make room there and start again; nothing that was acknowledged is lost"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ". That file system is mounted read-only: mount it for writing, or set BATON_HOME to a folder elsewhere"
        }
        io::ErrorKind::PermissionDenied => {
            ". You may not write to it: give it back to your user (a command run with sudo may have created it), or set \
             BATON_HOME to a folder of your own"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &OpenError, expected: &[&str]) {
        let text = error.to_string();
        for part in expected {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
        assert!(!text.contains("  "), "{text:?}");
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let io = |kind: io::ErrorKind| OpenError::Io { what: "write to", path: "/h/log".into(), source: kind.into() };
        check(&io(io::ErrorKind::StorageFull), &["cannot open the log: write to /h/log: ", "make room there"]);
        check(&io(io::ErrorKind::QuotaExceeded), &["make room there"]);
        check(&io(io::ErrorKind::ReadOnlyFilesystem), &["mount it for writing", "BATON_HOME"]);
        check(&io(io::ErrorKind::PermissionDenied), &["give it back to your user", "BATON_HOME"]);
        check(&io(io::ErrorKind::Other), &["/h/log"]);
        let damaged = |position| OpenError::Damaged {
            segment: "/h/log/segments/0002.seg".into(),
            offset: 56,
            position: Position(position),
            what: "a record does not match its chain hash".into(),
            log: "/h/log".into(),
        };
        check(&damaged(1), &["from a backup; or go on without the rest with `baton log repair --cut-at 1`"]);
        check(
            &damaged(41),
            &[
                "0002.seg at byte 56, position 41: a record",
                "baton log verify",
                "save what lies before it with `baton log export --unredacted -o FILE`, and go on",
                "baton log repair --cut-at 41",
                "Restore that file from a backup",
            ],
        );
        let what = "its format 2 is unknown: it was written by a newer version of this program".to_owned();
        let newer = OpenError::Newer { segment: "/h/log/segments/0001.seg".into(), position: Position(1), what };
        check(&newer, &["0001.seg at position 1: its format 2", "newer version of this program. Update baton"]);
        check(&OpenError::InUse("WouldBlock".into()), &["baton stop"]);
    }
}
