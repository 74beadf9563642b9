//! The index: the whole log in sled, by position and by stream. Reads and restarts use it, but it is never the truth:
//! if anything is wrong with it, it is put aside and rebuilt from the segments.
//!
//! sled 0.34 deadlocks under concurrent `flush_async`, does not sync on `flush`, and may fail or panic while it opens.
//! So one thread writes, `flush` is followed by our own `sync_data`, and every call is guarded.
//!
//! Everything is in one tree, so that one batch is atomic. Integers are big-endian.
//!
//! | key | value |
//! |---|---|
//! | `g`, first position | a group of records, packed |
//! | `s`, length of the stream's name, name, sequence | position |
//! | `b` | applied position and chain hash |
//! | `l` | bytes of all `g` and `s` entries |
//! | `t`, name of a stream | its head and row, see `checkpoint` |
//! | `c` | how far the rows go, see `checkpoint` |
//!
//! sled writes what it holds several times over as pages split and are consolidated, so it is given little: records
//! that were appended together are stored together, compressed.
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
use std::sync::{Mutex, PoisonError};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::READ_MAX_BYTES;
use super::ledger::Placed;

mod folders;
pub(super) mod group;
mod opening;

pub use folders::folder_bytes;
pub(super) use folders::{CURRENT, NEW, OLD, remove, remove_old, remove_when_released, swap_in_new};
pub(super) use group::Group;
pub(super) use opening::{open, put_aside};

/// Advisory: sled needs about 130 MB while it scans a log of 1 GB, whatever is set here.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Records per batch: with two keys each, plus `applied` and `live`, a batch has 128 operations; sled is fastest near
/// 100.
const BATCH_RECORDS: usize = 63;
/// Operations of any other batch.
const BATCH_OPERATIONS: usize = 127;

const APPLIED: &[u8] = b"b";
/// Total bytes of the `g` and `s` keys and values.
const LIVE: &[u8] = b"l";
/// Prefix of the keys by stream, and the first key after all of them.
const STREAM: &[u8] = b"s";
const BEHIND_STREAM: &[u8] = b"t";
/// Key that only the first format of this index had, with one key per record.
const FIRST_FORM: &[u8] = b"a";

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
    /// Total bytes of the `g` and `s` keys and values; `None` for an index that was created without counting them.
    live: Mutex<Option<u64>>,
}

/// A record in the index, with the chain hash at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) chain: ChainHash,
    pub(super) bytes: Vec<u8>,
}

/// A record's key by stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamKey {
    /// The raw key.
    pub(super) key: Vec<u8>,
    pub(super) stream: Vec<u8>,
    pub(super) sequence: SequenceNumber,
    pub(super) position: Position,
}

impl Index {
    /// Opens or creates the index in a folder, without any repair.
    pub(super) fn open_unrepaired(folder: &Path) -> Result<Self, Error> {
        catch_panics(|| {
            let db = ::sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(None).open()?;
            let data = OpenOptions::new().read(true).write(true).open(folder.join("db"))?;
            let live = match db.get(LIVE)? {
                Some(value) => Some(be_u64(&value)?),
                None => db.is_empty().then_some(0),
            };
            let index = Self { db, data, live: Mutex::new(live) };
            if index.db.contains_key(FIRST_FORM)? {
                return Err(Error::Malformed("the form of an earlier version"));
            }
            index.applied()?;
            Ok(index)
        })
    }

    /// sled itself, for tests that damage it.
    #[cfg(test)]
    pub(super) fn db(&self) -> &::sled::Db {
        &self.db
    }

    /// The last record that the index has taken in.
    pub(super) fn applied(&self) -> Result<Tail, Error> {
        catch_panics(|| match self.db.get(APPLIED)? {
            None => Ok(Tail::default()),
            Some(value) => {
                let (position, chain) = value.split_at_checked(8).ok_or(Error::Malformed("the checkpoint"))?;
                let chain = chain.try_into().map_err(|_| Error::Malformed("the checkpoint"))?;
                Ok(Tail { position: Position(be_u64(position)?), chain: ChainHash(chain) })
            }
        })
    }

    /// Adds records that directly follow the applied ones.
    pub(super) fn apply(&self, placed: &[Placed]) -> Result<(), Error> {
        catch_panics(|| {
            for part in placed.chunks(BATCH_RECORDS) {
                let mut batch = ::sled::Batch::default();
                let mut added = 0;
                let mut insert = |key: Vec<u8>, value: &[u8]| {
                    added += (key.len() + value.len()) as u64;
                    batch.insert(key, value);
                };
                for group in group::split(part) {
                    if let Some(first) = group.first() {
                        insert(group_key(first.record.position).to_vec(), &group::pack(group)?);
                    }
                }
                for one in part {
                    let position = one.record.position.0.to_be_bytes();
                    insert(stream_key(&one.record.stream, one.record.sequence), &position);
                }
                let live = self.live_bytes().map(|live| live + added);
                if let Some(live) = live {
                    batch.insert(LIVE, &live.to_be_bytes());
                }
                if let Some(last) = part.last() {
                    let mut applied = last.record.position.0.to_be_bytes().to_vec();
                    applied.extend_from_slice(&last.chain.0);
                    batch.insert(APPLIED, applied);
                }
                self.db.apply_batch(batch)?;
                *self.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
            }
            Ok(())
        })
    }

    /// Inserts pairs in order, and removes keys without a value. Each batch is atomic; after a crash only the first
    /// batches may have been applied.
    pub(super) fn write_pairs(&self, pairs: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) -> Result<(), Error> {
        catch_panics(|| {
            let mut pairs = pairs.peekable();
            while pairs.peek().is_some() {
                let mut batch = ::sled::Batch::default();
                for (key, value) in pairs.by_ref().take(BATCH_OPERATIONS) {
                    match value {
                        Some(value) => batch.insert(key, value),
                        None => batch.remove(key),
                    }
                }
                self.db.apply_batch(batch)?;
            }
            Ok(())
        })
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        catch_panics(|| Ok(self.db.get(key)?.map(|value| value.to_vec())))
    }

    /// Calls `take` with every pair whose key begins with `prefix`, in key order; the key is passed without the prefix.
    pub(super) fn for_each_with_prefix(
        &self,
        prefix: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        catch_panics(|| {
            for pair in self.db.scan_prefix(prefix) {
                let (key, value) = pair?;
                take(key.get(prefix.len()..).unwrap_or_default(), &value)?;
            }
            Ok(())
        })
    }

    /// Total bytes of all records and keys taken in, which is what a rewritten index would hold before sled's overhead.
    /// `None` for an index that was created without counting them.
    pub(super) fn live_bytes(&self) -> Option<u64> {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes durable what is applied.
    pub(super) fn flush(&self) -> Result<(), Error> {
        catch_panics(|| {
            self.db.flush()?;
            self.data.sync_data()?;
            Ok(())
        })
    }

    /// The entries of `from..=to` without gaps, at most `limit` and about [`READ_MAX_BYTES`].
    pub(super) fn entries(&self, from: Position, to: Position, limit: usize) -> Result<Vec<Entry>, Error> {
        catch_panics(|| {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            let mut expected = from;
            while entries.len() < limit && expected <= to && bytes < READ_MAX_BYTES {
                let rest = self.group_containing(expected)?.into_entries_from(expected);
                for entry in rest.into_iter().take(limit - entries.len()) {
                    if expected > to || bytes >= READ_MAX_BYTES {
                        break;
                    }
                    bytes += entry.bytes.len();
                    entries.push(entry);
                    expected = expected.next();
                }
            }
            Ok(entries)
        })
    }

    /// The entry at one position.
    pub(super) fn entry_at(&self, position: Position) -> Result<Entry, Error> {
        catch_panics(|| self.group_containing(position)?.get(position).cloned().ok_or(Error::Hole(position)))
    }

    /// The group that contains a position.
    fn group_containing(&self, position: Position) -> Result<Group, Error> {
        let before = self.db.range(group_key(Position(0))..=group_key(position)).next_back();
        let (key, value) = before.ok_or(Error::Hole(position))??;
        let first = key.get(1..).ok_or(Error::Malformed("a position"))?;
        let group = group::unpack(Position(be_u64(first)?), &value)?;
        if group.get(position).is_none() { Err(Error::Hole(position)) } else { Ok(group) }
    }

    /// At most `limit` groups in order, starting with the one that would contain position `from`.
    pub(super) fn groups(&self, from: Position, limit: usize) -> Result<Vec<Group>, Error> {
        catch_panics(|| {
            let mut groups = Vec::new();
            let before = self.db.range(group_key(Position(0))..=group_key(from)).next_back().transpose()?;
            let begin = before.map_or_else(|| group_key(from).to_vec(), |(key, _)| key.to_vec());
            for pair in self.db.range(begin..=group_key(Position(u64::MAX)).to_vec()).take(limit) {
                let (key, value) = pair?;
                let first = key.get(1..).ok_or(Error::Malformed("a position"))?;
                groups.push(group::unpack(Position(be_u64(first)?), &value)?);
            }
            Ok(groups)
        })
    }

    /// At most `limit` keys by stream in key order, after `after` or from the first on.
    pub(super) fn stream_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<StreamKey>, Error> {
        use std::ops::Bound::{Excluded, Included};
        catch_panics(|| {
            let mut keys = Vec::new();
            let begin = after.map_or(Included(STREAM), Excluded);
            for pair in self.db.range::<&[u8], _>((begin, Excluded(BEHIND_STREAM))).take(limit) {
                let (key, value) = pair?;
                let malformed = || Error::Malformed("a key by stream");
                let (stream, sequence) = key.len().checked_sub(8).map(|at| key.split_at(at)).ok_or_else(malformed)?;
                let stream = stream.get(5..).ok_or_else(malformed)?.to_vec();
                let (sequence, position) = (SequenceNumber(be_u64(sequence)?), Position(be_u64(&value)?));
                keys.push(StreamKey { key: key.to_vec(), stream, sequence, position });
            }
            Ok(keys)
        })
    }

    /// The position of a record by its stream; `None` if the index has no such key.
    pub(super) fn position_of(&self, stream: &StreamId, sequence: SequenceNumber) -> Result<Option<Position>, Error> {
        catch_panics(|| {
            self.db.get(stream_key(stream, sequence))?.map(|value| be_u64(&value).map(Position)).transpose()
        })
    }

    /// Records of one stream after sequence `after`, none after position `to`.
    pub(super) fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Error> {
        catch_panics(|| {
            let (mut records, mut bytes) = (Vec::new(), 0);
            // Records of a stream were often appended together.
            let mut group: Option<Group> = None;
            let mut expected = SequenceNumber(after.0.saturating_add(1));
            let range = stream_key(stream, expected)..=stream_key(stream, SequenceNumber(u64::MAX));
            for pair in self.db.range(range).take(limit) {
                let (key, value) = pair?;
                let position = Position(be_u64(&value)?);
                if position > to {
                    break;
                }
                if key != stream_key(stream, expected) {
                    return Err(Error::Malformed("a gap in a stream"));
                }
                expected = expected.next();
                let held = match group.take() {
                    Some(held) if held.get(position).is_some() => held,
                    _ => self.group_containing(position)?,
                };
                let found = held.get(position).ok_or(Error::Hole(position))?;
                records.push(decode(found, position)?);
                bytes += found.bytes.len();
                group = Some(held);
                if bytes >= READ_MAX_BYTES {
                    break;
                }
            }
            Ok(records)
        })
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

fn group_key(first: Position) -> [u8; 9] {
    let mut key = [b'g'; 9];
    key[1..].copy_from_slice(&first.0.to_be_bytes());
    key
}

fn stream_key(stream: &StreamId, sequence: SequenceNumber) -> Vec<u8> {
    let name = stream.as_str().as_bytes();
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    let mut key = Vec::with_capacity(name.len() + 13);
    key.push(b's');
    key.extend_from_slice(&length.to_be_bytes());
    key.extend_from_slice(name);
    key.extend_from_slice(&sequence.0.to_be_bytes());
    key
}

fn be_u64(bytes: &[u8]) -> Result<u64, Error> {
    bytes.try_into().map(u64::from_be_bytes).map_err(|_| Error::Malformed("a position"))
}
