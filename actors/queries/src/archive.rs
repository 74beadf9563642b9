//! A home as a whole: what its log comes to, written out as one file and built anew from such a file.
//!
//! | file | owns |
//! |---|---|
//! | `stats` | what a log comes to, told of a home that nobody has open |
//! | `source` | where the log is read: the daemon, or the segments |
//! | `export`, `spool` | writing it out; conversations on their way |
//! | `import`, `incoming` | building a home of a file, line by line |

mod export;
mod import;
mod incoming;
mod source;
mod spool;
mod stats;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use baton_conversation::record::Position;
use baton_protocol::Progress;

use baton_journal::offline;
use baton_store::chunks;

pub(crate) use export::note_notes;
pub use export::{Exported, Wanted, export};
pub use import::{Built, clear, import};
pub use source::{Offline, Source};
pub(crate) use stats::fill;
pub use stats::stats;

/// Records or lines between two reports of progress.
const PROGRESS_RECORDS: u64 = 1000;

/// Reports every 1000th record, and the last one.
fn report_progress(progress: &mut dyn FnMut(&Progress), what: &str, done: u64, total: u64) {
    if done.is_multiple_of(PROGRESS_RECORDS) || done == total {
        progress(&Progress { what: what.to_owned(), done, total });
    }
}

/// Why a home was not exported or imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] offline::Error),
    /// Whoever has the log open did not give it.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The session that was asked for is none, or several.
    #[error("{0}")]
    NoSession(String),
    /// A record that is no line of text.
    #[error("the record at position {position} cannot be written as a line")]
    NoLine {
        /// Which one.
        position: Position,
    },
    /// Reading twice gave different records.
    #[error("the log gave {found} records where it had given {expected}; run the command again")]
    Changed {
        /// The first time.
        expected: u64,
        /// The second time.
        found: u64,
    },
    /// Conversations could not be kept on their way.
    #[error(
        "cannot keep conversations in a temporary file: {0}; free disk space, or set TMPDIR to where there is some"
    )]
    Spool(#[source] io::Error),
    /// The export could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[source] io::Error),
}

/// Why a home was not built of an export. It is as empty as it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There are events already.
    #[error(
        "{} has events already, and an import builds a whole home: set BATON_HOME to a folder that is new; `baton replay` reads \
         the file without importing it",
        home.display()
    )]
    NotEmpty {
        /// The home.
        home: PathBuf,
    },
    /// There are conversations, and no events.
    #[error("{} has conversations of no event: move that folder away, or set BATON_HOME to a folder that is new", folder.display())]
    Orphans {
        /// Where they lie.
        folder: PathBuf,
    },
    /// There is what a repair or a start put aside, which may be the only copy of it.
    #[error(
        "{} keeps what was cut off or put aside: move that folder away, or set BATON_HOME to a folder that is new",
        folder.display()
    )]
    Kept {
        /// Where it lies.
        folder: PathBuf,
    },
    /// The file is not what it must be.
    #[error("line {line} of the file: {refusal}")]
    Refused {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// What was written does not come back.
    #[error("the log in {} is not what was written there a moment ago: is the disk all right?", log.display())]
    NotRead {
        /// The log in the making.
        log: PathBuf,
    },
    /// A log could not be read.
    #[error(transparent)]
    Offline(#[from] offline::Error),
    /// The log could not be written.
    #[error("cannot write the log: {0}; free disk space and import again")]
    Log(#[source] io::Error),
    /// A conversation could not be written.
    #[error(transparent)]
    Chunks(#[from] chunks::Error),
    /// The system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is wrong with a line of a file that was to be imported.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file is something else.
    #[error("it does not begin as an export of `baton log export` does")]
    NoExport,
    /// Something was left out or redacted.
    #[error(
        "the export is filtered or redacted, and a home needs all of it: that is for `baton replay`; `baton log export` without \
         a selection, and with `--unredacted` if need be, writes a whole one"
    )]
    Filtered,
    /// A newer version wrote it.
    #[error("{0}: a newer version of Baton wrote it; install that one and import again")]
    Newer(String),
    /// The file ends too early.
    #[error("the file ends here and has no last line: it was cut off; export or copy it again")]
    CutOff,
    /// A line without an end.
    #[error("it has more than {bound} bytes, which no line of an export has")]
    LongLine {
        /// How many it may have.
        bound: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("it is no text")]
    NoText,
    /// Another line than an export has.
    #[error("it is no line of an export: {0}")]
    NoLine(String),
    /// An event that is not as it was recorded.
    #[error("{0}")]
    Record(String),
    /// A conversation or note that is not as it was stored.
    #[error("what it holds is not what it is named by: {0}")]
    Content(String),
    /// Something where it may not be.
    #[error("{0}")]
    Misplaced(&'static str),
    /// The parts do not make the whole.
    #[error("the file is not whole: {0}")]
    Ends(String),
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
}
