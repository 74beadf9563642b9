//! One pass over the segments of a log, in order, up to the first place that cannot be read: every record is verified
//! against the chain, the header of its segment and, through [`Scanned::admit`], its position and its stream. An open,
//! a verification, a repair, a reader without a daemon and a read without the index are all loops over a [`Scan`].

use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{StoredRecord, Tail};

use super::super::Exact;
use super::super::ledger::Ledger;
use super::{Damage, Frame, Frames, HEADER_BYTES, Header, HeaderError};

/// The first place where the segments of a log cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Number of the segment.
    pub segment: u32,
    /// Its file.
    pub path: PathBuf,
    /// Offset in the unpacked segment.
    pub offset: u64,
    /// The position of the first record that is bad or missing; all before it are whole.
    pub position: Position,
    /// What is wrong there.
    pub what: String,
    /// True if no later write follows it, so that the index may still have what is bad.
    pub is_last: bool,
    /// True if it is the torn end of an unacknowledged write, as a crash leaves it, or if the index has it; the next
    /// start cuts it off.
    pub torn: bool,
}

/// Why a log cannot be read on. The records read so far are valid.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A file could not be read.
    #[error("cannot {what} {}: {source}", place.path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or folder concerned.
        place: Damaged,
        /// The system's error.
        source: io::Error,
    },
    /// Records are bad or missing.
    #[error("the log is damaged at position {}: {} at byte {}: {}", .0.position, .0.path.display(), .0.offset, .0.what)]
    Damaged(Damaged),
    /// The log contains something that only a newer version of this program understands.
    #[error(
        "the log was written by a newer version of this program ({}, position {}): {}",
        .0.path.display(), .0.position, .0.what
    )]
    Newer(Damaged),
}

impl ScanError {
    /// The place where the log cannot be read on, whatever the reason.
    pub(crate) fn into_place(self) -> Damaged {
        match self {
            Self::Io { place, .. } | Self::Damaged(place) | Self::Newer(place) => place,
        }
    }
}

/// How the segments are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// To their end; nobody writes. A sealed segment that cannot be unpacked as a whole is not read at all.
    Whole,
    /// To their end; nobody writes. What can be unpacked of a damaged sealed segment is read.
    Salvage,
    /// Like [`Extent::Salvage`] up to this position; more may be written after it meanwhile.
    UpTo(Position),
}

/// See the module. Holds one segment in memory at a time.
pub(crate) struct Scan {
    folder: PathBuf,
    numbers: Vec<u32>,
    extent: Extent,
    /// Number of segments begun.
    begun: usize,
    number: u32,
    bytes: Vec<u8>,
    /// Why not all of the segment could be unpacked.
    cut_short: Option<String>,
    frames: Frames,
    tail: Tail,
    append_continues: bool,
}

/// One valid record.
pub(crate) struct Scanned<'s> {
    folder: &'s Path,
    pub(crate) segment: u32,
    pub(crate) position: Position,
    pub(crate) frame: Frame,
    pub(crate) record: &'s [u8],
    /// True if it belongs to the same append as the record before it.
    pub(crate) same_append: bool,
}

impl Scanned<'_> {
    /// Decodes the record and takes it into `ledger`.
    pub(crate) fn admit(&self, ledger: &mut Ledger) -> Result<StoredRecord, ScanError> {
        let place = |what| damaged(self.folder, self.segment, self.frame.offset, self.position, what);
        let record = envelope::decode(self.record).map_err(|error| match error {
            envelope::Error::UnknownFormat(_) => ScanError::Newer(place(error.to_string())),
            error => ScanError::Damaged(place(error.to_string())),
        })?;
        ledger.admit(&record, self.frame.chain).map_err(|what| ScanError::Damaged(place(what)))?;
        Ok(record)
    }

    /// The record as it is stored.
    pub(crate) fn exact(&self) -> Exact {
        Exact { position: self.position, bytes: self.record.to_vec(), chain: self.frame.chain }
    }
}

/// The place in a segment at which `position` is bad or missing.
pub(crate) fn damaged(folder: &Path, segment: u32, offset: usize, position: Position, what: String) -> Damaged {
    let path = super::path_on_disk(folder, segment);
    Damaged { segment, path, offset: offset as u64, position, what, is_last: false, torn: false }
}

impl Scan {
    /// A scan of all segments in a folder; a missing folder has none. Fails only if the folder cannot be listed.
    pub(crate) fn new(folder: &Path, extent: Extent) -> io::Result<Self> {
        let numbers = match super::list(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        Ok(Self {
            folder: folder.to_owned(),
            numbers,
            extent,
            begun: 0,
            number: 0,
            bytes: Vec::new(),
            cut_short: None,
            frames: Frames::default(),
            tail: Tail::default(),
            append_continues: false,
        })
    }

    /// Like [`Scan::new`], with the error of a scan.
    pub(crate) fn open(folder: &Path, extent: Extent) -> Result<Self, ScanError> {
        Self::new(folder, extent).map_err(|source| {
            let what = format!("it cannot be listed: {source}");
            let place = Damaged { path: folder.to_owned(), ..damaged(folder, 0, 0, Position(1), what) };
            ScanError::Io { what: "list", place, source }
        })
    }

    /// A scan from the segment that contains position `from` up to position `to`. Segments before it are not read.
    pub(crate) fn between(folder: &Path, from: Position, to: Position) -> Result<Self, ScanError> {
        let mut scan = Self::open(folder, Extent::UpTo(to))?;
        for (index, number) in scan.numbers.clone().into_iter().enumerate().rev() {
            let peek = super::peek(folder, number).map_err(|source| scan.io_error(number, source))?;
            match peek.header {
                Ok(header) if header.first <= from => {
                    let position = Position(header.first.0.saturating_sub(1));
                    scan.skip_to(index, Tail { position, chain: header.before });
                    break;
                }
                // The last one may just be being created.
                Err(HeaderError::Bad) if index + 1 < scan.numbers.len() => {
                    return Err(scan.damaged(number, 0, HeaderError::Bad.to_string()));
                }
                Err(error @ HeaderError::Newer(_)) => {
                    return Err(ScanError::Newer(scan.place(number, 0, error.to_string())));
                }
                _ => {}
            }
        }
        Ok(scan)
    }

    /// Leaves out the first `index` segments, which end at `tail`.
    pub(crate) fn skip_to(&mut self, index: usize, tail: Tail) {
        (self.begun, self.tail) = (index, tail);
        self.number = index.checked_sub(1).and_then(|last| self.numbers.get(last).copied()).unwrap_or(0);
    }

    /// The numbers of all segments.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Number of segments begun.
    pub(crate) fn segments_read(&self) -> usize {
        self.begun
    }

    /// The current segment.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The next record; `None` at the end. After an error nothing more can be read.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned<'_>>, ScanError> {
        let found = loop {
            if let Some(frame) = self.advance()? {
                break frame;
            }
            if !self.begin_segment()? {
                return Ok(None);
            }
        };
        Ok(Some(self.scanned(found)))
    }

    /// The next record, decoded and taken into `ledger`; see [`Scan::next`].
    pub(crate) fn next_record(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Option<(StoredRecord, Scanned<'_>)>, ScanError> {
        let Some(found) = self.next()? else { return Ok(None) };
        Ok(Some((found.admit(ledger)?, found)))
    }

    /// The next record of the current segment; `None` at its end.
    pub(crate) fn next_in_segment(&mut self) -> Result<Option<Scanned<'_>>, ScanError> {
        Ok(self.advance()?.map(|found| self.scanned(found)))
    }

    /// Loads the next segment and checks its header. Returns false if there is none.
    pub(crate) fn begin_segment(&mut self) -> Result<bool, ScanError> {
        if self.is_done() {
            return Ok(false);
        }
        let Some(number) = self.numbers.get(self.begun).copied() else {
            return match self.extent {
                Extent::UpTo(to) => Err(self.damaged(self.number, 0, format!("the segments end before position {to}"))),
                Extent::Whole | Extent::Salvage => Ok(false),
            };
        };
        if number != self.number + 1 {
            let what = format!("the file is missing, but {number:04} exists");
            return Err(self.damaged(self.number + 1, 0, what));
        }
        (self.bytes, self.cut_short) = self.load(number)?;
        match Header::decode(&self.bytes) {
            Ok(header) if header == Header::after(self.tail) => {}
            Ok(header) => {
                let what = format!(
                    "position {} is missing: its header says that it begins at position {} of another history",
                    self.tail.position.next(),
                    header.first
                );
                return Err(self.damaged(number, 0, what));
            }
            // Records follow only a synced header, so a segment that short never had any.
            Err(HeaderError::Bad) if self.may_be_torn(number) && self.bytes.len() <= HEADER_BYTES => {
                let place = self.place(number, 0, HeaderError::Bad.to_string());
                return Err(ScanError::Damaged(Damaged { is_last: true, torn: true, ..place }));
            }
            Err(HeaderError::Bad) => return Err(self.damaged(number, 0, HeaderError::Bad.to_string())),
            Err(error @ HeaderError::Newer(_)) => {
                return Err(ScanError::Newer(self.place(number, 0, error.to_string())));
            }
        }
        (self.begun, self.number) = (self.begun + 1, number);
        self.frames = Frames { offset: HEADER_BYTES, before: self.tail.chain, append: Vec::new() };
        Ok(true)
    }

    fn load(&self, number: u32) -> Result<(Vec<u8>, Option<String>), ScanError> {
        let path = super::unsealed_path(&self.folder, number);
        let loaded = match self.extent {
            Extent::Whole => super::load(&path).map(|bytes| (bytes, None)),
            Extent::Salvage | Extent::UpTo(_) => super::load_partial(&path),
        };
        loaded.map_err(|source| {
            if source.kind() != io::ErrorKind::InvalidData {
                return self.io_error(number, source);
            }
            match super::peek(&self.folder, number).map(|peek| peek.header) {
                Ok(Err(error @ HeaderError::Newer(_))) => ScanError::Newer(self.place(number, 0, error.to_string())),
                _ => self.damaged(number, 0, source.to_string()),
            }
        })
    }

    /// Reads one frame of the current segment.
    fn advance(&mut self) -> Result<Option<Frame>, ScanError> {
        if self.is_done() {
            return Ok(None);
        }
        match self.frames.next(&self.bytes) {
            Some(Ok(frame)) => {
                self.tail = Tail { position: self.tail.position.next(), chain: frame.chain };
                Ok(Some(frame))
            }
            Some(Err(damage)) => Err(self.damage(damage)),
            None => match self.cut_short.take() {
                Some(what) => Err(self.damaged(self.number, self.bytes.len(), what)),
                None => Ok(None),
            },
        }
    }

    fn scanned(&mut self, frame: Frame) -> Scanned<'_> {
        let same_append = std::mem::replace(&mut self.append_continues, frame.append_continues);
        let (segment, position, record) = (self.number, self.tail.position, frame.record(&self.bytes));
        Scanned { folder: &self.folder, segment, position, frame, record, same_append }
    }

    fn is_done(&self) -> bool {
        matches!(self.extent, Extent::UpTo(to) if self.tail.position >= to)
    }

    /// True for the last segment if nobody writes to it: its end may be the half of a write.
    fn may_be_torn(&self, number: u32) -> bool {
        !matches!(self.extent, Extent::UpTo(_))
            && self.numbers.last() == Some(&number)
            && super::unsealed_path(&self.folder, number).exists()
    }

    /// Tells the torn tail of the last write from damage to what had been on disk.
    fn damage(&mut self, damage: Damage) -> ScanError {
        if let Some(what) = self.cut_short.take() {
            return self.damaged(self.number, damage.offset, what);
        }
        if !self.may_be_torn(self.number) {
            return self.damaged(self.number, damage.offset, damage.what.to_owned());
        }
        match super::find_later_group(&self.bytes, damage, self.tail.chain) {
            Some(later) => {
                let what = format!("{}, and a later write follows at byte {later}", damage.what);
                self.damaged(self.number, damage.offset, what)
            }
            None => {
                let torn = super::is_torn(&self.bytes, damage, self.tail.chain);
                let reason = if torn { "" } else { ", and that is not what a crash leaves of a write" };
                let place = self.place(self.number, damage.offset, format!("{}{reason}", damage.what));
                ScanError::Damaged(Damaged { is_last: true, torn, ..place })
            }
        }
    }

    fn place(&self, number: u32, offset: usize, what: String) -> Damaged {
        damaged(&self.folder, number, offset, self.tail.position.next(), what)
    }

    fn damaged(&self, number: u32, offset: usize, what: String) -> ScanError {
        ScanError::Damaged(self.place(number, offset, what))
    }

    fn io_error(&self, number: u32, source: io::Error) -> ScanError {
        ScanError::Io { what: "read", place: self.place(number, 0, format!("it cannot be read: {source}")), source }
    }
}
