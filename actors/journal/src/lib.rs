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
//! | | `segment` | the format of segments, plain and sealed; the files in their folder; the one scan over them, which tells a torn tail from damage |
//! | | `index` | the log by position and by stream as of the last flush, in sled; disposable |
//! | | `unflushed` | the records since then, in memory |
//! | write | `writer` | appends to segments; recovers from a failed write or sync |
//! | | `checkpoint` | what a flush writes to the index: also a folded row for each stream, so that an open reads less |
//! | open | `recovery` | verifies, cuts a torn tail, restores from the index, reads what the index lacks or rebuilds it |
//! | run | `shared_state` | the state that the threads below write and readers read |
//! | | `sealer` | the thread that compresses full segments |
//! | | `committer` | the one thread that writes: group commit, fold, answers, and now and then the index |
//! | | `index_rewrite` | rewrites the index while the log stays open |
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
mod disk;
pub mod files;
mod index;
pub mod index_rewrite;
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
mod unflushed;
pub mod verify;
pub mod vitals;
mod writer;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;

pub use disk::{DiskJournal, Options};
pub use index_rewrite::{CompactError, Rewritten};
pub use memory::MemoryJournal;
pub use recovery::{Cut, OpenError, Recovery};
pub use verify::{Finding, Verified, VerifyVisitor};

/// Longest encoded record. sled keeps a value over 128 KiB in a file of its own and is slow to remove it.
pub const RECORD_MAX_BYTES: usize = 60 * 1024;
/// Longest stream name: `session:` and the longest session id, with room to spare.
pub const STREAM_MAX_BYTES: usize = 512;
/// Most records of one append; an aggregate records a handful.
pub const APPEND_MAX_RECORDS: usize = 256;
/// Most bytes of one append, including the envelopes.
pub const APPEND_MAX_BYTES: usize = 1024 * 1024;
/// Most records that one read returns, whatever its limit: bounds what a reader holds in memory.
pub const READ_MAX_RECORDS: usize = 4096;
/// A read ends with the record that reaches this many bytes: bounds memory whatever the size of the records.
pub const READ_MAX_BYTES: usize = 8 * 1024 * 1024;

/// The append-only log of every event.
///
/// Every implementation promises:
///
/// * **No gaps.** Sequences of a stream are 1, 2, 3 …; so are positions of the journal. The records of one append are
///   adjacent.
/// * **Optimistic appends.** An append names the version that its caller expects the stream to have: the sequence of
///   its last record, 0 for an empty stream. If that is wrong, nothing is written and the answer is a conflict.
/// * **All or nothing, then durable.** An append is stored completely or not at all, also after a crash. `Ok` is
///   returned only after the append is on disk (for an implementation that has one), the [`Fold`] has applied and
///   published it, and readers can read it.
/// * **A fold is never ahead of the disk** and sees every record once, in order, from position 1 or from its
///   checkpoint.
/// * **Order.** Appends are decided one after another. Two appends that a caller issues without waiting in between are
///   usually, but not always, decided in the order of the calls; rely on the expected version.
pub trait Journal: Send + Sync {
    /// Appends `batch` at the end of `stream`. If the queue has room, the append is queued before this returns;
    /// otherwise the future waits for room. Dropping the future does not cancel an append that is queued.
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack;

    /// Returns records from position `from` (inclusive) on: at most `limit`, at most about [`READ_MAX_RECORDS`] or
    /// [`READ_MAX_BYTES`], and none after [`Journal::tail`]. Empty only at the end. Blocks for a short disk read.
    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError>;

    /// Like [`Journal::read`], but returns each record's stored bytes and the chain hash at it. Decoding and encoding a
    /// record that an older version wrote would give other bytes.
    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError>;

    /// Returns records of one stream after sequence `after` (0 for all), bounded like [`Journal::read`]. Empty for an
    /// unknown stream.
    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError>;

    /// The end of what is durable and readable.
    fn tail(&self) -> Tail;

    /// Returns the chain hash at a position, to check a checkpoint against; `None` if the journal ends before it.
    /// Position 0 has [`ChainHash::GENESIS`].
    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError>;

    /// Returns sizes and the current problem, if there is one.
    fn stats(&self) -> Stats;

    /// Why the journal has closed itself and accepts no more appends; only reopening helps. `None` while it works.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Rewrites the index so that it takes no more room than it needs; the log does not change. Calls `go_on` now and
    /// then with the records done and the total; if it returns `false`, the index stays as it was. Appends wait once,
    /// for a moment; reads never do. Blocks for seconds per million records. Does nothing for a journal without an
    /// index.
    fn compact(&self, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<Rewritten, CompactError> {
        let _ = go_on;
        Ok(Rewritten::default())
    }

    /// Reads everything up to the tail and reports what is not as it was written. Changes nothing; appends and reads go
    /// on meanwhile. Blocks for seconds per million records. Fails only if nothing could be read at all.
    fn verify(&self, auditor: &mut dyn VerifyVisitor) -> Result<Verified, ReadError> {
        verify::read_through(self.tail(), &|from| self.read(from, READ_MAX_RECORDS), auditor)
    }

    /// Writes what is queued, flushes and closes the files. Later appends and reads fail with `Closed`. Idempotent.
    /// Blocks: do not call it from an async worker.
    fn close(&self);
}

/// The answer to an append, as a future.
pub type Ack = Pin<Box<dyn Future<Output = Result<Appended, AppendError>> + Send>>;

/// A view that is folded from the journal as it is written, on the committer's thread.
///
/// `apply` is called once for every record, in order, from position 1: while the journal opens, then after each durable
/// batch. `publish` is called once after opening and once per batch, before the batch is acknowledged, so that a caller
/// with an acknowledgement finds its append in the published view. Both must be quick and must not panic.
///
/// For a fold with [`Rows`] an open skips most of that: the rows are kept in the index, and only later records are
/// applied.
pub trait Fold: Send {
    /// Applies one record. Unknown types are skipped and counted, never refused.
    fn apply(&mut self, record: &StoredRecord);
    /// Publishes the view as of `tail` to readers.
    fn publish(&mut self, tail: Tail);
    /// The view as rows that a checkpoint can keep. With `None`, the default, every open folds the whole log.
    fn rows(&mut self) -> Option<&mut dyn Rows> {
        None
    }
}

/// A view with one row per stream, each derived from the records of that stream alone. A checkpoint writes only the
/// rows that have changed since the last one.
pub trait Rows {
    /// Version of the rows' format. A checkpoint of another version is ignored, and the whole log is folded again.
    fn form(&self) -> u32;
    /// A text like a row, against which rows are compressed; it must not change while the form stays.
    fn dictionary(&self) -> &'static str;
    /// The row to keep for a stream; `None` if the view has none.
    fn row(&self, stream: &StreamId) -> Option<String>;
    /// Number of records that could not be decoded.
    fn skipped(&self) -> u64;
    /// Restores one row. Returns `false` if it cannot be decoded; the whole checkpoint is then ignored.
    fn restore(&mut self, stream: &StreamId, row: &str) -> bool;
    /// Called when all rows are restored; the records after `position` are applied next. After a crash a row may be
    /// newer than the checkpoint: records that it already contains come again and are recognised by their sequence.
    fn restored(&mut self, position: Position, skipped: u64);
    /// Discards everything; the records follow from position 1.
    fn clear(&mut self);
}

/// Folds nothing.
impl Fold for () {
    fn apply(&mut self, _record: &StoredRecord) {}
    fn publish(&mut self, _tail: Tail) {}
}

/// A record exactly as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Its position.
    pub position: Position,
    /// Its bytes, including the format byte.
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
    /// The stream is at another version than the caller expected.
    #[error("the stream is at version {}, not at the expected one", actual.0)]
    Conflict {
        /// The stream's actual version.
        actual: SequenceNumber,
    },
    /// It could not be written; none of it is stored.
    #[error("the log cannot be written: {reason}")]
    Refused {
        /// What failed.
        reason: String,
        /// True if the same append may succeed later (a full disk); false if it never will (data that is not JSON).
        retriable: bool,
    },
    /// The append exceeds [`RECORD_MAX_BYTES`], [`STREAM_MAX_BYTES`], [`APPEND_MAX_RECORDS`] or [`APPEND_MAX_BYTES`].
    #[error("{what} is {size}, over the bound of {bound}")]
    TooLarge {
        /// The quantity that is too large.
        what: &'static str,
        /// Its value.
        size: usize,
        /// Its maximum.
        bound: usize,
    },
    /// The journal is closed, or its committer has failed. After a failure only a read tells whether the append was
    /// stored.
    #[error("the log is closed")]
    Closed,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The journal is closed.
    #[error("the log is closed")]
    Closed,
    /// Neither the index nor the segments returned the records.
    #[error("the log cannot be read at position {position}: {reason}")]
    Failed {
        /// The first position that could not be read.
        position: Position,
        /// What failed.
        reason: String,
    },
}

/// Sizes of a journal, and its current problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of records.
    pub events: u64,
    /// Number of segment files.
    pub segments: u64,
    /// Bytes of the segment files on disk; sealed ones count as compressed.
    pub bytes: u64,
    /// Bytes of all keys and values that a rewritten index would hold; sled takes more on disk. `None` if unknown, or
    /// if there is no index.
    pub index_live_bytes: Option<u64>,
    /// What is wrong and what that means, for `status`; `None` when all is well.
    pub problem: Option<String>,
    /// True if the index was lost: reads scan the segments until [`Journal::compact`] has built another.
    pub index_lost: bool,
}
