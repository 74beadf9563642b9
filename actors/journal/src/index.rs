//! The index: the whole log in sled, by position and by stream. It is what reads and restarts use, and never the
//! truth: whatever is wrong with it, it is put aside and rebuilt from the segments.
//!
//! sled 0.34 deadlocks under concurrent `flush_async`, does not sync on `flush`, and may fail or panic while it
//! opens. So: one thread writes, `flush` is followed by our own `sync_data`, and every call is guarded.
//!
//! One tree, so that one batch is atomic: `g` first position -> a group of records, packed; `s` length of the stream's
//! name, name, sequence -> position; `b` -> applied position and chain hash; `l` -> bytes of all `g` and `s`; what
//! `checkpoint` keeps: `t` name of a stream -> its head and row, `c` -> how far the rows have come. Integers are big-endian.
//! sled writes what
//! it holds several times over, as pages split and are consolidated, so what it is given is small: records that came
//! together lie together, compressed.
//!
//! # Hazards
//!
//! - A crash can leave sled unopenable; the guarded open puts it aside and rebuilds it. `panic = "abort"` would
//!   defeat that guard and the supervision.
//! - After very many events in one run the next open takes seconds once: sled writes its snapshot when it
//!   opens.

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
pub(super) use folders::{CURRENT, NEW, OLD, exchange, release_and_remove, remove, remove_old};
pub(super) use group::Group;
pub(super) use opening::{Aside, open, put_aside};

/// Advisory: sled's floor is about 130 MB while it scans a log of 1 GB, whatever is set.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Records per batch: two keys each, `applied` and `live` make 128 operations, and sled is best near 100.
const BATCH_RECORDS: usize = 63;
/// Operations of any batch.
const BATCH_OPERATIONS: usize = 127;

const APPLIED: &[u8] = b"b";
/// How many bytes all keys and values have.
const LIVE: &[u8] = b"l";
/// What keys by stream begin with, and what lies behind all of them.
const STREAM: &[u8] = b"s";
const BEHIND_STREAM: &[u8] = b"t";
/// What the first form of this index had instead: a key for each record.
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
    #[error("{0} in the index cannot be understood")]
    Malformed(&'static str),
    #[error("{error}: {cause}")]
    Disk {
        /// What sled said.
        error: String,
        /// What writing beside it said.
        cause: io::Error,
    },
    #[error("position {0} is missing in the index")]
    Hole(Position),
}

impl Error {
    /// Whether another process has the index open. sled gives that error no kind of its own.
    pub(super) fn is_lock(&self) -> bool {
        matches!(self, Self::Sled(::sled::Error::Io(error)) if error.to_string().contains("could not acquire lock"))
    }
}

/// The index, open.
pub(super) struct Index {
    db: ::sled::Db,
    /// Our own handle on sled's file: what `flush` writes is synced with it.
    data: File,
    /// Bytes of all keys and values, as `l` has it; `None` for an index that was begun without counting them.
    live: Mutex<Option<u64>>,
}

/// A record of the index: with the chain hash that stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) chain: ChainHash,
    pub(super) bytes: Vec<u8>,
}

/// A record's place by its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamKey {
    /// As it is stored.
    pub(super) key: Vec<u8>,
    pub(super) stream: Vec<u8>,
    pub(super) sequence: SequenceNumber,
    pub(super) position: Position,
}

impl Index {
    /// Opens or creates the index in a folder, if it can be opened as it is.
    pub(super) fn open_once(folder: &Path) -> Result<Self, Error> {
        guarded(|| {
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

    /// sled itself, to be spoilt.
    #[cfg(test)]
    pub(super) fn raw(&self) -> &::sled::Db {
        &self.db
    }

    /// How far the index has come.
    pub(super) fn applied(&self) -> Result<Tail, Error> {
        guarded(|| match self.db.get(APPLIED)? {
            None => Ok(Tail::default()),
            Some(value) => {
                let (position, chain) = value.split_at_checked(8).ok_or(Error::Malformed("the checkpoint"))?;
                let chain = chain.try_into().map_err(|_| Error::Malformed("the checkpoint"))?;
                Ok(Tail { position: Position(be_u64(position)?), chain: ChainHash(chain) })
            }
        })
    }

    /// Takes in records that follow what is applied.
    pub(super) fn apply(&self, placed: &[Placed]) -> Result<(), Error> {
        guarded(|| {
            for part in placed.chunks(BATCH_RECORDS) {
                let mut batch = ::sled::Batch::default();
                let mut added = 0;
                let mut insert = |key: Vec<u8>, value: &[u8]| {
                    added += (key.len() + value.len()) as u64;
                    batch.insert(key, value);
                };
                for group in group::cut(part) {
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

    /// Puts pairs in, in order, and removes keys without a value: after a crash the first so many batches of it are done.
    pub(super) fn put(&self, pairs: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) -> Result<(), Error> {
        guarded(|| {
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
        guarded(|| Ok(self.db.get(key)?.map(|value| value.to_vec())))
    }

    /// Every pair whose key begins with `prefix`, in the order of the keys, the key without it.
    pub(super) fn each(
        &self,
        prefix: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        guarded(|| {
            for pair in self.db.scan_prefix(prefix) {
                let (key, value) = pair?;
                take(key.get(prefix.len()..).unwrap_or_default(), &value)?;
            }
            Ok(())
        })
    }

    /// Bytes of all that was taken in: what an index written anew would hold, before what sled adds. `None` when nobody
    /// has counted.
    pub(super) fn live_bytes(&self) -> Option<u64> {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes durable what is applied.
    pub(super) fn flush(&self) -> Result<(), Error> {
        guarded(|| {
            self.db.flush()?;
            self.data.sync_data()?;
            Ok(())
        })
    }

    /// The entries of `from..=to`, at most `limit` and about [`READ_MAX_BYTES`], without a hole.
    pub(super) fn entries(&self, from: Position, to: Position, limit: usize) -> Result<Vec<Entry>, Error> {
        guarded(|| {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            let mut expected = from;
            while entries.len() < limit && expected <= to && bytes < READ_MAX_BYTES {
                let rest = self.group_of(expected)?.from(expected);
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
        guarded(|| self.group_of(position)?.at(position).cloned().ok_or(Error::Hole(position)))
    }

    /// The group that holds a position.
    fn group_of(&self, position: Position) -> Result<Group, Error> {
        let before = self.db.range(group_key(Position(0))..=group_key(position)).next_back();
        let (key, value) = before.ok_or(Error::Hole(position))??;
        let first = key.get(1..).ok_or(Error::Malformed("a position"))?;
        let group = group::unpack(Position(be_u64(first)?), &value)?;
        if group.at(position).is_none() { Err(Error::Hole(position)) } else { Ok(group) }
    }

    /// Groups from the one on that position `from` would lie in, at most `limit`, in order.
    pub(super) fn groups(&self, from: Position, limit: usize) -> Result<Vec<Group>, Error> {
        guarded(|| {
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

    /// Keys by stream behind a key, or from the first on, at most `limit`, in their own order.
    pub(super) fn stream_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<StreamKey>, Error> {
        use std::ops::Bound::{Excluded, Included};
        guarded(|| {
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

    /// Where a record stands by its stream. `None`: the index does not know it.
    pub(super) fn position_of(&self, stream: &StreamId, sequence: SequenceNumber) -> Result<Option<Position>, Error> {
        guarded(|| self.db.get(stream_key(stream, sequence))?.map(|value| be_u64(&value).map(Position)).transpose())
    }

    /// Records of one stream after a sequence, none behind `to`.
    pub(super) fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Error> {
        guarded(|| {
            let (mut records, mut bytes) = (Vec::new(), 0);
            // Records of a stream often came together.
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
                    Some(held) if held.at(position).is_some() => held,
                    _ => self.group_of(position)?,
                };
                let found = held.at(position).ok_or(Error::Hole(position))?;
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

/// The record of an entry, which must be of that position.
pub(super) fn decode(entry: &Entry, position: Position) -> Result<StoredRecord, Error> {
    let record = envelope::decode(&entry.bytes).map_err(|_| Error::Malformed("a record"))?;
    if record.position == position { Ok(record) } else { Err(Error::Hole(position)) }
}

/// sled asserts where it should answer. The lock it holds is released when the panic unwinds.
fn guarded<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
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
