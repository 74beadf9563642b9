//! Exports a home to one file, and imports a home from such a file.
//!
//! | file | owns |
//! |---|---|
//! | `stats` | statistics of the log of a home that no daemon has open |
//! | `source` | reads the log, from the daemon or from the segments |
//! | `export`, `spool` | writes the file; buffers conversations |
//! | `import`, `import_lines` | builds a home from the file, line by line |

mod export;
mod import;
mod import_lines;
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

pub(crate) use export::track_notes;
pub use export::{ExportRequest, ExportSummary, export};
pub use import::{ImportSummary, clear, import};
pub use source::{Offline, Source};
pub use stats::{fill_from_table, read_stats};

/// Records or lines between two reports of progress.
const PROGRESS_RECORDS: u64 = 1000;

/// Reports every 1000th record, and the last one.
fn report_progress(progress: &mut dyn FnMut(&Progress), what: &str, done: u64, total: u64) {
    if done.is_multiple_of(PROGRESS_RECORDS) || done == total {
        progress(&Progress { what: what.to_owned(), done, total });
    }
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] offline::Error),
    /// The daemon that has the log open did not return it.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The requested session does not exist, or the prefix fits several.
    #[error("{0}")]
    NoSession(String),
    /// A record that cannot be written as a line of text.
    #[error("the record at position {position} cannot be written as a line")]
    NoLine {
        /// Position of the record.
        position: Position,
    },
    /// Two readings of the log returned different numbers of records.
    #[error("the log gave {found} records where it had given {expected}; run the command again")]
    Changed {
        /// Records of the first reading.
        expected: u64,
        /// Records of the second reading.
        found: u64,
    },
    /// The temporary file for conversations could not be written.
    #[error(
        "cannot keep conversations in a temporary file: {0}; free disk space, or set TMPDIR to where there is some"
    )]
    Spool(#[source] io::Error),
    /// The export could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[source] io::Error),
}

/// Why an import failed. The home is as empty as before.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The home already has events.
    #[error(
        "{} has events already, and an import builds a whole home: set BATON_HOME to a folder that is new; `baton replay` reads \
         the file without importing it",
        home.display()
    )]
    NotEmpty {
        /// The home.
        home: PathBuf,
    },
    /// The home has conversations but no events.
    #[error("{} has conversations of no event: move that folder away, or set BATON_HOME to a folder that is new", folder.display())]
    Orphans {
        /// Where they are.
        folder: PathBuf,
    },
    /// A repair or a start moved something aside, which may be the only copy.
    #[error(
        "{} keeps what was cut off or put aside: move that folder away, or set BATON_HOME to a folder that is new",
        folder.display()
    )]
    Kept {
        /// Where it is.
        folder: PathBuf,
    },
    /// A line of the file is not valid.
    #[error("line {line} of the file: {refusal}")]
    Refused {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// The written log reads back differently.
    #[error("the log in {} reads back differently from what was written: check the disk", log.display())]
    NotRead {
        /// The new log.
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
    /// A file-system operation failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Why a line of an import file is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file is not an export.
    #[error("it does not begin like a file of `baton log export`")]
    NoExport,
    /// The export was filtered or redacted.
    #[error(
        "the export is filtered or redacted, and a home needs all of it: that is for `baton replay`; `baton log export` without \
         a selection, and with `--unredacted` if need be, writes a whole one"
    )]
    Filtered,
    /// A newer version wrote it.
    #[error("{0}: a newer version of Baton wrote it; install that one and import again")]
    Newer(String),
    /// The file ends before its last line.
    #[error("the file ends here and has no last line: it was cut off; export or copy it again")]
    CutOff,
    /// A line without an end within the bound.
    #[error("it has more than {bound} bytes, more than any line of an export")]
    LongLine {
        /// Longest allowed line, in bytes.
        bound: usize,
    },
    /// The line is not UTF-8.
    #[error("it is not UTF-8 text")]
    NoText,
    /// The line is no known line of an export.
    #[error("it is not a line of an export: {0}")]
    NoLine(String),
    /// A record that is not as it was recorded.
    #[error("{0}")]
    Record(String),
    /// A conversation or note that does not match its hash.
    #[error("its content does not match its name: {0}")]
    Content(String),
    /// A line in the wrong place.
    #[error("{0}")]
    Misplaced(&'static str),
    /// The totals of the last line do not match what came before.
    #[error("the file is not whole: {0}")]
    Ends(String),
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
}
