//! Makes files and folders survive a power cut, readable by their owner only.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

pub use baton_home::file::{BEING_WRITTEN, make_private_folder};
use serde::de::DeserializeOwned;

use crate::transcript_file;

#[cfg(all(any(test, feature = "recorder"), unix))]
pub mod recorder;

/// Folder of a home for temporary files of a verification; removed when the daemon starts.
pub const VERIFY_FOLDER: &str = "verify.tmp";

/// Like [`make_private_folder`], and makes the names of all folders that it creates durable.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
    make_private_folder(folder)?;
    // The outermost last: until its name is durable, the ones below do not matter.
    missing.into_iter().try_for_each(sync_parent)
}

/// Makes a folder's own name durable.
pub fn sync_parent(folder: &Path) -> io::Result<()> {
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
        _ => Ok(()),
    }
}

/// Makes the names in a folder durable: entries created, renamed or removed. Systems that cannot open a folder
/// (Windows) journal its names themselves.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(all(any(test, feature = "recorder"), unix))]
    recorder::record_sync(recorder::Synced::Folder(folder));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Makes a file's content durable, but not its name.
pub fn sync_file(file: &Path) -> io::Result<()> {
    #[cfg(all(any(test, feature = "recorder"), unix))]
    recorder::record_sync(recorder::Synced::File(file));
    match OpenOptions::new().write(true).open(file) {
        // A file that may not be written can still be synced.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(file)?.sync_data(),
        opened => opened?.sync_data(),
    }
}

/// Makes everything on the file system of `folder` durable, where one system call does that and reports failures.
/// Returns false if the caller has to sync file by file.
pub fn sync_all(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        #[cfg(all(any(test, feature = "recorder"), unix))]
        recorder::record_sync(recorder::Synced::All(folder));
        File::open(folder).is_ok_and(|folder| rustix::fs::syncfs(folder).is_ok())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}

/// Makes a folder and everything below it durable, contents and names.
pub fn sync_below(folder: &Path) -> io::Result<()> {
    if sync_all(folder) {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_below(&entry.path())?,
            false => OpenOptions::new().write(true).open(entry.path())?.sync_all()?,
        }
    }
    sync_folder(folder)
}

/// Writes a whole file, for the owner only: writes and syncs a temporary file and renames it, so a reader sees all of
/// it or none. The new name is not durable before [`sync_parent`].
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_file_with(path, |file| file.write_all(bytes))
}

/// Like [`write_file`], for content that need not be in memory as a whole.
pub fn write_file_with(path: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    use std::io::Write as _;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BEING_WRITTEN);
    let temporary = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|file| {
        // Locked until it is renamed, which tells it from what a killed process has left.
        let _ = file.try_lock();
        let mut file = io::BufWriter::new(file);
        write(&mut file)?;
        file.flush()?;
        sync_file(&temporary)?;
        std::fs::rename(&temporary, path)
    });
    written.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

/// Removes a file; one that is not there is no error. That it is gone is not durable before [`sync_parent`].
pub fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes unfinished files of killed processes from a home. The caller holds the home's lock. A file that cannot be
/// removed does no harm: its next writer overwrites it.
pub fn remove_unfinished(home: &Path) {
    let _ = std::fs::remove_dir_all(home.join(VERIFY_FOLDER));
    for folder in ["", "log", "vault-register", "memory"] {
        for entry in std::fs::read_dir(home.join(folder)).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            // The configuration is written without the home's lock.
            let is_abandoned = || transcript_file::open(&entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if is_file
                && entry.file_name().to_str().is_some_and(is_unfinished)
                && is_abandoned()
                && let Err(error) = std::fs::remove_file(entry.path())
            {
                tracing::warn!(file = %entry.path().display(), %error, "unfinished file not removed");
            }
        }
    }
}

fn is_unfinished(name: &str) -> bool {
    // tantivy's temporary files begin with it.
    name.starts_with(BEING_WRITTEN) || name.ends_with(BEING_WRITTEN)
}

/// Reads a JSON file written by [`write_file`]; `None` if there is none.
///
/// # Errors
///
/// If it cannot be read, is larger than `most` bytes, or does not have this shape.
pub fn read_json<T: DeserializeOwned>(path: &Path, most: u64) -> io::Result<Option<T>> {
    match transcript_file::read(path, most) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => serde_json::from_slice(&read?).map(Some).map_err(io::Error::other),
    }
}
