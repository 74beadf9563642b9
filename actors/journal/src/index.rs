//! The index: the whole log in sled, by position and by stream. Reads and restarts use it, but it is never the truth:
//! if anything is wrong with it, it is put aside and rebuilt from the segments.
//!
//! sled 0.34 deadlocks under concurrent `flush_async`, does not sync on `flush`, and may fail or panic while it opens.
//! So one thread writes, `flush` is followed by our own `sync_data`, and every call is guarded.
//!
//! Everything is in one tree. Integers in keys are big-endian.
//!
//! | key | value |
//! |---|---|
//! | `g`, first position | a group of records, packed |
//! | `s`, length of the stream's name, name, number | a full chunk of the positions of its records |
//! | `t`, name of a stream | its head, its last positions, the view's row; see `checkpoint` |
//! | `c` | how far all of that goes, see [`Checkpoint`] |
//!
//! sled writes a whole page for every value that changes in it, several times over as pages split and are consolidated.
//! So it is written rarely, by a flush, which takes in all records since the last one: as large groups, compressed, and
//! with one row for each stream. A flush writes `c` last. sled recovers a prefix of what it was given, so what `c` says
//! is there; of what lies beyond it, groups are removed by the next flush and rows are cut.
//!
//! # Hazards
//!
//! - A crash can leave sled unopenable; the guarded open puts it aside and rebuilds it. `panic = "abort"` would defeat
//!   that guard and the supervision.
//! - After very many events in one run the next open takes seconds once: sled writes its snapshot when it opens.

use std::fs::{File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::READ_MAX_BYTES;

mod folders;
pub(super) mod group;
mod opening;
pub(super) mod positions;

pub use folders::folder_bytes;
pub(super) use folders::{CURRENT, NEW, OLD, remove, remove_old, remove_when_released, swap_in_new};
pub(super) use group::Group;
pub(super) use opening::{open, put_aside};
pub(super) use positions::Row;

/// Advisory: sled needs about 130 MB while it scans a log of 1 GB, whatever is set here.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Most operations of a batch.
const BATCH_OPERATIONS: usize = 127;
/// Most bytes of a batch.
const BATCH_BYTES: usize = 256 * 1024;

const CHECKPOINT: &[u8] = b"c";
/// Prefix of the rows of streams.
const ROW: &[u8] = b"t";
/// Keys that only earlier forms of this index had: a key per record, and how far a batch went.
const EARLIER_FORMS: [&[u8]; 2] = [b"a", b"b"];

/// Why the index did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    Sled(#[from] ::sled::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("sled panicked: {0}")]
    Panicked(String),
    #[error("{0} in the index cannot be decoded")]
    Malformed(&'static str),
    #[error("it has the form of an earlier version")]
    EarlierForm,
    #[error("{error}: {cause}")]
    Disk {
        /// sled's error.
        error: String,
        /// The error of writing a file beside it.
        cause: io::Error,
    },
    #[error("position {0} is missing in the index")]
    Hole(Position),
}

impl Error {
    /// True if another process has the index open. sled gives that error no kind of its own.
    pub(super) fn is_locked_elsewhere(&self) -> bool {
        matches!(self, Self::Sled(::sled::Error::Io(error)) if error.to_string().contains("could not acquire lock"))
    }
}

/// The open index.
pub(super) struct Index {
    db: ::sled::Db,
    /// A second handle on sled's file, to sync what `flush` has written.
    data: File,
}

/// How far the index goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The last record that it has taken in.
    pub(super) tail: Tail,
    /// The form of the view's rows; [`NO_VIEW`] if not all streams have theirs.
    pub(super) form: u32,
    /// How many records the view could not read.
    pub(super) skipped: u64,
    /// Total bytes of all other keys and values.
    pub(super) live_bytes: u64,
}

/// The form of rows without a view.
pub(super) const NO_VIEW: u32 = u32::MAX;

impl Checkpoint {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value = self.tail.position.0.to_be_bytes().to_vec();
        value.extend_from_slice(&self.tail.chain.0);
        value.extend_from_slice(&self.form.to_be_bytes());
        value.extend_from_slice(&self.skipped.to_be_bytes());
        value.extend_from_slice(&self.live_bytes.to_be_bytes());
        value
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (position, rest) = value.split_first_chunk::<8>()?;
        let (chain, rest) = rest.split_first_chunk::<16>()?;
        let (form, rest) = rest.split_first_chunk::<4>()?;
        let (skipped, rest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            tail: Tail { position: Position(u64::from_be_bytes(*position)), chain: ChainHash(*chain) },
            form: u32::from_be_bytes(*form),
            skipped: u64::from_be_bytes(*skipped),
            live_bytes: u64::from_be_bytes(rest.try_into().ok()?),
        })
    }
}

/// A record in the index, with the chain hash at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) chain: ChainHash,
    pub(super) bytes: Vec<u8>,
}

/// Records that are being read: at most `limit`, ending with the one that reaches [`READ_MAX_BYTES`].
pub(super) struct BoundedRead {
    pub(super) records: Vec<(Position, Entry)>,
    limit: usize,
    bytes: usize,
}

impl BoundedRead {
    pub(super) fn new(limit: usize) -> Self {
        Self { records: Vec::new(), limit, bytes: 0 }
    }

    /// True if there is room for another record.
    pub(super) fn goes_on(&self) -> bool {
        self.records.len() < self.limit && self.bytes < READ_MAX_BYTES
    }

    pub(super) fn push(&mut self, position: Position, entry: Entry) {
        self.bytes += entry.bytes.len();
        self.records.push((position, entry));
    }

    /// Adds records that follow, as far as there is room.
    pub(super) fn extend(&mut self, later: Self) {
        for (position, entry) in later.records {
            if self.goes_on() {
                self.push(position, entry);
            }
        }
    }
}

impl Index {
    /// Opens or creates the index in a folder, without any repair.
    pub(super) fn open_unrepaired(folder: &Path) -> Result<Self, Error> {
        catch_panics(|| {
            let db = ::sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(None).open()?;
            let data = OpenOptions::new().read(true).write(true).open(folder.join("db"))?;
            for key in EARLIER_FORMS {
                if db.contains_key(key)? {
                    return Err(Error::EarlierForm);
                }
            }
            let index = Self { db, data };
            index.checkpoint()?;
            Ok(index)
        })
    }

    /// sled itself, for tests that damage it.
    #[cfg(test)]
    pub(super) fn db(&self) -> &::sled::Db {
        &self.db
    }

    /// How far the index goes.
    pub(super) fn checkpoint(&self) -> Result<Checkpoint, Error> {
        catch_panics(|| match self.db.get(CHECKPOINT)? {
            None => Ok(Checkpoint { tail: Tail::default(), form: NO_VIEW, skipped: 0, live_bytes: 0 }),
            Some(value) => Checkpoint::decode(&value).ok_or(Error::Malformed("the checkpoint")),
        })
    }

    /// The last record that the index has taken in.
    pub(super) fn applied(&self) -> Result<Tail, Error> {
        self.checkpoint().map(|checkpoint| checkpoint.tail)
    }

    /// Begins to write pairs.
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch { index: self, batch: ::sled::Batch::default(), operations: 0, bytes: 0, written: 0 }
    }

    /// Writes how far the index goes, after all that this includes.
    pub(super) fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let mut batch = self.batch();
        batch.insert(CHECKPOINT.to_vec(), checkpoint.encode())?;
        batch.finish().map(drop)
    }

    /// Removes the groups from a position on, which a flush that did not end may have left.
    pub(super) fn remove_groups(&self, from: Position) -> Result<(), Error> {
        catch_panics(|| {
            for key in self.db.range(group_key(from)..=group_key(Position(u64::MAX))).keys() {
                self.db.remove(key?)?;
            }
            Ok(())
        })
    }

    /// Makes durable what is written.
    pub(super) fn flush(&self) -> Result<(), Error> {
        catch_panics(|| {
            self.db.flush()?;
            self.data.sync_data()?;
            Ok(())
        })
    }

    /// Adds the records of `from..=to`, without gaps, as far as `read` has room.
    pub(super) fn read(&self, from: Position, to: Position, read: &mut BoundedRead) -> Result<(), Error> {
        catch_panics(|| {
            let mut next = from;
            while read.goes_on() && next <= to {
                let group = self.group_containing(next)?;
                while read.goes_on()
                    && next <= to
                    && let Some((chain, record)) = group.get(next)
                {
                    read.push(next, Entry { chain, bytes: record.to_vec() });
                    next = next.next();
                }
            }
            Ok(())
        })
    }

    /// Adds records of one stream after sequence `after`, none after position `to`, as far as `read` has room.
    pub(super) fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        read: &mut BoundedRead,
    ) -> Result<(), Error> {
        let positions = self.positions(stream.as_str().as_bytes(), after, read.limit)?;
        catch_panics(|| {
            let mut group: Option<Group> = None;
            for position in positions.into_iter().take_while(|position| *position <= to) {
                let held = match group.take() {
                    Some(held) if held.get(position).is_some() => held,
                    _ => self.group_containing(position)?,
                };
                let (chain, record) = held.get(position).ok_or(Error::Hole(position))?;
                if !read.goes_on() {
                    break;
                }
                read.push(position, Entry { chain, bytes: record.to_vec() });
                group = Some(held);
            }
            Ok(())
        })
    }

    /// The chain hash at a position.
    pub(super) fn chain_at(&self, position: Position) -> Result<ChainHash, Error> {
        catch_panics(|| {
            let group = self.group_containing(position)?;
            group.get(position).map(|(chain, _)| chain).ok_or(Error::Hole(position))
        })
    }

    /// The group that contains a position.
    fn group_containing(&self, position: Position) -> Result<Group, Error> {
        let before = self.db.range(group_key(Position(0))..=group_key(position)).next_back();
        let (key, value) = before.ok_or(Error::Hole(position))??;
        let group = unpack(&key, &value)?;
        if group.end() > position { Ok(group) } else { Err(Error::Hole(position)) }
    }

    /// The group that contains a position; if there is none, the next one.
    pub(super) fn group_from(&self, position: Position) -> Result<Option<Group>, Error> {
        catch_panics(|| {
            let next = || self.db.range(group_key(position)..=group_key(Position(u64::MAX))).next();
            match self.group_containing(position) {
                Err(Error::Hole(_)) => next().transpose()?.map(|(key, value)| unpack(&key, &value)).transpose(),
                found => found.map(Some),
            }
        })
    }

    /// The row of a stream.
    pub(super) fn row(&self, stream: &[u8]) -> Result<Option<Row>, Error> {
        catch_panics(|| {
            let value = self.db.get(row_key(stream))?;
            value.map(|value| Row::decode(&value).ok_or(Error::Malformed("a row"))).transpose()
        })
    }

    /// Calls `take` with every stream and its row, in the order of their names, from the one after `after` on.
    /// Ends when `take` returns `false`.
    pub(super) fn for_each_row(
        &self,
        after: Option<&[u8]>,
        mut take: impl FnMut(&[u8], Row) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        catch_panics(|| {
            let begin = after.map_or(ROW.to_vec(), |name| [ROW, name, &[0]].concat());
            for pair in self.db.range(begin..) {
                let (key, value) = pair?;
                let Some(name) = key.strip_prefix(ROW) else { break };
                if !take(name, Row::decode(&value).ok_or(Error::Malformed("a row"))?)? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// A full chunk of the positions of a stream.
    pub(super) fn chunk(&self, stream: &[u8], number: u64) -> Result<Vec<Position>, Error> {
        catch_panics(|| {
            let value = self.db.get(chunk_key(stream, number))?;
            value.and_then(|value| positions::decode_chunk(&value)).ok_or(Error::Malformed("positions of a stream"))
        })
    }

    /// The positions of at most `limit` records of a stream, from the one after sequence `after` on.
    pub(super) fn positions(&self, stream: &[u8], after: SequenceNumber, limit: usize) -> Result<Vec<Position>, Error> {
        let (mut found, mut after) = (Vec::new(), after);
        let Some(row) = self.row(stream)? else { return Ok(found) };
        while found.len() < limit && after < row.head.sequence {
            let number = positions::chunk_after(after);
            let place = positions::place_after(after);
            let chunk = if number == row.chunk() { row.last.clone() } else { self.chunk(stream, number)? };
            found.extend(chunk.into_iter().skip(place).take(limit - found.len()));
            after = SequenceNumber((number + 1) * positions::CHUNK as u64);
        }
        Ok(found)
    }
}

/// Pairs being written, in order. Each batch is atomic; after a crash only the first ones may have been written. Durable
/// with the next [`Index::flush`].
pub(super) struct Batch<'a> {
    index: &'a Index,
    batch: ::sled::Batch,
    operations: usize,
    bytes: usize,
    /// Bytes of all keys and values so far.
    written: u64,
}

impl Batch<'_> {
    pub(super) fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Error> {
        let bytes = key.len() + value.len();
        (self.operations, self.bytes, self.written) =
            (self.operations + 1, self.bytes + bytes, self.written + bytes as u64);
        self.batch.insert(key, value);
        if self.operations < BATCH_OPERATIONS && self.bytes < BATCH_BYTES { Ok(()) } else { self.apply() }
    }

    fn apply(&mut self) -> Result<(), Error> {
        (self.operations, self.bytes) = (0, 0);
        let batch = std::mem::take(&mut self.batch);
        catch_panics(|| Ok(self.index.db.apply_batch(batch)?))
    }

    /// Writes the rest. Returns the bytes of all keys and values.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.apply()?;
        Ok(self.written)
    }
}

/// Decodes the record of an entry, which must be at `position`.
pub(super) fn decode(entry: &Entry, position: Position) -> Result<StoredRecord, Error> {
    let record = envelope::decode(&entry.bytes).map_err(|_| Error::Malformed("a record"))?;
    if record.position == position { Ok(record) } else { Err(Error::Hole(position)) }
}

/// sled panics where it should return an error. Unwinding releases its lock.
fn catch_panics<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Err(Error::Panicked(text.chars().take(300).collect()))
    })
}

fn unpack(key: &[u8], value: &[u8]) -> Result<Group, Error> {
    let first = key.get(1..).and_then(|first| first.try_into().ok()).ok_or(Error::Malformed("a position"))?;
    group::unpack(Position(u64::from_be_bytes(first)), value)
}

pub(super) fn group_key(first: Position) -> [u8; 9] {
    let mut key = [b'g'; 9];
    key[1..].copy_from_slice(&first.0.to_be_bytes());
    key
}

pub(super) fn chunk_key(stream: &[u8], number: u64) -> Vec<u8> {
    let length = u32::try_from(stream.len()).unwrap_or(u32::MAX);
    [b"s", &length.to_be_bytes()[..], stream, &number.to_be_bytes()].concat()
}

pub(super) fn row_key(stream: &[u8]) -> Vec<u8> {
    [ROW, stream].concat()
}
