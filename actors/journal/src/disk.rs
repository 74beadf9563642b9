//! The journal on disk, as its users hold it: the bounded queue in front of the committer, reads, and close.
//!
//! Reads go to the index, and to the segments when the index fails: slower, never wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::committer::{Committer, Request, Unflushed, Wish};
use super::compact::{self, Building, CompactError, Rewritten};
use super::files::{DiskFiles, Files};
use super::ledger::measure;
use super::recovery::{self, OpenError, Recovery};
use super::sealer::Sealer;
use super::sled::{self, Index};
use super::verify::{self, Auditor, Until, Verified};
use super::writer::Writer;
use super::{Ack, AppendError, Exact, Fold, Journal, READ_MAX_BYTES, READ_MAX_RECORDS, ReadError, Stats, segment};
use baton_base::pinned_folder::PinnedFolder;

/// A full segment: large enough that a year of log is a handful of files, small enough to read at once.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Records that a restart may have to bring into the index again: about a tenth of a second.
const FLUSH_AFTER_RECORDS: usize = 10_000;
/// How long the index may lag behind on disk while nobody writes.
const FLUSH_AFTER: Duration = Duration::from_secs(60);
/// What may wait for the committer, in KiB: many times what a group commit takes in, and no more than that.
const QUEUE_MAX_KIB: usize = 16 * 1024;
/// Streams of which it is remembered how far they were scanned while there is no index.
const SCANS_REMEMBERED: usize = 10_000;

/// How a log is opened.
#[derive(Clone)]
pub struct Options {
    /// The folder of the log; created if it is missing.
    pub log: PathBuf,
    /// The time of opening: names the folder that a torn tail is kept in.
    pub now: Timestamp,
    /// Size at which a new segment is begun.
    pub segment_bytes: u64,
    /// The index is flushed after this many records …
    pub flush_after_records: usize,
    /// … or when it has been dirty this long, and at close.
    pub flush_after: Duration,
    /// Whether full segments are compressed, in the background.
    pub seal: bool,
    /// The file layer of the segments.
    pub files: Arc<dyn Files>,
}

impl Options {
    /// The usual ones for a folder.
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
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
    sealer: Mutex<Option<Arc<Sealer>>>,
    recovery: Recovery,
    /// Held while the index is rewritten.
    rewriting: Mutex<()>,
}

impl DiskJournal {
    /// Opens a log, and repairs what can be repaired without guessing. `fold` has seen and published everything when
    /// this returns. The caller holds the lock of the home.
    ///
    /// Blocks. With a checkpoint of the fold what was stored before it is neither read nor folded: of those segments only the
    /// names, headers and the order among them are looked at. Else it takes about a second per million records.
    pub fn open(options: Options, mut fold: Box<dyn Fold>) -> Result<Self, OpenError> {
        let Options { log, now, segment_bytes, flush_after_records, flush_after, seal, files } = options;
        let recovered = recovery::recover(&log, Arc::clone(&files), segment_bytes, now, &mut *fold)?;
        let tail = recovered.ledger.tail();
        fold.publish(tail);

        let known = Known { problem: recovered.report.problem.clone(), ..Known::default() };
        let (segments, index) = (log.join("segments"), RwLock::new(recovered.index));
        let log_folder = log.clone();
        let (known, scans) = (Mutex::new(known), Mutex::default());
        let shared = Arc::new(Shared { log: log_folder, segments: segments.clone(), index, known, scans });
        shared.advance(tail, &recovered.writer);
        let threads = |source| OpenError::Io { what: "start the threads for", path: log.clone(), source };
        let pinned = PinnedFolder::open(&segments).map_err(|source| OpenError::Io {
            what: "open",
            path: segments.clone(),
            source,
        })?;
        let sealer = seal.then(|| Sealer::start(files, segments, Arc::clone(&shared), recovered.writer.number()));
        let sealer = sealer.transpose().map_err(threads)?.map(Arc::new);
        let saved = recovered.report.checkpoint.unwrap_or_default();
        // What was folded without a checkpoint is kept too, though nobody may write.
        let since = (fold.rows().is_some() && saved < tail.position).then(Instant::now);
        let (sender, requests) = mpsc::channel();
        let committer = Committer {
            requests,
            writer: recovered.writer,
            ledger: recovered.ledger,
            fold,
            shared: Arc::clone(&shared),
            unflushed: Unflushed { records: 0, since, max_records: flush_after_records, max_age: flush_after },
            saved,
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

    /// Goes on as after a write that the index refused.
    #[cfg(any(test, feature = "faults"))]
    pub fn lose_index(&self) {
        self.shared.use_index(|_| Err(std::io::Error::other("lost on purpose").into()));
    }

    /// Waits until every full segment has been sealed, or could not be.
    #[cfg(test)]
    pub(super) fn wait_sealed(&self) {
        let sealer = self.sealer.lock().unwrap().clone().expect("sealing");
        // The committer tells of a full segment before it answers.
        sealer.wait();
    }

    /// What was found and repaired while it was opened.
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
        let tail = self.shared.tail_if_open()?;
        let (from, limit) = (from.max(Position(1)), limit.min(READ_MAX_RECORDS));
        if from > tail.position || limit == 0 {
            return Ok(Vec::new());
        }
        let indexed = self.shared.ask_index(|index| {
            let entries = index.entries(from, tail.position, limit)?;
            (from.0..).map(Position).zip(&entries).map(|(position, entry)| sled::decode(entry, position)).collect()
        });
        indexed.map_or_else(|| self.shared.scan(from, tail.position, limit), Ok)
    }

    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        let tail = self.shared.tail_if_open()?;
        let (from, limit) = (from.max(Position(1)), limit.min(READ_MAX_RECORDS));
        if from > tail.position || limit == 0 {
            return Ok(Vec::new());
        }
        let indexed = self.shared.ask_index(|index| {
            let entries = index.entries(from, tail.position, limit)?;
            let exact = |(position, entry): (Position, sled::Entry)| {
                // That it is the record of this position is told by the record alone.
                sled::decode(&entry, position)?;
                Ok(Exact { position, bytes: entry.bytes, chain: entry.chain })
            };
            (from.0..).map(Position).zip(entries).map(exact).collect()
        });
        indexed.map_or_else(|| self.shared.scan_exact(from, tail.position, limit), Ok)
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
        let indexed = self.shared.ask_index(|index| index.read_stream(stream, after, tail.position, limit));
        indexed.map_or_else(|| self.shared.scan_stream(stream, after, tail.position, limit), Ok)
    }

    fn tail(&self) -> Tail {
        self.shared.known().tail
    }

    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        let tail = self.shared.tail_if_open()?;
        if position == Position(0) {
            return Ok(Some(ChainHash::GENESIS));
        }
        if position >= tail.position {
            return Ok((position == tail.position).then_some(tail.chain));
        }
        let indexed = self.shared.ask_index(|index| index.entry_at(position));
        indexed.map_or_else(|| self.shared.scan_chain(position), |entry| Ok(Some(entry.chain)))
    }

    fn stats(&self) -> Stats {
        let known = self.shared.known();
        let problem = known.failure.clone().or_else(|| known.problem.clone());
        let (events, segments, bytes) =
            (known.tail.position.0, known.segments, known.bytes.saturating_sub(known.shrunk));
        drop(known);
        let index_lost = self.shared.has_no_index();
        let index_live_bytes = self.shared.ask_index(|index| Ok(index.live_bytes())).flatten();
        Stats { events, segments, bytes, index_live_bytes, problem, index_lost }
    }

    fn failure(&self) -> Option<String> {
        self.shared.known().failure.clone()
    }

    fn compact(&self, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<Rewritten, CompactError> {
        let Ok(_only) = self.rewriting.try_lock() else { return Err(CompactError::UnderWay) };
        self.shared.tail_if_open().map_err(|_| CompactError::Closed)?;
        let bytes = || compact::folder_bytes(&self.shared.log().join("sled"));
        let bytes_before = bytes();
        let tail = || self.shared.known().tail;
        let new = Building { shared: &self.shared, tail: &tail, go_on }.build()?;
        let built = compact::new_bytes(self.shared.log());
        tracing::debug!(bytes_before, built, "index of the log built anew");
        if built >= bytes_before && self.shared.ask_index(|_| Ok(())).is_some() {
            compact::give_up(new, self.shared.log());
            let records = self.shared.known().tail.position.0;
            return Ok(Rewritten { records, bytes_before, bytes_after: bytes_before, pause: Duration::ZERO });
        }
        let (reply, answer) = std::sync::mpsc::channel();
        let work = move |committer: &mut Committer| {
            let _ = reply.send(committer.take_over(new));
        };
        self.queue.send(Wish::Between(Box::new(work))).map_err(|_| CompactError::Closed)?;
        let pause = answer.recv().map_err(|_| CompactError::Closed)??;
        compact::remove_old(self.shared.log());
        Ok(Rewritten { records: self.shared.known().tail.position.0, bytes_before, bytes_after: bytes(), pause })
    }

    fn verify(&self, auditor: &mut dyn Auditor) -> Result<Verified, ReadError> {
        self.shared.tail_if_open()?;
        let (folder, index) = (self.shared.segments(), Some(&self.shared.index));
        verify::verify(folder, index, &|| Until::Tail(self.shared.known().tail), auditor)
            .map_err(|error| ReadError::Failed { position: Position(1), reason: error.to_string() })
    }

    fn close(&self) {
        self.queue.room.close();
        drop(self.queue.lock().take());
        let committer = self.committer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // What went wrong in it was told when it did.
        let _ = committer.map(JoinHandle::join);
        drop(self.sealer.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.shared.known().closed = true;
        drop(self.shared.index.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        self.close();
    }
}

struct Append {
    stream: StreamId,
    expected: SequenceNumber,
    batch: Vec<NewRecord>,
}

type Answer = oneshot::Receiver<Result<super::Appended, AppendError>>;

/// The queue in front of the committer. Its bound is `room`, in KiB of what waits.
struct Queue {
    room: Arc<Semaphore>,
    sender: Mutex<Option<Sender<Wish>>>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Option<Sender<Wish>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, append: Append, room: OwnedSemaphorePermit) -> Result<Answer, AppendError> {
        let Append { stream, expected, batch } = append;
        let (reply, answer) = oneshot::channel();
        let request = Request { stream, expected, batch, reply, room };
        self.send(Wish::Append(request))?;
        Ok(answer)
    }

    fn send(&self, wish: Wish) -> Result<(), AppendError> {
        let sender = self.lock();
        let sender = sender.as_ref().ok_or(AppendError::Closed)?;
        sender.send(wish).map_err(|_| AppendError::Closed)
    }
}

/// What the committer writes and readers read.
pub(super) struct Shared {
    log: PathBuf,
    segments: PathBuf,
    /// `None` when it could not be opened, failed to take in a group, or the journal is closed.
    index: RwLock<Option<Index>>,
    known: Mutex<Known>,
    /// Held while the segments are scanned: one scan at a time, for each reads the log from the disk. Of streams that were
    /// scanned, how far: records after the sequence stand after the position.
    scans: Mutex<BTreeMap<StreamId, (SequenceNumber, Position)>>,
}

#[derive(Debug, Default)]
struct Known {
    tail: Tail,
    segments: u64,
    /// Of segments as they were when the log was opened, and those begun since …
    bytes: u64,
    /// … and what sealing has saved of that.
    shrunk: u64,
    problem: Option<String>,
    /// Why the committer has ended before its time.
    failure: Option<String>,
    closed: bool,
}

impl Shared {
    /// The folder of the log.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// The folder of its segments.
    pub(super) fn segments(&self) -> &Path {
        &self.segments
    }

    /// Has this index used from now on; the one before it is closed.
    pub(super) fn put_index(&self, index: Option<Index>) {
        if index.is_some() {
            // Whatever was wrong with the one before it.
            self.known().problem = None;
        }
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets readers read up to `tail`.
    pub(super) fn advance(&self, tail: Tail, writer: &Writer) {
        let mut known = self.known();
        (known.tail, known.segments, known.bytes) = (tail, writer.segments(), writer.bytes());
    }

    /// Counts what sealing a segment has saved.
    pub(super) fn shrink(&self, bytes: u64) {
        self.known().shrunk += bytes;
    }

    /// Tells of something that is wrong, unless something else was before.
    pub(super) fn worry(&self, problem: String) {
        tracing::error!("{problem}");
        self.known().problem.get_or_insert(problem);
    }

    /// The committer has ended before its time: from here on the journal is closed.
    pub(super) fn fail(&self, reason: String) {
        tracing::error!(%reason, "the log takes nothing any more");
        let mut known = self.known();
        known.closed = true;
        known.failure.get_or_insert(reason);
    }

    fn has_no_index(&self) -> bool {
        self.index.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn scans(&self) -> MutexGuard<'_, BTreeMap<StreamId, (SequenceNumber, Position)>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tail_if_open(&self) -> Result<Tail, ReadError> {
        let known = self.known();
        if known.closed { Err(ReadError::Closed) } else { Ok(known.tail) }
    }

    /// Writes to the index. If that fails there is none from here on: a later write would leave a hole in it. What it
    /// lacks it gets when the log is next opened.
    pub(super) fn use_index(&self, write: impl FnOnce(&Index) -> Result<(), sled::Error>) -> bool {
        let outcome = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            index.as_ref().map(write)
        };
        match outcome {
            None => false,
            Some(Ok(())) => true,
            Some(Err(error)) => {
                self.complain(&error);
                drop(self.index.write().unwrap_or_else(PoisonError::into_inner).take());
                false
            }
        }
    }

    /// Reads from the index; `None` when it is of no help.
    fn ask_index<T>(&self, read: impl FnOnce(&Index) -> Result<T, sled::Error>) -> Option<T> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        match read(index.as_ref()?) {
            Ok(found) => Some(found),
            Err(error) => {
                self.complain(&error);
                None
            }
        }
    }

    pub(super) fn complain(&self, error: &dyn std::fmt::Display) {
        let mut known = self.known();
        if known.problem.is_none() {
            tracing::error!(error = %error, "index of the log failed; reading its segments instead");
            known.problem = Some(format!(
                "the index of the log failed ({error}); reads are slow until it is rebuilt in the background"
            ));
        }
    }

    /// Reads from the segments, when nobody else does.
    fn scan(&self, from: Position, to: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        let _only = self.scans();
        self.scan_now(from, to, limit, |_| true).map(|(records, _)| records)
    }

    /// Reads a stream from the segments, when nobody else does. Whoever reads on from where the last read of it ended does
    /// not scan what that has scanned.
    fn scan_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        let mut scans = self.scans();
        let known = scans.get(stream).filter(|(sequence, _)| *sequence <= after);
        let from = known.map_or(Position(1), |(_, position)| position.next());
        if from > to {
            return Ok(Vec::new());
        }
        let wanted = |record: &StoredRecord| record.stream == *stream && record.sequence > after;
        let (records, whole) = self.scan_now(from, to, limit, wanted)?;
        let last = records.last().map(|record| (record.sequence, record.position));
        let reached = match (whole, last) {
            (true, last) => (last.map_or(after, |(sequence, _)| sequence), to),
            (false, Some(last)) => last,
            (false, None) => return Ok(records),
        };
        if scans.len() >= SCANS_REMEMBERED {
            scans.clear();
        }
        scans.insert(stream.clone(), reached);
        Ok(records)
    }

    /// Reads from the segments. Whether it came to the end.
    fn scan_now(
        &self,
        from: Position,
        to: Position,
        limit: usize,
        wanted: impl Fn(&StoredRecord) -> bool,
    ) -> Result<(Vec<StoredRecord>, bool), ReadError> {
        let mut whole = true;
        let (mut records, mut bytes, mut bad) = (Vec::new(), 0, None);
        let streamed = segment::stream(&self.segments, from, to, |position, frame| {
            match envelope::decode(frame.record) {
                Ok(record) if wanted(&record) => {
                    bytes += frame.record.len();
                    records.push(record);
                }
                Ok(_) => {}
                Err(error) => bad = Some((position, error.to_string())),
            }
            whole = records.len() < limit && bytes < READ_MAX_BYTES;
            whole && bad.is_none()
        });
        let failed = streamed.err().map(|reason| (from, reason)).or(bad);
        failed.map_or(Ok((records, whole)), |(position, reason)| Err(ReadError::Failed { position, reason }))
    }

    /// As [`Shared::scan`], to the byte.
    fn scan_exact(&self, from: Position, to: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        let _only = self.scans();
        let (mut records, mut bytes) = (Vec::new(), 0);
        let streamed = segment::stream(&self.segments, from, to, |position, frame| {
            bytes += frame.record.len();
            records.push(Exact { position, bytes: frame.record.to_vec(), chain: frame.chain });
            records.len() < limit && bytes < READ_MAX_BYTES
        });
        streamed.map_or_else(|reason| Err(ReadError::Failed { position: from, reason }), |()| Ok(records))
    }

    fn scan_chain(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        let _only = self.scans();
        let mut found = None;
        segment::stream(&self.segments, position, position, |_, frame| {
            found = Some(frame.chain);
            false
        })
        .map_err(|reason| ReadError::Failed { position, reason })?;
        Ok(found)
    }
}
