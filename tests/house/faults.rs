//! A log with scripted faults: it stores, refuses, panics, or loses the answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};
use baton_journal::{Ack, AppendError, Exact, Journal, ReadError, Stats};

/// The outcome of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The caller panics, nothing is stored.
    Panic,
    /// Refused, as with a full disk.
    Refuse,
    /// Refused as if another writer had written to the stream.
    Conflict,
    /// Stored, but the answer is lost because the writer has ended.
    LoseAnswer,
    /// Stored, and the caller panics on the answer.
    PanicAfter,
    /// Stored, and answered only after other tasks have run.
    Late,
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    Panic,
    Fail,
}

/// The kind of read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read<'a> {
    Everything,
    Stream(&'a StreamId),
    Chain,
}

type OnAppend = Box<dyn FnMut(&StreamId, &[NewRecord]) -> Option<Fault> + Send>;
type OnRead = Box<dyn FnMut(Read<'_>) -> Option<ReadFault> + Send>;

/// The underlying log, and the scripted faults.
pub(crate) struct Faulty {
    log: Arc<dyn Journal>,
    on_append: Mutex<OnAppend>,
    on_read: Mutex<OnRead>,
    appends: AtomicU64,
    closed: AtomicBool,
}

impl Faulty {
    /// Without any faults at first.
    pub(crate) fn new(log: Arc<dyn Journal>) -> Arc<Self> {
        let (on_append, on_read): (OnAppend, OnRead) = (Box::new(|_, _| None), Box::new(|_| None));
        let (on_append, on_read) = (Mutex::new(on_append), Mutex::new(on_read));
        Arc::new(Self { log, on_append, on_read, appends: AtomicU64::new(0), closed: AtomicBool::new(false) })
    }

    /// Sets the outcomes of further appends.
    pub(crate) fn on_append(&self, fault: impl FnMut(&StreamId, &[NewRecord]) -> Option<Fault> + Send + 'static) {
        *self.on_append.lock().unwrap() = Box::new(fault);
    }

    /// Sets the outcome of the next `times` appends that contain an event of this kind.
    pub(crate) fn next(&self, mut times: u32, kind: &'static str, fault: Fault) {
        self.on_append(move |_, batch| {
            let meant = times > 0 && batch.iter().any(|record| record.kind == kind);
            times -= u32::from(meant);
            meant.then_some(fault)
        });
    }

    /// Sets the outcomes of further reads.
    pub(crate) fn on_read(&self, fault: impl FnMut(Read<'_>) -> Option<ReadFault> + Send + 'static) {
        *self.on_read.lock().unwrap() = Box::new(fault);
    }

    /// Removes all faults.
    pub(crate) fn heal(&self) {
        self.on_append(|_, _| None);
        self.on_read(|_| None);
    }

    /// Number of attempted appends.
    pub(crate) fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    /// Reopens the log for the next daemon.
    pub(crate) fn reopen(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// The underlying log.
    pub(crate) fn log(&self) -> &Arc<dyn Journal> {
        &self.log
    }

    fn read_fault(&self, read: Read<'_>) -> Result<(), ReadError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(ReadError::Closed);
        }
        // Decided before the panic, which would poison a lock that is still held.
        let fault = (self.on_read.lock().unwrap())(read);
        match fault {
            None => Ok(()),
            Some(ReadFault::Panic) => panic!("reading was to panic"),
            Some(ReadFault::Fail) => {
                Err(ReadError::Failed { position: Position(1), reason: "it was to fail".to_owned() })
            }
        }
    }
}

impl Journal for Faulty {
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack {
        self.appends.fetch_add(1, Ordering::SeqCst);
        let fault = (self.on_append.lock().unwrap())(&stream, &batch);
        let error = match fault {
            _ if self.closed.load(Ordering::SeqCst) => AppendError::Closed,
            None => return self.log.append(stream, expected, batch),
            Some(Fault::Panic) => panic!("appending was to panic"),
            Some(Fault::Refuse) => AppendError::Refused {
                reason: "No space left on device (os error 28), as a test wills".to_owned(),
                retriable: true,
            },
            Some(Fault::Conflict) => AppendError::Conflict { actual: SequenceNumber(expected.0 + 1) },
            Some(Fault::LoseAnswer) => {
                drop(self.log.append(stream, expected, batch));
                AppendError::Closed
            }
            Some(Fault::PanicAfter) => {
                drop(self.log.append(stream, expected, batch));
                return Box::pin(async { panic!("hearing of it was to panic") });
            }
            Some(Fault::Late) => {
                let answer = self.log.append(stream, expected, batch);
                return Box::pin(async {
                    for _ in 0..50 {
                        tokio::task::yield_now().await;
                    }
                    answer.await
                });
            }
        };
        Box::pin(std::future::ready(Err(error)))
    }

    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        self.read_fault(Read::Everything)?;
        self.log.read(from, limit)
    }

    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        self.read_fault(Read::Everything)?;
        self.log.read_exact(from, limit)
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        self.read_fault(Read::Stream(stream))?;
        self.log.read_stream(stream, after, limit)
    }

    fn tail(&self) -> Tail {
        self.log.tail()
    }

    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        self.read_fault(Read::Chain)?;
        self.log.chain_at(position)
    }

    fn stats(&self) -> Stats {
        self.log.stats()
    }

    /// Closes only this daemon's access; the log itself stays open for the next daemon.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
