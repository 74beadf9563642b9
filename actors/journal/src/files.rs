//! The file operations under the writer and the sealer, behind traits so that tests can make each of them fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use baton_base::durable;

/// Opens, creates, renames and removes segment files.
pub trait Files: Send + Sync {
    /// Creates a file, or truncates an existing one. Its name is durable when this returns.
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;
    /// Opens an existing file.
    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;
    /// Renames a file within its folder, replacing the target if it exists. The new name is durable when this returns.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. The removal is durable when this returns.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// One open segment file.
pub trait SegmentFile: Send {
    /// Writes all of `bytes` at `offset`. After an error any part of them may have been written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the written data and the file's length durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Truncates the file to `length`.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Reads exactly `bytes.len()` bytes at `offset`.
    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        path.parent().map_or(Ok(()), durable::sync_folder)?;
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(OpenOptions::new().read(true).write(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        to.parent().map_or(Ok(()), durable::sync_folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)?;
        path.parent().map_or(Ok(()), durable::sync_folder)
    }
}

impl SegmentFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.read_exact(bytes)
    }
}

/// Reads up to `limit` bytes from the start of a file; also returns its size.
pub(super) fn read_start(path: &Path, limit: usize) -> io::Result<(Vec<u8>, u64)> {
    let mut bytes = Vec::with_capacity(limit);
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}
