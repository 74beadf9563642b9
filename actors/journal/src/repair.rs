//! Cutting off a damaged log where it is still whole. Nothing is lost: the bytes cut from the segments are moved to a
//! folder of their own, and so is the index, which may hold the only good copy of a damaged record.
//!
//! The index goes first, since its records after the cut would otherwise be restored; then the segments from the last
//! one backwards, so that there is never a hole; last the segment that contains the cut. After a crash at any step the
//! same cut can be made again.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord};

use super::index;
use super::ledger::Ledger;
use super::segment::scan::{Damaged, Extent, Scan};
use super::segment::{self, HEADER_BYTES, Header};
use baton_base::durable;

/// The index, and what a rewrite of it may have left.
const INDEXES: [&str; 3] = [index::CURRENT, index::NEW, index::OLD];

/// Why a log was not cut.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log is damaged before the cut, which would leave that damage in.
    #[error(
        "the log is damaged before position {at} already: {} at byte {}, position {}: {}; cut at {} or before",
        .damage.path.display(), .damage.offset, .damage.position, .damage.what, .damage.position
    )]
    DamagedBefore {
        /// The requested cut.
        at: Position,
        /// The damage.
        damage: Box<Damaged>,
    },
    /// There are no records from the cut on.
    #[error("the log ends at position {last}: there is nothing to cut at {at}")]
    NothingThere {
        /// The requested cut.
        at: Position,
        /// The last position.
        last: Position,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}; run the same command again when that is fixed", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

/// The place of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutPlace {
    /// The first position to be removed.
    pub at: Position,
    segment: u32,
    offset: usize,
    /// The chain hash before it.
    pub before: ChainHash,
}

/// What lies after a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutOff {
    /// Records that are still readable, though not verifiable against the chain.
    pub records: u64,
    /// Bytes that are not.
    pub unreadable_bytes: u64,
    /// Segment files, including the one that contains the cut.
    pub segments: u64,
}

/// Finds the place of a cut. An append is kept completely or not at all, so the cut is made before the append that
/// contains the position: [`CutPlace::at`] may be less than `at`. `kept` receives every record before the cut.
pub fn find_cut(log: &Path, at: Position, kept: &mut dyn FnMut(&StoredRecord)) -> Result<CutPlace, Error> {
    let folder = log.join("segments");
    let mut scan = Scan::new(&folder, Extent::Salvage).map_err(io_error("read", &folder))?;
    let mut ledger = Ledger::default();
    let (mut append, mut before, mut of_append) = (None, ChainHash::GENESIS, Vec::new());
    loop {
        let (record, found) = match scan.next_record(&mut ledger) {
            Ok(Some(read)) => read,
            Ok(None) => return Err(Error::NothingThere { at, last: ledger.tail().position }),
            Err(error) => {
                let damage = error.into_place();
                return match damage.position.cmp(&at) {
                    Ordering::Less => Err(Error::DamagedBefore { at, damage: Box::new(damage) }),
                    Ordering::Greater => Err(Error::NothingThere { at, last: ledger.tail().position }),
                    Ordering::Equal => {
                        of_append.iter().for_each(kept);
                        let offset = usize::try_from(damage.offset).unwrap_or(usize::MAX);
                        Ok(CutPlace { at, segment: damage.segment, offset, before })
                    }
                };
            }
        };
        let (segment, offset) = (found.segment, found.frame.offset);
        let begin = match append {
            Some(begin) if found.same_append => begin,
            _ => {
                of_append.drain(..).for_each(|record| kept(&record));
                CutPlace { at: record.position, segment, offset, before }
            }
        };
        if record.position >= at {
            return Ok(begin);
        }
        (append, before) = (Some(begin), found.frame.chain);
        of_append.push(record);
    }
}

/// Reads what lies after a cut as far as possible. `cut` receives every record that is valid by itself.
pub fn read_cut_off(log: &Path, place: &CutPlace, cut: &mut dyn FnMut(&StoredRecord)) -> Result<CutOff, Error> {
    let folder = log.join("segments");
    let mut found = CutOff::default();
    for number in segment::list(&folder).map_err(io_error("list", &folder))? {
        if number < place.segment {
            continue;
        }
        found.segments += 1;
        let path = segment::unsealed_path(&folder, number);
        let Ok((bytes, _)) = segment::load_partial(&path) else {
            found.unreadable_bytes += segment_files(&folder, number).iter().map(|file| size(file)).sum::<u64>();
            continue;
        };
        let begin = match Header::decode(&bytes) {
            _ if number == place.segment && place.offset >= HEADER_BYTES => (place.offset, place.before),
            Ok(header) => (HEADER_BYTES, header.before),
            // Frames are found without a header, but there is no hash to verify the first one against.
            Err(_) => (HEADER_BYTES.min(bytes.len()), ChainHash::GENESIS),
        };
        salvage(&bytes, begin, &mut found, cut);
    }
    Ok(found)
}

/// Reads the frames of a segment from an offset on, skipping bad ones.
fn salvage(bytes: &[u8], begin: (usize, ChainHash), found: &mut CutOff, cut: &mut dyn FnMut(&StoredRecord)) {
    let (mut offset, mut before) = begin;
    while offset < bytes.len() {
        let mut bad = None;
        for frame in segment::frames(bytes, offset, before) {
            match frame {
                Ok(frame) => {
                    (offset, before) = (frame.end, frame.chain);
                    if let Ok(record) = envelope::decode(frame.record(bytes)) {
                        found.records += 1;
                        cut(&record);
                    }
                }
                Err(damage) => bad = Some(damage),
            }
        }
        let Some(damage) = bad else { return };
        let next = segment::find_later_group(bytes, damage, before);
        let end = next.unwrap_or(bytes.len());
        found.unreadable_bytes += (end - offset) as u64;
        // The preceding chain hash is stored right before a frame.
        match next.and_then(|next| bytes.get(next.checked_sub(16)?..next)?.try_into().ok()) {
            Some(hash) => (offset, before) = (end, ChainHash(hash)),
            None => return,
        }
    }
}

/// Makes the cut and moves what it removes to the folder `kept`, which is created. Returns the bytes removed from the
/// segments.
pub fn cut(log: &Path, place: &CutPlace, kept: &Path) -> Result<u64, Error> {
    let folder = log.join("segments");
    durable::create_private_folder(kept).map_err(io_error("create", kept))?;
    for name in INDEXES {
        let path = log.join(name);
        match fs::rename(&path, kept.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error("move", &path)(error)),
            _ => {}
        }
    }
    durable::sync_folder(kept).map_err(io_error("sync", kept))?;
    durable::sync_folder(log).map_err(io_error("sync", log))?;
    let mut bytes = 0;
    let numbers = segment::list(&folder).map_err(io_error("list", &folder))?;
    let is_empty_then = place.offset <= HEADER_BYTES;
    for number in numbers.into_iter().rev() {
        if number > place.segment || number == place.segment && is_empty_then {
            bytes += move_away(&folder, number, kept)?;
        } else if number == place.segment {
            bytes += shorten(&folder, place, kept)?;
        }
    }
    Ok(bytes)
}

fn move_away(folder: &Path, number: u32, kept: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for file in segment_files(folder, number) {
        bytes += size(&file);
        let target = kept.join(file.file_name().unwrap_or_default());
        fs::rename(&file, &target).map_err(io_error("move", &file))?;
    }
    for folder in [kept, folder] {
        durable::sync_folder(folder).map_err(io_error("sync", folder))?;
    }
    Ok(bytes)
}

/// Truncates a segment at the cut. It is replaced as a whole, so it is whole at every moment. A sealed segment becomes an unsealed one.
fn shorten(folder: &Path, place: &CutPlace, kept: &Path) -> Result<u64, Error> {
    let files = segment_files(folder, place.segment);
    let path = segment::unsealed_path(folder, place.segment);
    let (bytes, cut_short) = segment::load_partial(&path).map_err(io_error("read", &path))?;
    let (stays, goes) = bytes.split_at_checked(place.offset).unwrap_or((&bytes, &[]));
    let plain = folder.join(format!("{:04}.seg", place.segment));
    let target = kept.join(format!("{:04}.seg.at-{}", place.segment, place.offset));
    durable::write_file(&target, goes).map_err(io_error("write", &target))?;
    durable::sync_folder(kept).map_err(io_error("sync", kept))?;
    durable::write_file(&plain, stays).map_err(io_error("replace", &plain))?;
    durable::sync_folder(folder).map_err(io_error("sync", folder))?;
    for file in files.iter().filter(|file| **file != plain) {
        match cut_short {
            // What cannot be unpacked is kept as it is.
            Some(_) => fs::rename(file, kept.join(file.file_name().unwrap_or_default())),
            None => fs::remove_file(file),
        }
        .map_err(io_error("move", file))?;
    }
    durable::sync_folder(kept).map_err(io_error("sync", kept))?;
    durable::sync_folder(folder).map_err(io_error("sync", folder))?;
    Ok(goes.len() as u64)
}

/// The files of a segment: one, or for a moment two, plain and sealed.
fn segment_files(folder: &Path, number: u32) -> Vec<PathBuf> {
    ["seg", "seg.zst"]
        .iter()
        .map(|ending| folder.join(format!("{number:04}.{ending}")))
        .filter(|file| file.exists())
        .collect()
}

fn size(file: &Path) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}
