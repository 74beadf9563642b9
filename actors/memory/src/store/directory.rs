//! The index's files, without syncs.
//!
//! tantivy's own directory syncs each file that it writes, some twenty syncs a commit. The memory can be built again
//! from the log, so nothing here is synced, and [`durability`](super::durability) finds out on opening whether a power
//! cut may have lost some of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

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
        let path = self.root.join(path);
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
