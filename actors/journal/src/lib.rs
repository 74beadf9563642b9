//! The journal: the append-only log of every event, and the only truth.
//!
//! [`Journal`] is the contract. [`DiskJournal`] keeps it on disk (segment files are the truth, sled is the index that
//! reads go to); [`MemoryJournal`] keeps it in memory for tests and simulations. Both pass one conformance suite.
//!
//! A module uses only modules of lower layers. From the bottom:
//!
//! | layer | module | owns |
//! |---|---|---|
//! | bytes | `files` | the file operations under the writer and the sealer, replaceable by tests |
//! | | `ledger` | expected versions, positions and the hash chain, decided in memory before anything is written |
//! | | `segment` | the format of segments, plain and sealed; telling a torn tail from damage; the files in their folder |
//! | | `index` | the whole log by position and by stream, in sled; disposable |
//! | write | `writer` | appends to segments; recovers from a failed write or sync |
//! | | `checkpoint` | a head and a folded row for each stream, kept in the index, so that an open reads less |
//! | open | `recovery` | verifies, cuts a torn tail, restores from the index, catches the index up or rebuilds it |
//! | run | `shared_state` | the state that the threads below write and readers read |
//! | | `sealer` | the thread that compresses full segments |
//! | | `committer` | the one thread that writes: group commit, index, fold, answers |
//! | | `compact` | rewrites the index while the log goes on |
//! | offline | `verify` | reads everything and reports what is not as it was written; also on an open log |
//! | | `repair` | cuts a damaged log off where it is still whole |
//! | | `offline`, `refill` | read the segments of a closed log; write a new log from the records of another |
//! | handle | `disk`, `memory` | the two journals |
//! | on top | `session_stream`, `session_table` | one session's events; the fold that keeps the session table |
//! | | `vitals` | ends the daemon when its home or its log is lost |

use std::pin::Pin;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};

mod checkpoint;
mod committer;
pub mod compact;
mod disk;
pub mod files;
mod index;
mod ledger;
mod memory;
pub mod offline;
mod recovery;
pub mod refill;
pub mod repair;
mod sealer;
mod segment;
pub mod session_stream;
pub mod session_table;
mod shared_state;
pub mod verify;
pub mod vitals;
mod writer;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;

pub use compact::{CompactError, Rewritten};
pub use disk::{DiskJournal, Options};
pub use memory::MemoryJournal;
pub use recovery::{Cut, OpenError, Recovery};
pub use verify::{Auditor, Finding, Verified};

/// Longest encoded record. Sled keeps values over 128 KiB as one file each and never removes them promptly.
pub const RECORD_MAX_BYTES: usize = 60 * 1024;
/// Longest name of a stream: `session:` and the longest session id, with room.
pub const STREAM_MAX_BYTES: usize = 512;
/// Most records of one append: an aggregate records a handful.
pub const APPEND_MAX_RECORDS: usize = 256;
/// Most bytes of one append, envelopes included.
pub const APPEND_MAX_BYTES: usize = 1024 * 1024;
/// Most records one read gives, whatever was asked for: what a reader holds at once.
pub const READ_MAX_RECORDS: usize = 4096;
/// A read ends with the record that reaches this many bytes: what a reader holds at once, whatever the records' size.
pub const READ_MAX_BYTES: usize = 8 * 1024 * 1024;

/// The append-only log of every event.
///
/// What every implementation promises:
///
/// * **Places.** Sequences of a stream are 1, 2, 3 … without gaps; positions of the journal likewise. The records of
///   one append stand side by side.
/// * **Optimistic appends.** An append names the version of the stream its caller believes in: the sequence of its
///   last record, 0 for none. If that is wrong nothing is written and the answer is a conflict.
/// * **All or nothing, then durable.** An append is stored wholly or not at all, also after a crash. `Ok` comes after it is on disk (for
///   an implementation that has one), after the [`Fold`] has seen and published it, and after it can be read.
/// * **A fold is never ahead of the disk**, and sees every record once, in order, from position 1.
/// * **Order.** Appends are decided one after another. Two appends by one caller that does not wait between them are
///   usually, but not always, decided in the order of the calls: the expected version is what protects.
pub trait Journal: Send + Sync {
    /// Asks for `batch` to be stored at the end of `stream`. The wish is queued when this returns, if the queue has
    /// room; else the future waits for room. Dropping the future of a queued append does not take it back.
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack;

    /// Records from position `from` (included) on, at most `limit`, and no more than about [`READ_MAX_RECORDS`] or
    /// [`READ_MAX_BYTES`], none behind [`Journal::tail`]. Empty only at the end. Blocks for a short disk read.
    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError>;

    /// As [`Journal::read`], but each record's bytes as they are stored, with the chain hash at it: decoding and encoding
    /// gives other bytes for a record that an older version wrote.
    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError>;

    /// Records of one stream after sequence `after` (0: from the first), bounded like [`Journal::read`]. A stream
    /// that nobody wrote to is empty.
    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError>;

    /// The end of what is durable and readable.
    fn tail(&self) -> Tail;

    /// The chain hash at a position, to judge a checkpoint by: `None` if the journal does not reach that far.
    /// Position 0 has [`ChainHash::GENESIS`].
    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError>;

    /// Sizes, and what is wrong.
    fn stats(&self) -> Stats;

    /// Why it has closed by itself and takes nothing any more: only opening it anew helps. `None` as long as it works.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Writes the index anew, so that it takes no more room than it needs; nothing of the log changes. `go_on` is asked now
    /// and then, with the records done and all there are: on `false` everything is as it was. Appends wait once for a moment;
    /// reads never. Blocks: seconds per million records. A journal without an index has nothing to do.
    fn compact(&self, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<Rewritten, CompactError> {
        let _ = go_on;
        Ok(Rewritten::default())
    }

    /// Reads everything that is stored up to the tail and says what is not as it was written. It changes nothing, and appends
    /// and reads go on. Blocks: seconds per million records. An error means that nothing could be read at all.
    fn verify(&self, auditor: &mut dyn Auditor) -> Result<Verified, ReadError> {
        verify::read_through(self.tail(), &|from| self.read(from, READ_MAX_RECORDS), auditor)
    }

    /// Writes what is queued, flushes, and lets go of the files. Later appends and reads answer `Closed`. May be
    /// called again. Blocks: not for an async worker.
    fn close(&self);
}

/// The answer of an append, when it comes.
pub type Ack = Pin<Box<dyn Future<Output = Result<Appended, AppendError>> + Send>>;

/// A view that is folded from the journal as it is written, in the committer's own thread.
///
/// `apply` is called once for every record, in order, from position 1: while the journal opens, then after each
/// durable batch. `publish` is called once after opening and once per batch, before the batch is acknowledged: who
/// has an acknowledgement finds it in the published view. Both must be quick and must not panic.
///
/// A fold that has [`Rows`] is spared most of it: they are kept in the index, and an opening applies only what came
/// after them.
pub trait Fold: Send {
    /// Takes one record in. Unknown types are skipped and counted, never refused.
    fn apply(&mut self, record: &StoredRecord);
    /// Shows readers the view as of `tail`.
    fn publish(&mut self, tail: Tail);
    /// The view as rows that a checkpoint can keep. `None`, the usual answer: each opening folds the whole log.
    fn rows(&mut self) -> Option<&mut dyn Rows> {
        None
    }
}

/// A view with a row for each stream, which depends on the records of that stream alone. A checkpoint keeps the rows
/// that have changed since the last one.
pub trait Rows {
    /// The form of the rows: a checkpoint of another form is ignored, and everything folded anew.
    fn form(&self) -> u32;
    /// What to keep of one stream; `None` where the view has nothing of it.
    fn row(&self, stream: &StreamId) -> Option<String>;
    /// How many records could not be read.
    fn skipped(&self) -> u64;
    /// Puts one row back. `false` if it cannot be understood: then the whole checkpoint is ignored.
    fn restore(&mut self, stream: &StreamId, row: &str) -> bool;
    /// All rows are back, and the records after `position` are applied next. A crash may leave a row that is newer than
    /// the checkpoint: records that it holds already come again, and are known by their sequence.
    fn restored(&mut self, position: Position, skipped: u64);
    /// Forgets everything: the records come from position 1 on.
    fn clear(&mut self);
}

/// Nothing is folded.
impl Fold for () {
    fn apply(&mut self, _record: &StoredRecord) {}
    fn publish(&mut self, _tail: Tail) {}
}

/// A record as it is stored, to the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Its place.
    pub position: Position,
    /// Its bytes, the format byte included.
    pub bytes: Vec<u8>,
    /// The chain hash at it.
    pub chain: ChainHash,
}

/// Where an append was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Position of the first record.
    pub first: Position,
    /// Position of the last record.
    pub last: Position,
    /// Sequence of the last record: the stream's new version.
    pub last_sequence: SequenceNumber,
}

/// Why an append was not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The stream is at another version than the caller believes.
    #[error("the stream is at version {}, not at the expected one", actual.0)]
    Conflict {
        /// The version it is at.
        actual: SequenceNumber,
    },
    /// It could not be written; nothing of it is stored.
    #[error("the log cannot be written: {reason}")]
    Refused {
        /// What failed.
        reason: String,
        /// Whether the same append may succeed later (a full disk) or never will (data that is no JSON).
        retriable: bool,
    },
    /// The append is over a bound: [`RECORD_MAX_BYTES`], [`STREAM_MAX_BYTES`], [`APPEND_MAX_RECORDS`] or
    /// [`APPEND_MAX_BYTES`].
    #[error("{what} is {size}, over the bound of {bound}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        bound: usize,
    },
    /// The journal is closed, or its committer ended. In the second case whether the append was stored is only found
    /// out by reading.
    #[error("the log is closed")]
    Closed,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The journal is closed.
    #[error("the log is closed")]
    Closed,
    /// Neither the index nor the segments gave the records.
    #[error("the log cannot be read at position {position}: {reason}")]
    Failed {
        /// The first position that could not be read.
        position: Position,
        /// What failed.
        reason: String,
    },
}

/// Sizes of a journal, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Records stored.
    pub events: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of segment files on disk, sealed ones as they are.
    pub bytes: u64,
    /// Bytes that an index written anew would be given to hold; `None` when that is not known, or there is no index. sled takes
    /// more on disk.
    pub index_live_bytes: Option<u64>,
    /// What is wrong and what it means, for `status`. `None` when all is well.
    pub problem: Option<String>,
    /// Whether the index was lost: everything is read from the segments until [`Journal::compact`] has built another.
    pub index_lost: bool,
}
