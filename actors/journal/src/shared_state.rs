//! State that the committer and the sealer write and readers read: the index, what it lacks, the end of the log, sizes,
//! and problems.
//!
//! Reads go to the index and to the records since its last flush; if it is lost or fails, they scan the segments, which is
//! slower but gives the same answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::index::{self, BoundedRead, Entry, Index};
use super::ledger::Placed;
use super::segment::scan::{Scan, ScanError, Scanned};
use super::unflushed::Unflushed;
use super::writer::Writer;
use super::{READ_MAX_BYTES, ReadError, Stats};

/// Streams whose scan progress is remembered while there is no index.
const SCANS_REMEMBERED: usize = 10_000;

/// State shared by the committer, the sealer and readers.
pub(super) struct SharedState {
    log: PathBuf,
    segments: PathBuf,
    /// `None` if it could not be opened, failed to take in records, or the journal is closed.
    index: RwLock<Option<Index>>,
    /// What follows on the index up to the end of the log; empty without an index. Never locked before it.
    unflushed: RwLock<Unflushed>,
    status: Mutex<Status>,
    /// Held during a scan of the segments, so that only one runs at a time: each reads the log from disk. For each
    /// scanned stream how far the scans went: records after that sequence lie after that position.
    scans: Mutex<BTreeMap<StreamId, (SequenceNumber, Position)>>,
}

#[derive(Debug, Default)]
struct Status {
    tail: Tail,
    segments: u64,
    /// Bytes of the segments as they were when the log was opened, plus those created since …
    bytes: u64,
    /// … and what sealing has saved of that.
    shrunk: u64,
    problem: Option<String>,
    /// Why the committer has stopped early.
    failure: Option<String>,
    closed: bool,
}

impl SharedState {
    /// State for the log in folder `log`; `problem` is what is already wrong with its index.
    pub(super) fn new(log: PathBuf, index: Option<Index>, unflushed: Unflushed, problem: Option<String>) -> Self {
        let segments = log.join("segments");
        let status = Mutex::new(Status { problem, ..Status::default() });
        let (index, unflushed) = (RwLock::new(index), RwLock::new(unflushed));
        Self { log, segments, index, unflushed, status, scans: Mutex::default() }
    }

    /// The folder of the log.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// The folder of its segments.
    pub(super) fn segments(&self) -> &Path {
        &self.segments
    }

    /// Replaces the index by one that has every record, or by none, closing the previous one.
    pub(super) fn replace_index(&self, index: Option<Index>) {
        if index.is_some() {
            // It was about the previous index.
            self.lock_status().problem = None;
        }
        let mut current = self.index.write().unwrap_or_else(PoisonError::into_inner);
        self.unflushed.write().unwrap_or_else(PoisonError::into_inner).clear();
        *current = index;
    }

    /// Takes in records that are durable in the segments, for the next flush of the index.
    pub(super) fn take_in(&self, placed: Vec<Placed>) {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        if index.is_some() {
            let mut unflushed = self.unflushed.write().unwrap_or_else(PoisonError::into_inner);
            placed.into_iter().for_each(|Placed { record, bytes, chain, .. }| {
                unflushed.push(&record, Entry { chain, bytes });
            });
        }
    }

    /// The records since the last flush of the index.
    pub(super) fn unflushed(&self) -> RwLockReadGuard<'_, Unflushed> {
        self.unflushed.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets readers read up to `tail`.
    pub(super) fn advance(&self, tail: Tail, writer: &Writer) {
        let mut status = self.lock_status();
        (status.tail, status.segments, status.bytes) = (tail, writer.segments(), writer.bytes());
    }

    /// Counts the bytes that sealing a segment has saved.
    pub(super) fn count_saved_bytes(&self, bytes: u64) {
        self.lock_status().shrunk += bytes;
    }

    /// Reports a problem, unless one is reported already.
    pub(super) fn report_problem(&self, problem: String) {
        tracing::error!("{problem}");
        self.lock_status().problem.get_or_insert(problem);
    }

    /// Closes the journal because the committer has stopped early.
    pub(super) fn fail(&self, reason: String) {
        tracing::error!(%reason, "the log accepts no more appends");
        let mut status = self.lock_status();
        status.closed = true;
        status.failure.get_or_insert(reason);
    }

    /// The end of what is durable and readable.
    pub(super) fn tail(&self) -> Tail {
        self.lock_status().tail
    }

    /// Why the committer has stopped early.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock_status().failure.clone()
    }

    pub(super) fn stats(&self) -> Stats {
        let status = self.lock_status();
        let problem = status.failure.clone().or_else(|| status.problem.clone());
        let (events, segments, bytes) =
            (status.tail.position.0, status.segments, status.bytes.saturating_sub(status.shrunk));
        drop(status);
        let index_lost = self.index.read().unwrap_or_else(PoisonError::into_inner).is_none();
        let index_live_bytes = self.read_index(|index| Ok(index.checkpoint()?.live_bytes));
        Stats { events, segments, bytes, index_live_bytes, problem, index_lost }
    }

    /// Closes the journal and its index.
    pub(super) fn close(&self) {
        self.lock_status().closed = true;
        drop(self.index.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(super) fn index(&self) -> &RwLock<Option<Index>> {
        &self.index
    }

    fn lock_scans(&self) -> MutexGuard<'_, BTreeMap<StreamId, (SequenceNumber, Position)>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tail_if_open(&self) -> Result<Tail, ReadError> {
        let status = self.lock_status();
        if status.closed { Err(ReadError::Closed) } else { Ok(status.tail) }
    }

    /// Brings the records since the last flush into the index with `save`, and drops it if that fails, since a later
    /// flush would leave a gap. The next open of the log brings in what it lacks. Returns what `save` does, or `None`.
    pub(super) fn flush<T>(&self, save: impl FnOnce(&Index, &Unflushed) -> Result<T, index::Error>) -> Option<T> {
        let saved = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            let saved = save(index.as_ref()?, &self.unflushed());
            if saved.is_ok() {
                self.unflushed.write().unwrap_or_else(PoisonError::into_inner).clear();
            }
            saved
        };
        saved
            .map_err(|error| {
                self.report_index_failure(&error);
                self.replace_index(None);
            })
            .ok()
    }

    /// Reads from the index; `None` if there is none or it fails.
    pub(super) fn read_index<T>(&self, read: impl FnOnce(&Index) -> Result<T, index::Error>) -> Option<T> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        match read(index.as_ref()?) {
            Ok(found) => Some(found),
            Err(error) => {
                self.report_index_failure(&error);
                None
            }
        }
    }

    pub(super) fn report_index_failure(&self, error: &dyn std::fmt::Display) {
        let mut status = self.lock_status();
        if status.problem.is_none() {
            tracing::error!(error = %error, "index of the log failed; reading its segments instead");
            status.problem = Some(format!(
                "the index of the log failed ({error}); reads are slow until it is rebuilt in the background"
            ));
        }
    }

    /// The records of `from..=to`, bounded like a read; `None` if the index is needed but missing or fails.
    pub(super) fn read(&self, from: Position, to: Position, limit: usize) -> Option<Vec<(Position, Entry)>> {
        let (first, later) = {
            let unflushed = self.unflushed();
            let first = unflushed.first().unwrap_or(to.next());
            (first, unflushed.read((first.max(from).0..=to.0).map(Position), limit))
        };
        let mut read = BoundedRead::new(limit);
        if from < first {
            self.read_index(|index| index.read(from, to.min(Position(first.0 - 1)), &mut read))?;
        }
        read.extend(later);
        Some(read.records)
    }

    /// Like [`Self::read`], the records of a stream after sequence `after`.
    pub(super) fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        limit: usize,
    ) -> Option<Vec<(Position, Entry)>> {
        let (first, is_known, later) = {
            let unflushed = self.unflushed();
            let run = unflushed.run(stream);
            let known = run.and_then(|run| after.0.checked_sub(run.after.0));
            let skip = usize::try_from(known.unwrap_or(0)).unwrap_or(usize::MAX);
            let positions = run.into_iter().flat_map(|run| &run.positions).skip(skip).copied();
            let later = unflushed.read(positions.take_while(|position| *position <= to), limit);
            (unflushed.first().unwrap_or(to.next()), known.is_some(), later)
        };
        let mut read = BoundedRead::new(limit);
        if !is_known {
            let to = to.min(Position(first.0 - 1));
            self.read_index(|index| index.read_stream(stream, after, to, &mut read))?;
        }
        read.extend(later);
        Some(read.records)
    }

    /// Converts records that were read; `None` if one is not as it should be, which is the index's fault.
    pub(super) fn convert<T>(
        &self,
        found: Vec<(Position, Entry)>,
        mut convert: impl FnMut(Position, Entry) -> Result<T, index::Error>,
    ) -> Option<Vec<T>> {
        let converted: Result<_, _> = found.into_iter().map(|(position, entry)| convert(position, entry)).collect();
        converted.map_err(|error| self.report_index_failure(&error)).ok()
    }

    /// The chain hash at a position that the log has; `None` if the index is needed but missing or fails.
    pub(super) fn chain_at(&self, position: Position) -> Option<ChainHash> {
        let unflushed = self.unflushed().get(position).map(|entry| entry.chain);
        unflushed.or_else(|| self.read_index(|index| index.chain_at(position)))
    }

    /// Reads `from..=to` from the segments, each record as `convert` has it. Waits for other scans.
    pub(super) fn scan<T>(
        &self,
        from: Position,
        to: Position,
        limit: usize,
        convert: impl Fn(&Scanned<'_>) -> Result<T, envelope::Error>,
    ) -> Result<Vec<T>, ReadError> {
        let _only = self.lock_scans();
        self.scan_matching(from, to, limit, |found| convert(found).map(Some)).map(|(records, _)| records)
    }

    /// Reads records of a stream from the segments. Waits for other scans. Continuing where the last read of the stream
    /// ended does not scan the same segments again.
    pub(super) fn scan_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        to: Position,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        let mut scans = self.lock_scans();
        let progress = scans.get(stream).filter(|(sequence, _)| *sequence <= after);
        let from = progress.map_or(Position(1), |(_, position)| position.next());
        if from > to {
            return Ok(Vec::new());
        }
        let (records, whole) = self.scan_matching(from, to, limit, |found| {
            let record = envelope::decode(found.record)?;
            Ok(Some(record).filter(|record| record.stream == *stream && record.sequence > after))
        })?;
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

    /// Reads what `convert` has of the records from the segments; also returns whether the scan reached `to`.
    fn scan_matching<T>(
        &self,
        from: Position,
        to: Position,
        limit: usize,
        convert: impl Fn(&Scanned<'_>) -> Result<Option<T>, envelope::Error>,
    ) -> Result<(Vec<T>, bool), ReadError> {
        let failed = |position, reason| ReadError::Failed { position, reason };
        let unread = |error: ScanError| failed(from, error.to_string());
        let mut scan = Scan::between(&self.segments, from, to).map_err(unread)?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        while records.len() < limit && bytes < READ_MAX_BYTES {
            let Some(found) = scan.next().map_err(unread)? else { return Ok((records, true)) };
            if found.position < from {
                continue;
            }
            if let Some(record) = convert(&found).map_err(|error| failed(found.position, error.to_string()))? {
                bytes += found.record.len();
                records.push(record);
            }
        }
        Ok((records, false))
    }
}
