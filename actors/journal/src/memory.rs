//! The journal in memory: the same contract without a disk, for tests and simulations.

use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};

use super::ledger::{Ledger, Placed, measure};
use super::{Ack, AppendError, Appended, Exact, Fold, Journal, READ_MAX_BYTES, READ_MAX_RECORDS, ReadError, Stats};

/// The journal in memory. An append is decided, stored, folded and published when `append` returns.
pub struct MemoryJournal {
    state: Mutex<State>,
}

struct State {
    ledger: Ledger,
    placed: Vec<Placed>,
    fold: Box<dyn Fold>,
    closed: bool,
}

impl MemoryJournal {
    /// An empty journal whose records are folded into `fold`.
    pub fn new(mut fold: Box<dyn Fold>) -> Self {
        fold.publish(Tail::default());
        Self { state: Mutex::new(State { ledger: Ledger::default(), placed: Vec::new(), fold, closed: false }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn append(
        &mut self,
        stream: &StreamId,
        expected: SequenceNumber,
        batch: Vec<NewRecord>,
    ) -> Result<Appended, AppendError> {
        if self.closed {
            return Err(AppendError::Closed);
        }
        measure(stream, &batch)?;
        let mut stage = self.ledger.stage();
        let appended = stage.place(stream, expected, batch)?;
        let staged = stage.finish();
        self.ledger.accept(&staged);
        staged.placed.iter().for_each(|placed| self.fold.apply(&placed.record));
        self.placed.extend(staged.placed);
        self.fold.publish(staged.tail);
        Ok(appended)
    }

    fn placed_if_open(&self) -> Result<&[Placed], ReadError> {
        if self.closed { Err(ReadError::Closed) } else { Ok(&self.placed) }
    }
}

fn collect_bounded<'a, T>(
    placed: impl Iterator<Item = &'a Placed>,
    limit: usize,
    convert: impl FnMut(&'a Placed) -> T,
) -> Vec<T> {
    let mut room = READ_MAX_BYTES;
    let within = |placed: &&Placed| {
        let goes_on = room > 0;
        room = room.saturating_sub(placed.bytes.len());
        goes_on
    };
    placed.take(limit.min(READ_MAX_RECORDS)).take_while(within).map(convert).collect()
}

impl Journal for MemoryJournal {
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack {
        let answer = self.lock().append(&stream, expected, batch);
        Box::pin(std::future::ready(answer))
    }

    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        let state = self.lock();
        let skip = usize::try_from(from.0.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(collect_bounded(state.placed_if_open()?.iter().skip(skip), limit, |placed| placed.record.clone()))
    }

    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        let state = self.lock();
        let skip = usize::try_from(from.0.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(collect_bounded(state.placed_if_open()?.iter().skip(skip), limit, |placed| Exact {
            position: placed.record.position,
            bytes: placed.bytes.clone(),
            chain: placed.chain,
        }))
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        let state = self.lock();
        let wanted = |placed: &&Placed| placed.record.stream == *stream && placed.record.sequence > after;
        Ok(collect_bounded(state.placed_if_open()?.iter().filter(wanted), limit, |placed| placed.record.clone()))
    }

    fn tail(&self) -> Tail {
        self.lock().ledger.tail()
    }

    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        let state = self.lock();
        let placed = state.placed_if_open()?;
        let Some(index) = position.0.checked_sub(1) else { return Ok(Some(ChainHash::GENESIS)) };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        Ok(placed.get(index).map(|placed| placed.chain))
    }

    fn stats(&self) -> Stats {
        let state = self.lock();
        let bytes = state.placed.iter().map(|placed| placed.bytes.len() as u64).sum();
        Stats { events: state.placed.len() as u64, bytes, ..Stats::default() }
    }

    fn close(&self) {
        self.lock().closed = true;
    }
}
