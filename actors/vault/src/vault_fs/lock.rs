//! The lock by which only one home at a time writes notes in a vault.

use std::fs::{self, File, OpenOptions};
use std::time::{Duration, Instant};

use super::{Refused, VaultFs, refusal};

/// The locked file; several homes may share a vault.
pub(super) const LOCK: &str = ".baton.lock";
/// Longest wait for another home.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Interval between attempts to lock.
const LOCK_LOOK: Duration = Duration::from_millis(5);

/// Advisory lock: excludes other writers while held, on file systems that support locks.
pub(crate) struct VaultLock(#[expect(dead_code, reason = "it is unlocked when it is closed")] Option<File>);

impl VaultFs {
    /// Locks the vault; waits while another home writes.
    pub(crate) fn lock(&self) -> Result<VaultLock, Refused> {
        let notes = self.notes_folder();
        self.make_folder(&notes).map_err(|error| match fs::metadata(&self.vault) {
            // The vault itself is missing.
            Err(error) => refusal(&self.vault, &error),
            Ok(found) if !found.is_dir() => self.no_folder(),
            Ok(_) => refusal(&notes, &error),
        })?;
        let path = notes.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| refusal(&path, &error))?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(VaultLock(Some(file))),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_LOOK),
                Err(fs::TryLockError::WouldBlock) => {
                    let what = "another home has been writing notes there for a long time".to_owned();
                    return Err(Refused {
                        what,
                        fix: "it is tried again; `baton status` of that home says more".to_owned(),
                    });
                }
                // Not every file system supports locks.
                Err(fs::TryLockError::Error(_)) => return Ok(VaultLock(None)),
            }
        }
    }
}
