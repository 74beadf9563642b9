//! Why a log is not opened, said so that a person can act.

use std::io;
use std::path::PathBuf;

use baton_events::record::Position;

/// Why a log was not opened. No record was touched, except with `Io`, where a repair may be half done and is taken up
/// by the next attempt.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file could not be read or written.
    #[error("cannot open the log: {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Records that were on the disk for certain are bad or missing.
    #[error(
        "the log is damaged: {} at byte {offset}, position {position}: {what}. No record was touched. Put that file back \
         from a backup; or, to begin anew, move the folder {} away: transcripts that are still there are read again",
        segment.display(),
        log.display()
    )]
    Damaged {
        /// The segment file.
        segment: PathBuf,
        /// Where in it.
        offset: u64,
        /// The position of the first record that is bad or missing.
        position: Position,
        /// What is wrong there.
        what: String,
        /// The folder of the log.
        log: PathBuf,
    },
    /// The log holds what only a newer version of this program understands.
    #[error("the log was written by a newer version of this program ({}, position {position}): {what}", segment.display())]
    Newer {
        /// The segment file.
        segment: PathBuf,
        /// Position of the first record concerned.
        position: Position,
        /// What is not understood.
        what: String,
    },
    /// Another process has the log open.
    #[error("another process has the log open: {0}")]
    InUse(String),
}
