//! Who holds a home, and where the holder listens. `baton_base::lock` takes the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::file;

/// The file that is locked; it holds the owner's process id in digits.
pub const LOCK_FILE: &str = "daemon.lock";

/// Holds the socket's path if the holder listens outside the home. Acquiring the lock removes it.
pub const LISTENS_FILE: &str = "daemon.socket";

/// Longest socket path that is accepted from that file.
const LISTENS_MAX_BYTES: u64 = 4096;

/// Longest process id that is accepted.
const PID_MAX_BYTES: u64 = 20;

/// True if no process holds the home's lock.
pub fn is_free(home: &Path) -> bool {
    let lock = file::open_regular(&home.join(LOCK_FILE), OpenOptions::new().write(true));
    lock.map_or(true, |lock| !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The process id that the holder of a home has written. The process may have ended since.
pub fn holder_pid(home: &Path) -> Option<u32> {
    pid_in(&mut file::open(&home.join(LOCK_FILE)).ok()?)
}

/// The process id in a lock file.
pub fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(PID_MAX_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The socket outside the home that the holder has recorded. The holder may have ended since.
pub fn recorded_socket(home: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    file::open(&home.join(LISTENS_FILE)).ok()?.take(LISTENS_MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}
