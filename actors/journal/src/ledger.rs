//! The version of every stream and the end of the chain, kept in memory: appends are decided, placed and chained here
//! before a byte is written.
//!
//! Every position is one record of one stream, and a stream's records are numbered from 1 without gaps. So the
//! sequences of all heads add up to the position of the tail; a ledger restored from a checkpoint is checked by that.

use std::cmp::Ordering;
use std::collections::HashMap;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};

use super::{APPEND_MAX_BYTES, APPEND_MAX_RECORDS, AppendError, Appended, RECORD_MAX_BYTES, STREAM_MAX_BYTES};

/// Allowance for everything in a record but its texts, in bytes.
const ENVELOPE_BYTES: usize = 256;

/// A record with its position assigned, its encoded bytes and the chain hash at it.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) record: StoredRecord,
    pub(super) bytes: Vec<u8>,
    pub(super) chain: ChainHash,
    /// True if the next record belongs to the same append.
    pub(super) append_continues: bool,
}

/// The last record of a stream: its sequence, and its position in the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequence: SequenceNumber,
    pub(super) position: Position,
}

/// The heads of all streams and the end of the journal, as far as they are durable.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    heads: HashMap<StreamId, Head>,
    tail: Tail,
}

impl Ledger {
    pub(super) fn tail(&self) -> Tail {
        self.tail
    }

    /// Restores a head from a checkpoint.
    pub(super) fn restore(&mut self, stream: StreamId, head: Head) {
        self.heads.insert(stream, head);
    }

    /// Sets the tail that belongs to the restored heads. Some heads may be newer: their records are admitted again.
    pub(super) fn restored(&mut self, tail: Tail) {
        self.tail = tail;
    }

    /// True if the heads account for every position up to the tail and none beyond it.
    pub(super) fn is_whole(&self) -> bool {
        let mut records = 0_u64;
        for head in self.heads.values() {
            records = records.saturating_add(head.sequence.0);
            if head.position > self.tail.position {
                return false;
            }
        }
        records == self.tail.position.0
    }

    /// The streams with records after `position`.
    pub(super) fn changed_since(&self, position: Position) -> impl Iterator<Item = &StreamId> {
        self.heads.iter().filter(move |(_, head)| head.position > position).map(|(stream, _)| stream)
    }

    /// Number of streams.
    pub(super) fn streams(&self) -> usize {
        self.heads.len()
    }

    /// Takes in the next stored record. Fails with the reason if it does not follow from the ones before it.
    pub(super) fn admit(&mut self, record: &StoredRecord, chain: ChainHash) -> Result<(), String> {
        let expected = self.tail.position.next();
        if record.position != expected {
            return Err(format!("it claims position {}, but position {expected} comes next", record.position));
        }
        let head = self.heads.entry(record.stream.clone()).or_default();
        // A restored head may be ahead of the tail; then this record has been counted already.
        let follows = match record.position.cmp(&head.position) {
            Ordering::Greater => record.sequence == head.sequence.next(),
            Ordering::Equal => record.sequence == head.sequence,
            Ordering::Less => record.sequence < head.sequence,
        };
        if !follows {
            return Err(format!(
                "it claims number {} of stream {}, but number {} comes next",
                record.sequence.0,
                record.stream,
                head.sequence.next().0
            ));
        }
        if record.position > head.position {
            *head = Head { sequence: record.sequence, position: record.position };
        }
        self.tail = Tail { position: record.position, chain };
        Ok(())
    }

    /// Begins a group of appends that become durable together or not at all.
    pub(super) fn stage(&self) -> Stage<'_> {
        Stage { ledger: self, heads: HashMap::new(), placed: Vec::new(), tail: self.tail }
    }

    /// Takes over a group that is durable now.
    pub(super) fn accept(&mut self, staged: &Staged) {
        for (stream, head) in &staged.heads {
            self.heads.insert(stream.clone(), *head);
        }
        self.tail = staged.tail;
    }
}

/// A group of appends being built. Later appends see the earlier ones of the group.
pub(super) struct Stage<'a> {
    ledger: &'a Ledger,
    heads: HashMap<StreamId, Head>,
    placed: Vec<Placed>,
    tail: Tail,
}

/// A group of appends with positions assigned, encoded.
pub(super) struct Staged {
    heads: HashMap<StreamId, Head>,
    pub(super) placed: Vec<Placed>,
    pub(super) tail: Tail,
}

impl Stage<'_> {
    /// Places one append, or refuses it and leaves the group unchanged.
    pub(super) fn place(
        &mut self,
        stream: &StreamId,
        expected: SequenceNumber,
        batch: Vec<NewRecord>,
    ) -> Result<Appended, AppendError> {
        let head = self.heads.get(stream).or_else(|| self.ledger.heads.get(stream)).copied().unwrap_or_default();
        let actual = head.sequence;
        if actual != expected {
            return Err(AppendError::Conflict { actual });
        }
        let begin = self.placed.len();
        match self.encode(stream, actual, batch) {
            Ok((sequence, tail)) => {
                let first = self.tail.position.next();
                self.heads.insert(stream.clone(), Head { sequence, position: tail.position });
                self.tail = tail;
                Ok(Appended { first, last: tail.position, last_sequence: sequence })
            }
            Err(refusal) => {
                self.placed.truncate(begin);
                Err(refusal)
            }
        }
    }

    fn encode(
        &mut self,
        stream: &StreamId,
        mut sequence: SequenceNumber,
        batch: Vec<NewRecord>,
    ) -> Result<(SequenceNumber, Tail), AppendError> {
        let mut tail = self.tail;
        let mut left = batch.len();
        for new in batch {
            left -= 1;
            sequence = sequence.next();
            let record = new.placed(tail.position.next(), stream.clone(), sequence);
            let bytes = envelope::encode(&record)
                .map_err(|error| AppendError::Refused { reason: error.to_string(), retriable: false })?;
            check_bound("a record in bytes", bytes.len(), RECORD_MAX_BYTES)?;
            tail = Tail { position: record.position, chain: envelope::chain(tail.chain, &bytes) };
            self.placed.push(Placed { record, bytes, chain: tail.chain, append_continues: left > 0 });
        }
        Ok((sequence, tail))
    }

    pub(super) fn finish(self) -> Staged {
        Staged { heads: self.heads, placed: self.placed, tail: self.tail }
    }
}

/// Refuses an append that exceeds a bound, before it is queued. Returns its approximate size in bytes.
pub(super) fn measure(stream: &StreamId, batch: &[NewRecord]) -> Result<usize, AppendError> {
    if batch.is_empty() {
        return Err(AppendError::Refused { reason: "an append of no records".into(), retriable: false });
    }
    check_bound("a stream's name in bytes", stream.as_str().len(), STREAM_MAX_BYTES)?;
    check_bound("an append in records", batch.len(), APPEND_MAX_RECORDS)?;
    let mut total = 0;
    for new in batch {
        let ids = [&new.metadata.correlation, &new.metadata.cause];
        let ids: usize = ids.into_iter().flatten().map(|id| id.as_str().len()).sum();
        let texts = new.data.len() + new.kind.len() + ids;
        check_bound("a record in bytes", texts, RECORD_MAX_BYTES)?;
        total += texts + stream.as_str().len() + ENVELOPE_BYTES;
    }
    check_bound("an append in bytes", total, APPEND_MAX_BYTES)?;
    Ok(total)
}

fn check_bound(what: &'static str, size: usize, bound: usize) -> Result<(), AppendError> {
    if size > bound { Err(AppendError::TooLarge { what, size, bound }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::record::{Metadata, Timestamp};

    fn record(position: u64, stream: &str, sequence: u64) -> StoredRecord {
        StoredRecord {
            position: Position(position),
            stream: StreamId::recorded(stream),
            sequence: SequenceNumber(sequence),
            kind: "Happened".to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: "{}".to_owned(),
        }
    }

    fn at(position: u64) -> Tail {
        Tail { position: Position(position), chain: ChainHash::GENESIS }
    }

    /// Restores `heads` as of position 4, then admits `records` from position 5 on; checks whether all were admitted,
    /// and whether the ledger is whole then.
    fn check(heads: &[(&str, u64, u64)], records: &[(&str, u64)], expected: (bool, bool)) {
        let mut ledger = Ledger::default();
        for (stream, sequence, position) in heads {
            let head = Head { sequence: SequenceNumber(*sequence), position: Position(*position) };
            ledger.restore(StreamId::recorded(stream), head);
        }
        ledger.restored(at(4));
        let all = (5..).zip(records).all(|(position, (stream, sequence))| {
            ledger.admit(&record(position, stream, *sequence), ChainHash::GENESIS).is_ok()
        });
        assert_eq!((all, ledger.is_whole()), expected, "{heads:?} {records:?}");
    }

    #[test]
    fn heads_that_were_put_back_account_for_every_position() {
        check(&[("a", 3, 4), ("b", 1, 2)], &[], (true, true));
        check(&[("a", 3, 4), ("b", 1, 2)], &[("b", 2), ("c", 1)], (true, true));
        check(&[("a", 3, 4)], &[], (true, false));
        check(&[("a", 2, 4), ("b", 1, 2)], &[("a", 3)], (true, false));
        check(&[("a", 3, 4), ("b", 2, 9)], &[], (true, false));
        check(&[("a", 3, 4), ("b", 1, 2)], &[("a", 3)], (false, true));
    }

    #[test]
    fn a_head_that_is_newer_than_the_tail_is_met_again() {
        let ahead = [("a", 5, 6), ("b", 1, 2)];
        check(&ahead, &[("a", 4), ("a", 5)], (true, true));
        check(&ahead, &[("a", 4), ("a", 5), ("a", 6), ("b", 2)], (true, true));
        check(&ahead, &[("a", 4)], (true, false));
        check(&ahead, &[("a", 4), ("b", 2)], (true, false));
        check(&ahead, &[("a", 5)], (false, false));
        check(&ahead, &[("a", 4), ("a", 6)], (false, false));
    }

    #[test]
    fn what_has_changed_is_told_by_name() {
        let mut ledger = Ledger::default();
        for (position, (stream, sequence)) in (1..).zip([("b", 1), ("a", 1), ("c", 1), ("a", 2)]) {
            ledger.admit(&record(position, stream, sequence), ChainHash::GENESIS).unwrap();
        }
        let names = |since| {
            let mut names: Vec<_> = ledger.changed_since(Position(since)).map(StreamId::as_str).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(0), ["a", "b", "c"]);
        assert_eq!(names(2), ["a", "c"]);
        assert_eq!(names(4), Vec::<String>::new());
    }
}
