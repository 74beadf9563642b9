//! The folders of the index inside a log's folder, and recovery from a crash between two renames.
//!
//! | on disk | holds |
//! |---|---|
//! | `sled` | the index |
//! | `sled.new` | a new index being built |
//! | `sled.old` | the replaced index, about to be removed |
//!
//! The new index is complete and durable before the old one is moved, so a crash at any step leaves a usable one:
//! [`recover`] finds it when the log is next opened, and removes the rest.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use baton_base::durable;

/// The index in use.
pub(crate) const CURRENT: &str = "sled";
/// A new index being built.
pub(crate) const NEW: &str = "sled.new";
/// The index that was replaced.
pub(crate) const OLD: &str = "sled.old";

/// sled closes its files shortly after it is dropped, when its threads have ended.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Moves the new index into the place of the old one. Both must be closed or about to be.
pub(crate) fn swap_in_new(log: &Path) -> io::Result<()> {
    let [current, new, old] = [CURRENT, NEW, OLD].map(|name| log.join(name));
    wait_until_released(&current)?;
    wait_until_released(&new)?;
    // sled syncs file contents but not directory entries.
    sync_names(&new)?;
    if current.is_dir() {
        remove(&old)?;
        fs::rename(&current, &old)?;
    }
    if let Err(error) = fs::rename(&new, &current) {
        // The old index is better than none; if this fails too, the next start does it.
        let _ = fs::rename(&old, &current);
        return Err(error);
    }
    durable::sync_folder(log)
}

/// Makes the directory entries of a folder and all below it durable.
fn sync_names(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_names(&entry.path())?;
        }
    }
    durable::sync_folder(folder)
}

/// Removes what is left of the replaced index.
pub(crate) fn remove_old(log: &Path) {
    if let Err(error) = remove(&log.join(OLD)) {
        tracing::warn!(%error, "replaced index of the log not removed; the next start does it");
    }
}

/// Restores a log folder to a single index after a crash during a rewrite. Call before opening the index.
pub(crate) fn recover(log: &Path) -> io::Result<()> {
    let [current, new, old] = [CURRENT, NEW, OLD].map(|name| log.join(name));
    if !current.is_dir() && old.is_dir() {
        // The crash came between the two renames; the new index was complete and durable before the first.
        let successor = if new.is_dir() { &new } else { &old };
        fs::rename(successor, &current)?;
        durable::sync_folder(log)?;
    }
    let (has_new, has_old) = (new.is_dir(), old.is_dir());
    if has_new || has_old {
        remove(&new)?;
        remove(&old)?;
        tracing::info!("leftovers of a rewrite of the log's index removed");
    }
    Ok(())
}

/// Waits until no process has the index in a folder open. Returns at once if there is no index.
pub(super) fn wait_until_released(folder: &Path) -> io::Result<()> {
    let file = match OpenOptions::new().read(true).write(true).open(folder.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let begun = Instant::now();
    while let Err(error) = File::try_lock(&file) {
        if begun.elapsed() >= RELEASE_TIMEOUT {
            return Err(io::Error::other(format!("{} is still in use: {error}", folder.display())));
        }
        thread::sleep(RETRY_INTERVAL);
    }
    Ok(())
}

/// Removes the index in a folder, if there is one.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Waits until no process has the index in a folder open, then removes it.
pub(crate) fn remove_when_released(folder: &Path) -> io::Result<()> {
    wait_until_released(folder)?;
    remove(folder)
}

/// Total bytes of all files below a folder; 0 if it does not exist.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
