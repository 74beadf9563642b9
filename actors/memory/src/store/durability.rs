//! Whether the memory's files can be trusted, although nothing is synced while they are written.
//!
//! A killed process loses nothing that it has written: the system still holds it. Only a power cut or a crash of the
//! system does. So a mark beside the index names the boot in which it is written, or says that it was synced and closed.
//! A mark of another boot means on opening that each file must be compared with its checksum. Where the system names no
//! boot, as outside Linux and in some containers, every memory that was not closed is checked.
//!
//! # Hazards
//!
//! - The mark is durable before the first unsynced write, and says `closed` only after everything was synced.

use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use baton_base::durable;
use tantivy::index::{Index, SegmentComponent};

use super::{Error, Store};

/// The mark's name in the memory's directory.
pub(super) const MARK: &str = "opened";
/// Length of a mark: that of the name of a boot.
const MARK_BYTES: usize = 36;
/// The mark of a memory that was synced and closed.
const CLOSED: &str = "closed";
/// A random name of each boot of Linux.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Files that each segment has.
const EACH_SEGMENT: [SegmentComponent; 6] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Terms,
    SegmentComponent::Store,
];

impl Store {
    /// Makes everything that is committed durable, so that the next opening can trust it. Nothing may be written
    /// afterwards.
    ///
    /// # Errors
    ///
    /// When a merge failed or something cannot be made durable.
    pub fn close(&mut self) -> Result<(), Error> {
        self.release()?;
        Ok(mark_closed(&self.dir)?)
    }
}

/// True if the files in `dir` are as they were written: they were closed, or written in this boot.
pub(super) fn is_intact(dir: &Path) -> bool {
    let Ok(mark) = fs::read_to_string(dir.join(MARK)) else { return false };
    mark.trim_end() == CLOSED || this_boot().is_some_and(|boot| boot == mark.trim_end())
}

/// Marks the files in `dir` as being written in this boot.
///
/// # Errors
///
/// When the mark cannot be made durable.
pub(super) fn mark_opened(dir: &Path) -> io::Result<()> {
    mark(dir, &this_boot().unwrap_or_default())
}

/// Compares each file of the index with its checksum.
///
/// # Errors
///
/// When a file is damaged or missing.
pub(super) fn check(index: &Index) -> Result<(), Error> {
    for segment in index.searchable_segment_metas()? {
        let deletions = segment.has_deletes().then_some(SegmentComponent::Delete);
        for component in EACH_SEGMENT.into_iter().chain(deletions) {
            let file = segment.relative_path(component);
            if !index.directory().validate_checksum(&file).map_err(tantivy::TantivyError::from)? {
                return Err(Error::Broken(format!("{} is damaged", file.display())));
            }
        }
    }
    Ok(())
}

/// Makes the files in `dir` durable and marks them as closed. The caller writes nothing any more.
///
/// # Errors
///
/// When something cannot be made durable.
pub(super) fn mark_closed(dir: &Path) -> io::Result<()> {
    sync(dir)?;
    mark(dir, CLOSED)
}

/// Makes the files in `dir` durable, and the deletion of others.
///
/// # Errors
///
/// When something cannot be made durable.
pub(super) fn sync(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            durable::sync_file(&entry.path())?;
        }
    }
    durable::sync_folder(dir)?;
    // A memory that broke was deleted with its directory.
    durable::sync_parent(dir)
}

/// Writes the mark in place, always as long: that takes no room on a full disk. A mark half written is neither.
fn mark(dir: &Path, mark: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(dir.join(MARK))?;
    file.write_all(format!("{mark:<MARK_BYTES$}").as_bytes())?;
    file.sync_all()?;
    durable::sync_folder(dir)
}

/// Names this boot; `None` if the system does not.
fn this_boot() -> Option<String> {
    let read = fs::read_to_string(BOOT_ID).ok()?;
    Some(read.trim().to_owned()).filter(|boot| !boot.is_empty())
}
