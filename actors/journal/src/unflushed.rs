//! The records that the index has not taken in yet. They are durable in the segments; here they are read until a flush
//! brings them into the index together, because sled writes whole pages however little changes.
//!
//! A flush is due by their number, their bytes or their age, which bounds what they take in memory.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{StoredRecord, Tail};

use super::index::{BoundedRead, Entry};

/// Bytes of records after which a flush is due.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// When a flush is due, besides by the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushLimits {
    pub(super) records: usize,
    pub(super) age: Duration,
}

/// Consecutive records up to the end of the log.
#[derive(Debug, Default)]
pub(super) struct Unflushed {
    entries: Vec<Entry>,
    /// The position before the first of them.
    before: Position,
    bytes: usize,
    streams: HashMap<StreamId, Run>,
    since: Option<Instant>,
}

/// The records of one stream among them.
#[derive(Debug)]
pub(super) struct Run {
    /// The number before the first of them.
    pub(super) after: SequenceNumber,
    pub(super) positions: Vec<Position>,
}

impl Unflushed {
    /// Adds the next record.
    pub(super) fn push(&mut self, record: &StoredRecord, entry: Entry) {
        if self.entries.is_empty() {
            self.before = Position(record.position.0.saturating_sub(1));
        }
        self.bytes += entry.bytes.len();
        self.entries.push(entry);
        let after = SequenceNumber(record.sequence.0.saturating_sub(1));
        let run = self.streams.entry(record.stream.clone()).or_insert_with(|| Run { after, positions: Vec::new() });
        run.positions.push(record.position);
        self.set_dirty();
    }

    /// Makes a flush due after its time even if there are no records, to write a checkpoint.
    pub(super) fn set_dirty(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Forgets all: the index has them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How long until a flush is due; `None` if there is nothing to flush.
    pub(super) fn due_in(&self, limits: FlushLimits) -> Option<Duration> {
        let is_full = self.entries.len() >= limits.records || self.bytes >= MAX_BYTES;
        let age = if is_full { Duration::ZERO } else { limits.age };
        self.since.map(|since| age.saturating_sub(since.elapsed()))
    }

    /// All records, in order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The position of the first record.
    pub(super) fn first(&self) -> Option<Position> {
        (!self.entries.is_empty()).then(|| self.before.next())
    }

    /// The last record; `None` if there are none.
    pub(super) fn tail(&self) -> Option<Tail> {
        let last = self.entries.last()?;
        Some(Tail { position: Position(self.before.0 + self.entries.len() as u64), chain: last.chain })
    }

    /// The streams of the records.
    pub(super) fn streams(&self) -> impl Iterator<Item = &StreamId> {
        self.streams.keys()
    }

    /// The records of a stream.
    pub(super) fn run(&self, stream: &StreamId) -> Option<&Run> {
        self.streams.get(stream)
    }

    /// The record at a position.
    pub(super) fn get(&self, position: Position) -> Option<&Entry> {
        let index = position.0.checked_sub(self.before.0)?.checked_sub(1)?;
        self.entries.get(usize::try_from(index).ok()?)
    }

    /// The records at some positions, bounded like a read.
    pub(super) fn read(&self, positions: impl Iterator<Item = Position>, limit: usize) -> BoundedRead {
        let mut read = BoundedRead::new(limit);
        for position in positions {
            let Some(entry) = self.get(position).filter(|_| read.goes_on()) else { break };
            read.push(position, entry.clone());
        }
        read
    }
}
