//! One pass over the segments, all of them or from a checkpoint on, and its results.
//!
//! From a checkpoint on, every segment must still exist under its name, with a valid header that follows the one before
//! it (a sealed one states its end, and must have the stated length). The segment that contains the checkpoint's
//! position, and those after it, are read and verified as in a full pass.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{Position, Timestamp};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::super::Fold;
use super::super::checkpoint::{self, Unusable, View};
use super::super::files::Files;
use super::super::index::{self, BoundedRead, Entry, Index};
use super::super::ledger::{Ledger, Placed};
use super::super::segment::scan::{self, Damaged, Extent, Scan, ScanError, Scanned};
use super::super::segment::{self, FRAME_BYTES, HEADER_BYTES, Header, HeaderError, Peek};
use super::super::unflushed::Unflushed;
use super::super::writer::{LastFrame, Resume, Writer};
use super::{Cut, FLUSH_LIMITS, OpenError, STEP_RECORDS, io_error};
use baton_base::durable;

/// One pass over the segments, and its results.
pub(super) struct Survey<'a> {
    log: &'a Path,
    folder: &'a Path,
    fold: &'a mut dyn Fold,
    pub(super) ledger: Ledger,
    index: Option<&'a Index>,
    /// The position that the index claims to have reached.
    applied: Tail,
    /// The segments' chain hash at that position; `None` if they do not reach it.
    chain_at_applied: Option<ChainHash>,
    /// Why the index cannot be used, whatever its end.
    broken: Option<String>,
    /// What the index lacks of what was read.
    pub(super) unflushed: Unflushed,
    /// Number of records that the index lacked.
    pub(super) fed: u64,
    /// Position up to which the index has the fold's rows.
    pub(super) saved: Position,
    /// Everything up to here is in the ledger and the fold already.
    start: Tail,
    /// The end of what was read.
    tail: Tail,
    end: End,
    torn: Option<Torn>,
}

/// Where to continue writing.
#[derive(Clone, Copy, Default)]
struct End {
    /// The last segment, and the bytes of all segments up to it.
    number: u32,
    bytes: u64,
    /// The end of that segment; `None` to continue in a new one, because the last one is sealed or there is none.
    resume: Option<Resume>,
    /// True if that segment has the format that is written now. If not, it is truncated but not appended to.
    is_current: bool,
}

/// A bad tail that must be cut off before the log can be written to.
struct Torn {
    number: u32,
    offset: usize,
    bytes: Vec<u8>,
}

impl<'a> Survey<'a> {
    /// A pass that has read nothing yet.
    pub(super) fn new(log: &'a Path, folder: &'a Path, index: Option<&'a Index>, fold: &'a mut dyn Fold) -> Self {
        let (start, tail, ledger) = (Tail::default(), Tail::default(), Ledger::default());
        let (end, torn, chain_at_applied) = (End::default(), None, None);
        let (unflushed, fed, saved) = (Unflushed::default(), 0, Position(0));
        let applied = index.map_or(Ok(tail), Index::applied);
        let broken = applied.as_ref().err().map(ToString::to_string);
        let applied = applied.unwrap_or_default();
        Self {
            log,
            folder,
            fold,
            ledger,
            index,
            applied,
            chain_at_applied,
            broken,
            unflushed,
            fed,
            saved,
            start,
            tail,
            end,
            torn,
        }
    }

    /// Reads what came after the checkpoint in the index, and returns the checkpoint's position; `None` if there is no
    /// checkpoint. Fails with the reason if it cannot be used. Unless it was used, everything has to be read.
    pub(super) fn read_after_checkpoint(&mut self) -> Result<Option<Position>, String> {
        let outcome = match (self.index, self.fold.rows()) {
            (Some(index), Some(rows)) if self.broken.is_none() => checkpoint::load(index, rows, &mut self.ledger),
            _ => return Ok(None),
        };
        let outcome = outcome.and_then(|start| self.read_from_checkpoint(start));
        if outcome.is_err() {
            self.ledger = Ledger::default();
            (self.start, self.tail, self.chain_at_applied) = (Tail::default(), Tail::default(), None);
            (self.end, self.torn) = (End::default(), None);
            (self.fed, self.saved) = (0, Position(0));
            self.unflushed.clear();
            if let Some(rows) = self.fold.rows() {
                rows.clear();
            }
        }
        match outcome {
            Ok(start) => Ok(Some(start)),
            Err(Unusable::OtherForm(None)) => Ok(None),
            Err(Unusable::OtherForm(Some(reason))) => Err(reason),
            Err(Unusable::Broken(reason)) => {
                self.broken = Some(reason.clone());
                Err(reason)
            }
        }
    }

    fn read_from_checkpoint(&mut self, start: Tail) -> Result<Position, Unusable> {
        (self.start, self.saved) = (start, start.position);
        // If the segments are damaged, reading all of them says so; if they end before, the index may restore the rest.
        let unread = |reason: String| Unusable::OtherForm(Some(reason));
        self.read_segments().map_err(|error| unread(error.to_string()))?;
        if self.chain_at_applied != Some(self.applied.chain) {
            let (index, segments) = (self.applied.position, self.tail.position);
            return Err(unread(format!(
                "the index at position {index} is not on the chain of the segments, which end at {segments}"
            )));
        }
        if !self.ledger.is_whole() {
            return Err(Unusable::Broken("its streams do not account for every position of the log".into()));
        }
        Ok(start.position)
    }

    /// Why the index has to be rebuilt from the segments.
    pub(super) fn why_index_is_broken(&self) -> Option<String> {
        let is_on_chain = self.index.is_none() || self.chain_at_applied == Some(self.applied.chain);
        let off_chain =
            || format!("position {} of the index is not on the chain of the segments", self.applied.position);
        self.broken.clone().or_else(|| (!is_on_chain).then(off_chain))
    }

    /// Reads the segments: all of them, or those from the checkpoint on.
    pub(super) fn read_segments(&mut self) -> Result<(), OpenError> {
        let mut scan = Scan::new(self.folder, Extent::Whole).map_err(io_error("list", self.folder))?;
        match self.read_with(&mut scan) {
            // To be cut off before the log can be written to.
            Err(ScanError::Damaged(place)) if place.is_last => {
                let offset = usize::try_from(place.offset).unwrap_or(usize::MAX);
                let bytes = scan.bytes().get(offset..).unwrap_or_default().to_vec();
                if !place.torn && !self.index_has(bytes.len()) {
                    return Err(OpenError::new(ScanError::Damaged(place), self.log));
                }
                self.torn = Some(Torn { number: place.segment, offset, bytes });
                Ok(())
            }
            Err(error) => Err(OpenError::new(error, self.log)),
            Ok(()) => Ok(()),
        }
    }

    /// True if the index has the records of so many bytes after the end of what was read.
    fn index_has(&self, bytes: usize) -> bool {
        let (mut tail, mut found) = (self.tail, 0);
        while found < bytes {
            let step = self.next_from_index(tail);
            let Some(last) = step.last() else { return false };
            tail = Tail { position: last.record.position, chain: last.chain };
            found += step.iter().map(|placed| placed.bytes.len() + FRAME_BYTES).sum::<usize>();
        }
        true
    }

    /// The next records that the index has after `tail`, as far as they follow on the chain.
    fn next_from_index(&self, mut tail: Tail) -> Vec<Placed> {
        let mut read = BoundedRead::new(STEP_RECORDS);
        let mut step = Vec::new();
        let Some(index) = self.index.filter(|_| tail.position < self.applied.position) else { return step };
        // What was read before it failed is as good.
        let _ = index.read(tail.position.next(), self.applied.position, &mut read);
        for (position, entry) in read.records {
            let Ok(record) = index::decode(&entry, position) else { break };
            if envelope::chain(tail.chain, &entry.bytes) != entry.chain {
                break;
            }
            tail = Tail { position, chain: entry.chain };
            // The index does not know the bounds of appends; if this write is torn, the index still has all of them.
            step.push(Placed { record, bytes: entry.bytes, chain: entry.chain, append_continues: false });
        }
        step
    }

    fn read_with(&mut self, scan: &mut Scan) -> Result<(), ScanError> {
        let mut peeks = Vec::with_capacity(scan.numbers().len());
        for (expected, number) in (1..).zip(scan.numbers()) {
            if *number != expected {
                let what = format!("the file is missing, but {number:04} exists");
                return Err(self.damaged(expected, 0, what));
            }
            let peek = segment::peek(self.folder, *number).map_err(|source| ScanError::Io {
                what: "read",
                place: self.place(*number, 0, source.to_string()),
                source,
            });
            peeks.push(peek?);
        }
        let begin = if self.start.position == Position(0) { 0 } else { self.check_headers(&peeks)? };
        self.note_chain_at_applied();
        self.end.bytes = peeks.iter().take(begin).map(|peek| peek.bytes).sum();
        scan.skip_to(begin, self.tail);
        for (number, peek) in (1..).zip(&peeks).skip(begin) {
            scan.begin_segment()?;
            let (length, earlier_bytes) = (HEADER_BYTES as u64, self.end.bytes);
            let resume = Resume { number, length, tail: self.tail, last: None, earlier_bytes };
            self.end = End {
                number,
                bytes: earlier_bytes + peek.bytes,
                resume: peek.end.is_none().then_some(resume),
                is_current: Header::is_current(scan.bytes()),
            };
            while let Some(found) = scan.next_in_segment()? {
                self.take(&found)?;
            }
            if peek.end.is_some_and(|end| end != self.tail) {
                return Err(self.damaged(number, scan.bytes().len(), "it does not end where its header says".into()));
            }
        }
        Ok(())
    }

    /// Checks the headers up to the segment to be read first, the one that proves the checkpoint. Returns the number of
    /// segments before it.
    fn check_headers(&mut self, peeks: &[Peek]) -> Result<usize, ScanError> {
        let holds = |peek: &Peek| peek.header.is_ok_and(|header| header.first <= self.start.position.next());
        let Some(begin) = peeks.iter().rposition(holds) else {
            return Err(self.damaged(1, 0, "no segment holds the position of the checkpoint".into()));
        };
        let mut before: Option<(&Peek, Header)> = None;
        for (number, peek) in (1..).zip(&peeks[..=begin]) {
            let header = self.check_header(number, peek)?;
            let follows = match before {
                None => header == Header::after(Tail::default()),
                Some((Peek { end: Some(end), .. }, _)) => header == Header::after(*end),
                Some((_, earlier)) => header.first > earlier.first,
            };
            if !follows {
                return Err(self.damaged(number, 0, "it does not follow the segment before it".into()));
            }
            before = Some((peek, header));
        }
        let Some((_, Header { first, before: chain })) = before else { return Ok(0) };
        self.tail = Tail { position: Position(first.0.saturating_sub(1)), chain };
        self.check_checkpoint_on_chain()?;
        Ok(begin)
    }

    /// Checks that the checkpoint is on the chain, once the pass is at its position.
    fn check_checkpoint_on_chain(&self) -> Result<(), ScanError> {
        if self.tail.position == self.start.position && self.tail.chain != self.start.chain {
            return Err(self.damaged(1, 0, "the checkpoint is not on the chain of the segments".into()));
        }
        Ok(())
    }

    fn check_header(&self, number: u32, peek: &Peek) -> Result<Header, ScanError> {
        peek.header.map_err(|error| match error {
            HeaderError::Bad => self.damaged(number, 0, error.to_string()),
            HeaderError::Newer(_) => ScanError::Newer(self.place(number, 0, error.to_string())),
        })
    }

    fn take(&mut self, found: &Scanned<'_>) -> Result<(), ScanError> {
        let (frame, before) = (found.frame, self.tail.chain);
        if found.position > self.start.position {
            let record = found.admit(&mut self.ledger)?;
            self.fold.apply(&record);
            self.feed(&record, found);
        }
        self.tail = Tail { position: found.position, chain: frame.chain };
        self.check_checkpoint_on_chain()?;
        self.note_chain_at_applied();
        if let Some(at) = &mut self.end.resume {
            at.length = frame.end as u64;
            at.tail = self.tail;
            at.last = Some(LastFrame { offset: frame.offset as u64, before });
        }
        Ok(())
    }

    /// Has the index take in a record that it lacks.
    fn feed(&mut self, record: &StoredRecord, found: &Scanned<'_>) {
        let is_on_chain = self.chain_at_applied == Some(self.applied.chain);
        let Some(index) = self.index.filter(|_| self.broken.is_none() && is_on_chain) else { return };
        self.unflushed.push(record, Entry { chain: found.frame.chain, bytes: found.record.to_vec() });
        self.fed += 1;
        if self.unflushed.due_in(FLUSH_LIMITS) == Some(Duration::ZERO) {
            let Self { ledger, saved, .. } = self;
            let view = self.fold.rows().map(|rows| View { rows, ledger, saved: *saved });
            match checkpoint::save(index, &self.unflushed, view.as_ref()) {
                Ok(true) => self.saved = record.position,
                Ok(false) => {}
                Err(error) => self.broken = Some(error.to_string()),
            }
            self.unflushed.clear();
        }
    }

    /// Notes the chain hash once the pass is at the position that the index claims.
    fn note_chain_at_applied(&mut self) {
        if self.tail.position == self.applied.position {
            self.chain_at_applied = Some(self.tail.chain);
        }
    }

    /// Saves a copy of the torn tail. Removes a segment that never had a complete header.
    pub(super) fn save_torn_tail(&self, files: &dyn Files, now: Timestamp) -> Result<Option<Cut>, OpenError> {
        let Some(torn) = &self.torn else { return Ok(None) };
        let path = segment::unsealed_path(self.folder, torn.number);
        let segment = format!("{:04}.seg", torn.number);
        let folder = self.log.join(format!("cut-{}", now.to_string().replace([':', '-', '.'], "")));
        let kept = folder.join(format!("{segment}.at-{}", torn.offset));
        durable::create_private_folder(&folder).map_err(io_error("create", &folder))?;
        durable::write_file(&kept, &torn.bytes).map_err(io_error("write", &kept))?;
        durable::sync_folder(&folder).map_err(io_error("write", &folder))?;
        if torn.offset == 0 {
            files.remove(&path).map_err(io_error("remove", &path))?;
        }
        let position = self.tail.position.next();
        Ok(Some(Cut { segment, offset: torn.offset as u64, bytes: torn.bytes.len() as u64, position, kept }))
    }

    /// A writer at the end of the segments. Truncates the torn tail.
    pub(super) fn open_writer(&self, files: Arc<dyn Files>, segment_bytes: u64) -> Result<Writer, OpenError> {
        let folder = self.folder.to_owned();
        let End { number, bytes, resume, is_current } = self.end;
        let writer = match resume {
            Some(at) => Writer::resume(files, folder, segment_bytes, at).and_then(|mut writer| {
                if !is_current {
                    writer.start_fresh_segment()?;
                }
                Ok(writer)
            }),
            None => Writer::create(files, folder, segment_bytes, number + 1, self.tail, bytes),
        };
        writer.map_err(io_error("write to", self.folder))
    }

    /// Appends to the segments the records that only the index still has, as far as they follow on the chain; returns
    /// their number. They had been acknowledged: the index takes in only what was synced in a segment.
    pub(super) fn restore_from_index(&mut self, writer: &mut Writer) -> Result<u64, OpenError> {
        let begin = self.tail.position;
        loop {
            let mut step = self.next_from_index(self.tail);
            let admitted = step.iter().take_while(|placed| self.ledger.admit(&placed.record, placed.chain).is_ok());
            step.truncate(admitted.count());
            let Some(last) = step.last() else { return Ok(self.tail.position.0 - begin.0) };
            self.tail = Tail { position: last.record.position, chain: last.chain };
            writer.append(&step).map_err(io_error("write to", self.folder))?;
            step.iter().for_each(|placed| self.fold.apply(&placed.record));
            self.note_chain_at_applied();
        }
    }

    fn place(&self, number: u32, offset: usize, what: String) -> Damaged {
        scan::damaged(self.folder, number, offset, self.tail.position.next(), what)
    }

    fn damaged(&self, number: u32, offset: usize, what: String) -> ScanError {
        ScanError::Damaged(self.place(number, offset, what))
    }
}
