//! One home writes notes in a vault at a time.

use std::fs::{self, File, OpenOptions};
use std::time::{Duration, Instant};

use super::{Place, Refused, refused};

/// Locked while notes are written: another home may have the same vault.
pub(super) const LOCK: &str = ".baton.lock";
/// How long another home may write while this one waits.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Between two looks at a lock that is held.
const LOCK_LOOK: Duration = Duration::from_millis(5);

/// Nobody else writes notes while this lives, as far as the file system has locks.
pub(crate) struct Turn(#[expect(dead_code, reason = "it is unlocked when it is closed")] Option<File>);

impl Place {
    /// Waits until no other home writes here.
    pub(crate) fn turn(&self) -> Result<Turn, Refused> {
        let notes = self.notes();
        self.make_folder(&notes).map_err(|error| match fs::metadata(&self.vault) {
            // It is the vault itself that is missing.
            Err(error) => refused(&self.vault, &error),
            Ok(found) if !found.is_dir() => self.no_folder(),
            Ok(_) => refused(&notes, &error),
        })?;
        let path = notes.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| refused(&path, &error))?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn(Some(file))),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_LOOK),
                Err(fs::TryLockError::WouldBlock) => {
                    let what = "another home has been writing notes there for long".to_owned();
                    return Err(Refused {
                        what,
                        fix: "it is tried again; `baton status` of that home says more".to_owned(),
                    });
                }
                // Not every file system has locks.
                Err(fs::TryLockError::Error(_)) => return Ok(Turn(None)),
            }
        }
    }
}
