//! Reading the segments of a log that nobody has open, in order, with every check that an open makes. Nothing is
//! written, cut or repaired; a log that is too damaged to be opened is read up to the damage.
//!
//! The caller must hold the lock of the home, so that nobody writes meanwhile.

use std::path::{Path, PathBuf};

use baton_events::envelope::{StoredRecord, Tail};

use super::Exact;
use super::ledger::Ledger;
use super::segment::scan::{Extent, Scan};

pub use super::segment::scan::ScanError as Error;

/// Reads the records of a log one after another. Holds one segment in memory at a time.
pub struct OfflineReader {
    scan: Scan,
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

impl OfflineReader {
    /// Opens the log in a folder. A missing folder is an empty log.
    pub fn open(log: &Path) -> Result<Self, Error> {
        let scan = Scan::open(&log.join("segments"), Extent::Whole)?;
        Ok(Self { scan, ledger: Ledger::default(), end: None, failed: false })
    }

    /// The next record, decoded and as stored; `None` at the end and after an error.
    #[expect(clippy::should_implement_trait, reason = "an error ends it, which a user of an iterator might overlook")]
    pub fn next(&mut self) -> Result<Option<(StoredRecord, Exact)>, Error> {
        if self.failed || self.end.is_some() {
            return Ok(None);
        }
        match self.scan.next_record(&mut self.ledger) {
            Ok(Some((record, found))) => Ok(Some((record, found.exact()))),
            Ok(None) => {
                self.end = Some(End::Whole);
                Ok(None)
            }
            Err(Error::Damaged(place)) if place.torn => {
                let bytes = self.scan.bytes().len() as u64 - place.offset;
                self.end = Some(End::Torn { segment: place.path, offset: place.offset, bytes });
                Ok(None)
            }
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    /// The end of what was read.
    pub fn tail(&self) -> Tail {
        self.ledger.tail()
    }

    /// Number of segment files.
    pub fn segments(&self) -> u64 {
        self.scan.numbers().len() as u64
    }

    /// How the log ended; `None` before its end or after an error.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use baton_conversation::record::{Metadata, SequenceNumber, StreamId, Timestamp};
    use baton_events::envelope::NewRecord;

    use super::super::files::DiskFiles;
    use super::super::segment::{self, HEADER_BYTES, Header};
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
        assert!(matches!(&end, Err(Error::Damaged(place)) if place.position == first), "{end:?}");

        fs::remove_file(&second).unwrap();
        let (before, end) = read(folder.path());
        assert_eq!(before.len() as u64, first.0 - 1);
        assert!(end.unwrap_err().to_string().contains("missing"));
    }
}
