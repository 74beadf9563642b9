//! The index's files, without syncs.
//!
//! tantivy's own directory syncs each file that it writes, some twenty syncs a commit. The memory can be built again
//! from the log, so nothing here is synced, and [`durability`](super::durability) finds out on opening whether a power
//! cut may have lost some of it.
//!
//! # Decisions
//!
//! - tantivy writes the list of its files anew for each file that it creates, eight times a commit. The list is padded
//!   with spaces and overwritten in place while it is one page, because creating a file to rename costs more than all
//!   else in a small commit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

/// tantivy's list of its files, as JSON.
const LIST: &str = ".managed.json";
/// The length of the list is a multiple of this: a page.
const LIST_BYTES: usize = 4096;

/// Like [`MmapDirectory`], except that nothing is synced.
#[derive(Clone, Debug)]
pub(super) struct UnsyncedDirectory {
    mapped: MmapDirectory,
    root: PathBuf,
}

impl UnsyncedDirectory {
    /// Opens an existing directory.
    ///
    /// # Errors
    ///
    /// When it does not exist or is no directory.
    pub(super) fn open(root: &Path) -> tantivy::Result<Self> {
        Ok(Self { mapped: MmapDirectory::open(root)?, root: root.to_owned() })
    }
}

impl Directory for UnsyncedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let opened = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(Unsynced(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let is_list = path == Path::new(LIST);
        let path = self.root.join(path);
        if is_list && overwrite(&path, data)? {
            return Ok(());
        }
        let mut data = data.to_vec();
        if is_list {
            let bytes = data.len().next_multiple_of(LIST_BYTES);
            pad(&mut data, bytes);
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(".tmp");
        fs::write(&unfinished, data)?;
        fs::rename(&unfinished, path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

/// Replaces a file's content in place if that is as long and one page, of which a killed process leaves the old or the
/// new content. Returns `false` if the file is shorter, longer than a page, or missing.
fn overwrite(path: &Path, data: &[u8]) -> io::Result<bool> {
    let mut file = match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    if bytes < data.len() || bytes > LIST_BYTES {
        return Ok(false);
    }
    let mut data = data.to_vec();
    pad(&mut data, bytes);
    file.write_all(&data)?;
    Ok(true)
}

/// Lengthens JSON without changing its value.
fn pad(json: &mut Vec<u8>, bytes: usize) {
    json.resize(bytes, b' ');
}

/// A file that is complete, but not durable, once its writer is done.
struct Unsynced(File);

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Unsynced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_files_is_overwritten_in_place_and_stays_readable() {
        let folder = tempfile::tempdir().unwrap();
        let directory = UnsyncedDirectory::open(folder.path()).unwrap();
        let list = |count: usize| vec![format!("{:0>40}", "idx"); count];
        let file = folder.path().join(LIST);
        for count in [1, 100, 3, 0, 500, 2] {
            let before = fs::metadata(&file).ok();
            let json = serde_json::to_vec(&list(count)).unwrap();
            directory.atomic_write(Path::new(LIST), &json).unwrap();
            let read: Vec<String> = serde_json::from_slice(&directory.atomic_read(Path::new(LIST)).unwrap()).unwrap();
            assert_eq!(read, list(count));
            let after = fs::metadata(&file).unwrap();
            assert!(after.len().is_multiple_of(LIST_BYTES as u64));
            let page = LIST_BYTES as u64;
            #[cfg(unix)]
            if let Some(before) = before.filter(|before| before.len() == page && after.len() == page) {
                use std::os::unix::fs::MetadataExt as _;
                assert_eq!(before.ino(), after.ino(), "one page is written in place");
            }
        }
        let meta = Path::new("meta.json");
        directory.atomic_write(meta, b"{}").unwrap();
        assert_eq!(directory.atomic_read(meta).unwrap(), b"{}", "any other file is as it was written");
    }
}
