//! Opening the index in whatever state it is, and putting aside one that cannot be opened.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::folders::{self, CURRENT};
use super::{Error, Index};

/// At least as much as sled writes when it opens.
const PROBE_BYTES: usize = 64 * 1024;
/// How often an index is tried again whose lock was seen released.
const OPEN_TRIES: u32 = 20;
/// Broken indexes that are kept for inspection.
const BROKEN_KEPT: usize = 2;

/// The result of [`open`]: an index, and why a broken one was put aside, and where it is now.
pub(crate) struct Opened {
    pub(crate) index: Index,
    pub(crate) aside: Option<PutAside>,
    /// True if the one that was put aside is only of an earlier form: nobody needs it once the log is open.
    pub(crate) is_obsolete: bool,
}

/// Why an index, or parts of one, was moved out of the way, and where it is now.
pub(crate) type PutAside = (String, PathBuf);

/// Opens the index of a log folder: first as it is, then without its snapshots, then empty. An error is never about the
/// index, but about the disk, or because another process has the index open.
pub(crate) fn open(log: &Path) -> Result<Opened, Error> {
    folders::recover(log)?;
    let folder = log.join(CURRENT);
    remove_unfinished_snapshots(&folder)?;
    let error = match open_released(&folder) {
        Ok(index) => return Ok(Opened { index, aside: None, is_obsolete: false }),
        Err(error) if error.is_locked_elsewhere() => return Err(error),
        Err(error @ Error::EarlierForm) => {
            let aside = put_aside(log, error.to_string())?;
            return Ok(Opened { index: Index::open_unrepaired(&folder)?, aside: Some(aside), is_obsolete: true });
        }
        Err(error) => error,
    };
    if let Err(cause) = probe_disk(log) {
        // Nothing else can be written here either, so the error says nothing about the index.
        return Err(Error::Disk { error: error.to_string(), cause });
    }
    open_without_snapshots(log, &folder, &error)
}

/// Opens the index when its lock is released. That takes sled a moment after it is dropped, until its threads have
/// ended; and a process that is being started holds a copy of each lock, also of the one just seen released.
fn open_released(folder: &Path) -> Result<Index, Error> {
    let mut tries = 0;
    loop {
        let is_released = folders::wait_until_released(folder).is_ok();
        match Index::open_unrepaired(folder) {
            Err(error) if error.is_locked_elsewhere() && is_released && tries < OPEN_TRIES => tries += 1,
            opened => return opened,
        }
    }
}

/// Tests whether a file can be written and synced beside the index.
fn probe_disk(log: &Path) -> io::Result<()> {
    let probe = log.join("probe.tmp");
    let tried = File::create(&probe).and_then(|mut file| {
        file.write_all(&[0; PROBE_BYTES])?;
        file.sync_all()
    });
    tried.and(fs::remove_file(&probe))
}

fn open_without_snapshots(log: &Path, folder: &Path, first: &Error) -> Result<Opened, Error> {
    let reason = first.to_string();
    if let Some(path) = move_snapshots_aside(log, folder)?
        && let Ok(index) = Index::open_unrepaired(folder)
    {
        return Ok(Opened { index, aside: Some((reason, path)), is_obsolete: false });
    }
    let aside = put_aside(log, reason)?;
    Ok(Opened { index: Index::open_unrepaired(folder)?, aside: Some(aside), is_obsolete: false })
}

/// Moves the whole index out of the way.
pub(crate) fn put_aside(log: &Path, reason: String) -> Result<PutAside, Error> {
    let path = broken_path(log)?;
    fs::rename(log.join(CURRENT), &path)?;
    Ok((reason, path))
}

fn remove_unfinished_snapshots(folder: &Path) -> io::Result<()> {
    for (name, path) in snapshots(folder)? {
        if name.ends_with(".generating") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn move_snapshots_aside(log: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let snapshots = snapshots(folder)?;
    if snapshots.is_empty() {
        return Ok(None);
    }
    let aside = broken_path(log)?;
    fs::create_dir(&aside)?;
    for (name, path) in snapshots {
        fs::rename(path, aside.join(name))?;
    }
    Ok(Some(aside))
}

fn snapshots(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str().filter(|name| name.starts_with("snap.")) {
            found.push((name.to_owned(), entry.path()));
        }
    }
    Ok(found)
}

/// The next free `sled.broken-<n>`. Removes all but the newest [`BROKEN_KEPT`] `- 1`, which are only copies of the
/// segments.
fn broken_path(log: &Path) -> io::Result<PathBuf> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(log)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("sled.broken-"));
        numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    let next = numbers.last().map_or(1, |last| last.saturating_add(1));
    for old in numbers.iter().rev().skip(BROKEN_KEPT - 1) {
        let path = log.join(format!("sled.broken-{old}"));
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(log.join(format!("sled.broken-{next}")))
}
