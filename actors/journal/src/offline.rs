//! Reading the segments of a log that nobody has open, in order, with every check that an open makes. Nothing is
//! written, cut or repaired; a log that is too damaged to be opened is read up to the damage.
//!
//! The caller must hold the lock of the home, so that nobody writes meanwhile.

use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{StoredRecord, Tail};

use super::Exact;
use super::ledger::Ledger;
use super::segment::{self, Damage, Frames, HEADER_BYTES, Header, HeaderError};

/// Reads the records of a log one after another. Holds one segment in memory at a time.
pub struct OfflineReader {
    folder: PathBuf,
    numbers: Vec<u32>,
    /// Number of segments begun.
    begun: usize,
    bytes: Vec<u8>,
    offset: usize,
    ledger: Ledger,
    end: Option<End>,
    failed: bool,
}

/// How a log ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With its last record.
    Whole,
    /// Bytes follow the last record that no acknowledgement is known to cover. An open cuts them off.
    Torn {
        /// The segment file.
        segment: PathBuf,
        /// Offset of the first of these bytes.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
}

/// Why a log cannot be read on. The records read so far are valid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Records are bad or missing.
    #[error("the log is damaged at position {position}: {} at byte {offset}: {what}", segment.display())]
    Damaged {
        /// The segment file.
        segment: PathBuf,
        /// Offset in the segment.
        offset: u64,
        /// The position of the first record that is bad or missing.
        position: Position,
        /// What is wrong there.
        what: String,
    },
    /// The log contains something that only a newer version of this program understands.
    #[error("the log was written by a newer version of this program ({}, position {position}): {what}", segment.display())]
    Newer {
        /// The segment file.
        segment: PathBuf,
        /// Position of the first record concerned.
        position: Position,
        /// What is not understood.
        what: String,
    },
}

impl OfflineReader {
    /// Opens the log in a folder. A missing folder is an empty log.
    pub fn open(log: &Path) -> Result<Self, Error> {
        let folder = log.join("segments");
        let numbers = match segment::list(&folder) {
            Ok(numbers) => numbers,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::Io { what: "list", path: folder, source }),
        };
        let (ledger, bytes) = (Ledger::default(), Vec::new());
        Ok(Self { folder, numbers, begun: 0, bytes, offset: 0, ledger, end: None, failed: false })
    }

    /// The next record, decoded and as stored; `None` at the end and after an error.
    #[expect(clippy::should_implement_trait, reason = "an error ends it, which a user of an iterator might overlook")]
    pub fn next(&mut self) -> Result<Option<(StoredRecord, Exact)>, Error> {
        while self.end.is_none() && !self.failed {
            let step = match self.offset < self.bytes.len() {
                true => self.next_frame(),
                false => self.begin_segment().map(|()| None),
            };
            self.failed = step.is_err();
            if let Some(read) = step? {
                return Ok(Some(read));
            }
        }
        Ok(None)
    }

    /// The end of what was read.
    pub fn tail(&self) -> Tail {
        self.ledger.tail()
    }

    /// Number of segment files.
    pub fn segments(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Number of segments begun, as a measure of progress.
    pub fn segments_begun(&self) -> u64 {
        self.begun as u64
    }

    /// How the log ended; `None` before its end or after an error.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Begins the next segment, or notes that there is none.
    fn begin_segment(&mut self) -> Result<(), Error> {
        let Some(number) = self.numbers.get(self.begun).copied() else {
            self.end = Some(End::Whole);
            return Ok(());
        };
        let begin = self.ledger.tail();
        let expected = u32::try_from(self.begun + 1).unwrap_or(u32::MAX);
        if number != expected {
            let what = "the file is missing, but later ones exist".to_owned();
            return Err(self.damaged(segment::unsealed_path(&self.folder, expected), 0, what));
        }
        let path = segment::unsealed_path(&self.folder, number);
        let path_on_disk = || segment::path_on_disk(&self.folder, number);
        let bytes = match segment::load(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(self.damaged(path_on_disk(), 0, error.to_string()));
            }
            Err(source) => return Err(Error::Io { what: "read", path: path_on_disk(), source }),
        };
        self.begun += 1;
        let is_last = self.begun == self.numbers.len();
        match Header::decode(&bytes) {
            Ok(header) if header == (Header { first: begin.position.next(), before: begin.chain }) => {}
            Ok(header) => {
                let what = format!("its header says that it begins at position {} of another history", header.first);
                return Err(self.damaged(path, 0, what));
            }
            Err(HeaderError::Bad) if is_last && bytes.len() <= HEADER_BYTES => {
                self.end = Some(End::Torn { segment: path, offset: 0, bytes: bytes.len() as u64 });
                return Ok(());
            }
            Err(HeaderError::Bad) => return Err(self.damaged(path, 0, HeaderError::Bad.to_string())),
            Err(error @ HeaderError::Newer(_)) => return Err(self.newer(path, error.to_string())),
        }
        (self.bytes, self.offset) = (bytes, HEADER_BYTES);
        Ok(())
    }

    fn next_frame(&mut self) -> Result<Option<(StoredRecord, Exact)>, Error> {
        let before = self.ledger.tail().chain;
        let path = || segment::path_on_disk(&self.folder, self.numbers[self.begun - 1]);
        let frame = match Frames::new(&self.bytes, self.offset, before).next() {
            Some(Ok(frame)) => frame,
            Some(Err(damage)) => return self.handle_damage(damage),
            None => return Ok(None),
        };
        let (offset, end) = (frame.offset, frame.end);
        let record = match envelope::decode(frame.record) {
            Ok(record) => record,
            Err(error @ envelope::Error::UnknownFormat(_)) => return Err(self.newer(path(), error.to_string())),
            Err(error) => return Err(self.damaged(path(), offset, error.to_string())),
        };
        let exact = Exact { position: record.position, bytes: frame.record.to_vec(), chain: frame.chain };
        if let Err(what) = self.ledger.admit(&record, exact.chain) {
            let path = segment::path_on_disk(&self.folder, self.numbers[self.begun - 1]);
            return Err(self.damaged(path, offset, what));
        }
        self.offset = end;
        Ok(Some((record, exact)))
    }

    /// Ends the log if `damage` is a torn tail; otherwise fails.
    fn handle_damage(&mut self, damage: Damage) -> Result<Option<(StoredRecord, Exact)>, Error> {
        let segment = segment::path_on_disk(&self.folder, self.numbers[self.begun - 1]);
        if self.begun < self.numbers.len() {
            return Err(self.damaged(segment, damage.offset, damage.what.to_owned()));
        }
        if let Some(behind) = segment::find_later_group(&self.bytes, damage, self.ledger.tail().chain) {
            let what = format!("{}, and a later write follows at byte {behind}", damage.what);
            return Err(self.damaged(segment, damage.offset, what));
        }
        let bytes = (self.bytes.len() - damage.offset) as u64;
        self.end = Some(End::Torn { segment, offset: damage.offset as u64, bytes });
        Ok(None)
    }

    fn damaged(&self, segment: PathBuf, offset: usize, what: String) -> Error {
        Error::Damaged { segment, offset: offset as u64, position: self.ledger.tail().position.next(), what }
    }

    fn newer(&self, segment: PathBuf, what: String) -> Error {
        Error::Newer { segment, position: self.ledger.tail().position.next(), what }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use baton_conversation::record::{Metadata, SequenceNumber, StreamId, Timestamp};
    use baton_events::envelope::NewRecord;

    use super::super::files::DiskFiles;
    use super::super::writer::Writer;
    use super::*;

    /// A log of `records` records in segments of about 400 bytes, and the records.
    fn log(records: usize) -> (tempfile::TempDir, Vec<Exact>) {
        let folder = tempfile::tempdir().unwrap();
        let segments = folder.path().join("segments");
        fs::create_dir(&segments).unwrap();
        let mut writer = Writer::create(Arc::new(DiskFiles), segments, 400, 1, Tail::default(), 0).unwrap();
        let mut ledger = Ledger::default();
        let mut written = Vec::new();
        for number in 0..records {
            let mut stage = ledger.stage();
            let new = NewRecord {
                kind: "x".into(),
                v: 1,
                at: Timestamp(number as i64),
                metadata: Metadata::default(),
                data: format!("{{\"n\":{number}}}"),
            };
            stage.place(&StreamId::recorded("s"), SequenceNumber(number as u64), vec![new]).unwrap();
            let staged = stage.finish();
            writer.append(&staged.placed).unwrap();
            ledger.accept(&staged);
            let placed = &staged.placed[0];
            written.push(Exact { position: placed.record.position, bytes: placed.bytes.clone(), chain: placed.chain });
        }
        (folder, written)
    }

    /// The records read, and how reading ended.
    fn read(log: &Path) -> (Vec<Exact>, Result<Option<End>, Error>) {
        let mut reader = match OfflineReader::open(log) {
            Ok(reader) => reader,
            Err(error) => return (Vec::new(), Err(error)),
        };
        let mut read = Vec::new();
        loop {
            match reader.next() {
                Ok(Some((record, exact))) => {
                    assert_eq!(record.position, exact.position);
                    read.push(exact);
                }
                Ok(None) => return (read, Ok(reader.end().cloned())),
                Err(error) => {
                    assert!(matches!(reader.next(), Ok(None)), "nothing is read behind an error");
                    return (read, Err(error));
                }
            }
        }
    }

    fn segments(log: &Path) -> Vec<PathBuf> {
        let folder = log.join("segments");
        segment::list(&folder).unwrap().into_iter().map(|number| segment::unsealed_path(&folder, number)).collect()
    }

    #[test]
    fn every_record_comes_as_it_was_written() {
        let (folder, written) = log(20);
        assert!(segments(folder.path()).len() > 3, "several segments");
        let (read, end) = read(folder.path());
        assert_eq!((read, end.unwrap()), (written, Some(End::Whole)));
    }

    #[test]
    fn a_log_that_is_not_there_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let (read, end) = read(&folder.path().join("log"));
        assert_eq!((read, end.unwrap()), (Vec::new(), Some(End::Whole)));
    }

    #[test]
    fn a_torn_tail_is_told_and_left_where_it_is() {
        let (folder, written) = log(20);
        let last = segments(folder.path()).pop().unwrap();
        let whole = fs::read(&last).unwrap();
        for cut in [1, 5, 30] {
            fs::write(&last, &whole[..whole.len() - cut]).unwrap();
            let (read, end) = read(folder.path());
            assert_eq!(read, written[..19], "cut by {cut}");
            assert!(matches!(end.unwrap(), Some(End::Torn { bytes, .. }) if bytes > 0), "cut by {cut}");
            assert_eq!(fs::read(&last).unwrap().len(), whole.len() - cut);
        }
    }

    #[test]
    fn damage_is_named_and_everything_before_it_read() {
        let (folder, written) = log(20);
        let second = segments(folder.path()).remove(1);
        let whole = fs::read(&second).unwrap();
        let first = Header::decode(&whole).unwrap().first;
        let mut flipped = whole;
        flipped[HEADER_BYTES + 10] ^= 1;
        fs::write(&second, flipped).unwrap();
        let (before, end) = read(folder.path());
        assert_eq!(before.len() as u64, first.0 - 1);
        assert_eq!(before[..], written[..before.len()]);
        assert!(matches!(end, Err(Error::Damaged { position, .. }) if position == first), "{end:?}");

        fs::remove_file(&second).unwrap();
        let (before, end) = read(folder.path());
        assert_eq!(before.len() as u64, first.0 - 1);
        assert!(end.unwrap_err().to_string().contains("missing"));
    }
}
