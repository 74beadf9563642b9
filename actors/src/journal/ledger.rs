//! Who comes next in which stream: expected versions, places and the chain, decided in memory before a byte is
//! written.

use std::collections::HashMap;

use baton_events::envelope::{self, ChainHash, NewRecord, StoredRecord, Tail};
use baton_events::record::{SequenceNumber, StreamId};

use super::{APPEND_MAX_BYTES, APPEND_MAX_RECORDS, AppendError, Appended, RECORD_MAX_BYTES, STREAM_MAX_BYTES};

/// Room for everything of a record but its texts.
const ENVELOPE_BYTES: usize = 256;

/// A record with its bytes and the chain hash at it.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) record: StoredRecord,
    pub(super) bytes: Vec<u8>,
    pub(super) chain: ChainHash,
}

/// The versions of all streams and the end of the journal, as of what is durable.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    heads: HashMap<StreamId, SequenceNumber>,
    tail: Tail,
}

impl Ledger {
    pub(super) fn tail(&self) -> Tail {
        self.tail
    }

    /// Takes in a record that is stored already. `Err` says what does not follow from what came before.
    pub(super) fn admit(&mut self, record: &StoredRecord, chain: ChainHash) -> Result<(), String> {
        let expected = self.tail.position.next();
        if record.position != expected {
            return Err(format!("it says it is position {}, and position {expected} comes next", record.position));
        }
        let head = self.heads.entry(record.stream.clone()).or_default();
        if record.sequence != head.next() {
            return Err(format!(
                "it says it is number {} of stream {}, and number {} comes next",
                record.sequence.0,
                record.stream,
                head.next().0
            ));
        }
        *head = record.sequence;
        self.tail = Tail { position: record.position, chain };
        Ok(())
    }

    /// Begins a group of appends that become durable together, or not at all.
    pub(super) fn stage(&self) -> Stage<'_> {
        Stage { ledger: self, heads: HashMap::new(), placed: Vec::new(), tail: self.tail }
    }

    /// Believes a group that is durable now.
    pub(super) fn accept(&mut self, staged: &Staged) {
        for (stream, head) in &staged.heads {
            self.heads.insert(stream.clone(), *head);
        }
        self.tail = staged.tail;
    }
}

/// A group of appends in the making. Earlier appends of the group count for later ones.
pub(super) struct Stage<'a> {
    ledger: &'a Ledger,
    heads: HashMap<StreamId, SequenceNumber>,
    placed: Vec<Placed>,
    tail: Tail,
}

/// A group of appends, placed and encoded.
pub(super) struct Staged {
    heads: HashMap<StreamId, SequenceNumber>,
    pub(super) placed: Vec<Placed>,
    pub(super) tail: Tail,
}

impl Stage<'_> {
    /// Places one append, or refuses it and leaves the group as it was.
    pub(super) fn place(
        &mut self,
        stream: &StreamId,
        expected: SequenceNumber,
        batch: Vec<NewRecord>,
    ) -> Result<Appended, AppendError> {
        let actual = self.heads.get(stream).or_else(|| self.ledger.heads.get(stream)).copied().unwrap_or_default();
        if actual != expected {
            return Err(AppendError::Conflict { actual });
        }
        let mark = self.placed.len();
        match self.encode(stream, actual, batch) {
            Ok((sequence, tail)) => {
                let first = self.tail.position.next();
                self.heads.insert(stream.clone(), sequence);
                self.tail = tail;
                Ok(Appended { first, last: tail.position, last_sequence: sequence })
            }
            Err(refusal) => {
                self.placed.truncate(mark);
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
        for new in batch {
            sequence = sequence.next();
            let record = new.placed(tail.position.next(), stream.clone(), sequence);
            let bytes = envelope::encode(&record)
                .map_err(|error| AppendError::Refused { reason: error.to_string(), retriable: false })?;
            within("a record in bytes", bytes.len(), RECORD_MAX_BYTES)?;
            tail = Tail { position: record.position, chain: envelope::chain(tail.chain, &bytes) };
            self.placed.push(Placed { record, bytes, chain: tail.chain });
        }
        Ok((sequence, tail))
    }

    pub(super) fn finish(self) -> Staged {
        Staged { heads: self.heads, placed: self.placed, tail: self.tail }
    }
}

/// Refuses what is over a bound before it is queued. `Ok` is the append's size in bytes, roughly.
pub(super) fn measure(stream: &StreamId, batch: &[NewRecord]) -> Result<usize, AppendError> {
    if batch.is_empty() {
        return Err(AppendError::Refused { reason: "an append of no records".into(), retriable: false });
    }
    within("a stream's name in bytes", stream.as_str().len(), STREAM_MAX_BYTES)?;
    within("an append in records", batch.len(), APPEND_MAX_RECORDS)?;
    let mut total = 0;
    for new in batch {
        let ids = [&new.metadata.correlation, &new.metadata.cause];
        let ids: usize = ids.into_iter().flatten().map(|id| id.as_str().len()).sum();
        let texts = new.data.len() + new.kind.len() + ids;
        within("a record in bytes", texts, RECORD_MAX_BYTES)?;
        total += texts + stream.as_str().len() + ENVELOPE_BYTES;
    }
    within("an append in bytes", total, APPEND_MAX_BYTES)?;
    Ok(total)
}

fn within(what: &'static str, size: usize, bound: usize) -> Result<(), AppendError> {
    if size > bound { Err(AppendError::TooLarge { what, size, bound }) } else { Ok(()) }
}
