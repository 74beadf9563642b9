//! The journal on disk as its users hold it: the bounded queue in front of the committer, reads, and close.
//!
//! Reads go to the index and to the records since its last flush, and to the segments if the index fails: slower, with
//! the same answers.

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use baton_conversation::record::{Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::committer::{Append, Committer, Pending, Request};
use super::files::{DiskFiles, Files};
use super::index::{self, Entry};
use super::index_rewrite::{self, CompactError, IndexBuilder, Rewritten};
use super::ledger::measure;
use super::recovery::{self, OpenError, Recovery};
use super::sealer::Sealer;
use super::segment::scan::Scanned;
use super::shared_state::SharedState;
use super::unflushed::FlushLimits;
use super::verify::{self, Verified, VerifyVisitor};
use super::{Ack, AppendError, Exact, Fold, Journal, READ_MAX_RECORDS, ReadError, Stats};
use baton_base::pinned_folder::PinnedFolder;

/// Size of a full segment: small enough that the last one, which alone is not compressed yet, is no large part of a log,
/// and large enough to compress well.
pub(super) const SEGMENT_BYTES: u64 = 1024 * 1024;
/// Records that are held in memory, and that a restart may have to read again: about 0.1 s.
const FLUSH_AFTER_RECORDS: usize = 10_000;
/// How long the index may lag behind.
const FLUSH_AFTER: Duration = Duration::from_secs(60);
/// Bound of the queue in KiB: many times what one group commit takes.
const QUEUE_MAX_KIB: usize = 16 * 1024;

/// How a log is opened.
#[derive(Clone)]
pub struct Options {
    /// The folder of the log; created if it is missing.
    pub log: PathBuf,
    /// The time of opening; names the folder that keeps a torn tail.
    pub now: Timestamp,
    /// Size in bytes at which a new segment is begun.
    pub segment_bytes: u64,
    /// The index is flushed after this many records …
    pub flush_after_records: usize,
    /// … or a few MB of them, or when it has lacked something this long, and at close.
    pub flush_after: Duration,
    /// True if full segments are compressed in the background.
    pub seal: bool,
    /// The file operations on segments.
    pub files: Arc<dyn Files>,
}

impl Options {
    /// The default options for a folder.
    pub fn new(log: impl Into<PathBuf>, now: Timestamp) -> Self {
        Self {
            log: log.into(),
            now,
            segment_bytes: SEGMENT_BYTES,
            flush_after_records: FLUSH_AFTER_RECORDS,
            flush_after: FLUSH_AFTER,
            seal: true,
            files: Arc::new(DiskFiles),
        }
    }
}

/// The journal on disk. Dropping it closes it.
pub struct DiskJournal {
    queue: Arc<Queue>,
    shared: Arc<SharedState>,
    committer: Mutex<Option<JoinHandle<()>>>,
    sealer: Mutex<Option<Arc<Sealer>>>,
    recovery: Recovery,
    /// Held while the index is rewritten.
    rewriting: Mutex<()>,
}

impl DiskJournal {
    /// Opens a log and repairs what can be repaired without guessing. `fold` has applied and published everything when
    /// this returns. The caller must hold the lock of the home.
    ///
    /// Blocks. With a checkpoint of the fold, records before it are neither read nor folded: only the names and headers
    /// of their segments, and the order of these, are checked. Otherwise it takes about a second per million records.
    pub fn open(options: Options, mut fold: Box<dyn Fold>) -> Result<Self, OpenError> {
        let Options { log, now, segment_bytes, flush_after_records, flush_after, seal, files } = options;
        let recovered = recovery::recover(&log, Arc::clone(&files), segment_bytes, now, &mut *fold)?;
        let tail = recovered.ledger.tail();
        fold.publish(tail);

        let problem = recovered.report.problem.clone();
        // A fold made without a checkpoint gets one, even if nothing is appended.
        let mut unflushed = recovered.unflushed;
        if recovered.index.is_some() && fold.rows().is_some() && recovered.saved < tail.position {
            unflushed.set_dirty();
        }
        let shared = Arc::new(SharedState::new(log.clone(), recovered.index, unflushed, problem));
        let segments = shared.segments().to_owned();
        shared.advance(tail, &recovered.writer);
        let threads = |source| OpenError::Io { what: "start the threads for", path: log.clone(), source };
        let pinned = PinnedFolder::open(&segments).map_err(|source| OpenError::Io {
            what: "open",
            path: segments.clone(),
            source,
        })?;
        let sealer = seal.then(|| Sealer::start(files, segments, Arc::clone(&shared), recovered.writer.number()));
        let sealer = sealer.transpose().map_err(threads)?.map(Arc::new);
        let (sender, requests) = mpsc::channel();
        let committer = Committer {
            requests,
            writer: recovered.writer,
            ledger: recovered.ledger,
            fold,
            shared: Arc::clone(&shared),
            flush_limits: FlushLimits { records: flush_after_records, age: flush_after },
            saved: recovered.saved,
            sealer: sealer.clone(),
            segments: pinned,
        };
        let thread = thread::Builder::new().name("journal".into()).spawn(move || committer.run());
        let thread = thread.map_err(threads)?;
        let queue = Queue { room: Arc::new(Semaphore::new(QUEUE_MAX_KIB)), sender: Mutex::new(Some(sender)) };
        let committer = Mutex::new(Some(thread));
        let sealer = Mutex::new(sealer);
        let (queue, recovery, rewriting) = (Arc::new(queue), recovered.report, Mutex::new(()));
        Ok(Self { queue, shared, committer, sealer, recovery, rewriting })
    }

    /// Drops the index, as after a failed write to it.
    #[cfg(any(test, feature = "faults"))]
    pub fn lose_index(&self) {
        self.shared.flush(|_, _| Err::<(), _>(std::io::Error::other("lost on purpose").into()));
    }

    /// Waits until every full segment has been tried.
    #[cfg(test)]
    pub(super) fn wait_sealed(&self) {
        let sealer = self.sealer.lock().unwrap().clone().expect("sealing");
        // The committer notifies the sealer before it answers an append.
        sealer.wait();
    }

    /// Reads records from the index or, if it fails, from the segments.
    fn read_converted<T>(
        &self,
        from: Position,
        limit: usize,
        indexed: impl Fn(Position, Entry) -> Result<T, index::Error>,
        scanned: impl Fn(&Scanned<'_>) -> Result<T, envelope::Error>,
    ) -> Result<Vec<T>, ReadError> {
        let tail = self.shared.tail_if_open()?;
        let (from, limit) = (from.max(Position(1)), limit.min(READ_MAX_RECORDS));
        if from > tail.position || limit == 0 {
            return Ok(Vec::new());
        }
        let found = self.shared.read(from, tail.position, limit);
        let read = found.and_then(|found| self.shared.convert(found, indexed));
        read.map_or_else(|| self.shared.scan(from, tail.position, limit, scanned), Ok)
    }

    /// Has the committer do something between two groups, and waits for it; `None` if it has ended.
    fn between_groups<T: Send + 'static>(&self, work: impl FnOnce(&mut Committer) -> T + Send + 'static) -> Option<T> {
        let (reply, answer) = mpsc::channel();
        let work = move |committer: &mut Committer| {
            let _ = reply.send(work(committer));
        };
        self.queue.send(Request::BetweenGroups(Box::new(work))).ok()?;
        answer.recv().ok()
    }

    /// What was found and repaired on open.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }
}

impl Journal for DiskJournal {
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack {
        let kib = match measure(&stream, &batch) {
            Ok(bytes) => u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX),
            Err(refusal) => return Box::pin(std::future::ready(Err(refusal))),
        };
        let append = Append { stream, expected, batch };
        match Arc::clone(&self.queue.room).try_acquire_many_owned(kib) {
            Ok(room) => {
                let queued = self.queue.push(append, room);
                Box::pin(async { queued?.await.unwrap_or(Err(AppendError::Closed)) })
            }
            Err(_) => {
                let queue = Arc::clone(&self.queue);
                Box::pin(async move {
                    let room = Arc::clone(&queue.room).acquire_many_owned(kib).await;
                    let queued = queue.push(append, room.map_err(|_| AppendError::Closed)?)?;
                    queued.await.unwrap_or(Err(AppendError::Closed))
                })
            }
        }
    }

    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        let indexed = |position, entry: Entry| index::decode(&entry, position);
        self.read_converted(from, limit, indexed, |found| envelope::decode(found.record))
    }

    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        let indexed = |position, entry: Entry| {
            // Only the decoded record shows that it belongs to this position.
            index::decode(&entry, position)?;
            Ok(Exact { position, bytes: entry.bytes, chain: entry.chain })
        };
        self.read_converted(from, limit, indexed, |found| Ok(found.exact()))
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        let tail = self.shared.tail_if_open()?;
        let limit = limit.min(READ_MAX_RECORDS);
        if limit == 0 || tail.position == Position(0) {
            return Ok(Vec::new());
        }
        let found = self.shared.read_stream(stream, after, tail.position, limit);
        let read = found.and_then(|found| {
            let mut expected = after;
            self.shared.convert(found, |position, entry| {
                expected = expected.next();
                let record = index::decode(&entry, position)?;
                let follows = record.stream == *stream && record.sequence == expected;
                if follows { Ok(record) } else { Err(index::Error::Malformed("the positions of a stream")) }
            })
        });
        read.map_or_else(|| self.shared.scan_stream(stream, after, tail.position, limit), Ok)
    }

    fn tail(&self) -> Tail {
        self.shared.tail()
    }

    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        let tail = self.shared.tail_if_open()?;
        if position == Position(0) {
            return Ok(Some(ChainHash::GENESIS));
        }
        if position >= tail.position {
            return Ok((position == tail.position).then_some(tail.chain));
        }
        if let Some(chain) = self.shared.chain_at(position) {
            return Ok(Some(chain));
        }
        let chain = |found: &Scanned<'_>| Ok(found.frame.chain);
        Ok(self.shared.scan(position, position, 1, chain)?.pop())
    }

    fn stats(&self) -> Stats {
        self.shared.stats()
    }

    fn failure(&self) -> Option<String> {
        self.shared.failure()
    }

    fn compact(&self, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<Rewritten, CompactError> {
        let Ok(_only) = self.rewriting.try_lock() else { return Err(CompactError::UnderWay) };
        self.shared.tail_if_open().map_err(|_| CompactError::Closed)?;
        let bytes = || index_rewrite::folder_bytes(&self.shared.log().join(index::CURRENT));
        let bytes_before = bytes();
        let tail = || self.shared.tail();
        let new = IndexBuilder { shared: &self.shared, tail: &tail, go_on }.build()?;
        let built = index_rewrite::folder_bytes(&self.shared.log().join(index::NEW));
        tracing::debug!(bytes_before, built, "index of the log built anew");
        if built >= bytes_before && self.shared.read_index(|_| Ok(())).is_some() {
            index_rewrite::discard(new, self.shared.log());
            let records = self.shared.tail().position.0;
            return Ok(Rewritten { records, bytes_before, bytes_after: bytes_before, pause: Duration::ZERO });
        }
        let pause = self.between_groups(|committer| committer.replace_index(new)).ok_or(CompactError::Closed)??;
        index::remove_old(self.shared.log());
        Ok(Rewritten { records: self.shared.tail().position.0, bytes_before, bytes_after: bytes(), pause })
    }

    fn verify(&self, auditor: &mut dyn VerifyVisitor) -> Result<Verified, ReadError> {
        self.shared.tail_if_open()?;
        // So that the index has something to compare. If the committer has ended, what it has is compared.
        let _ = self.between_groups(Committer::flush);
        let (folder, index) = (self.shared.segments(), Some(self.shared.index()));
        verify::verify(folder, index, &|| Some(self.shared.tail()), auditor)
            .map_err(|error| ReadError::Failed { position: Position(1), reason: error.to_string() })
    }

    fn close(&self) {
        self.queue.room.close();
        drop(self.queue.lock().take());
        let committer = self.committer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic of the thread has been reported when it happened.
        let _ = committer.map(JoinHandle::join);
        drop(self.sealer.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.shared.close();
    }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        self.close();
    }
}

type Answer = oneshot::Receiver<Result<super::Appended, AppendError>>;

/// The queue in front of the committer, bounded by `room`, in KiB.
struct Queue {
    room: Arc<Semaphore>,
    sender: Mutex<Option<Sender<Request>>>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Option<Sender<Request>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, append: Append, room: OwnedSemaphorePermit) -> Result<Answer, AppendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::Append(append, Pending { reply, room }))?;
        Ok(answer)
    }

    fn send(&self, request: Request) -> Result<(), AppendError> {
        let sender = self.lock();
        let sender = sender.as_ref().ok_or(AppendError::Closed)?;
        sender.send(request).map_err(|_| AppendError::Closed)
    }
}
