//! The lock of a home: one daemon per `BATON_HOME`, and no home that other users can write to.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_home::lock::{LISTENS_FILE, pid_in};
pub use baton_home::lock::{LOCK_FILE, holder_pid, is_free, recorded_socket};
use baton_home::trust;
pub use baton_home::trust::Untrusted;

use crate::durable;
use crate::io_remedy::IoCause;
use crate::pinned_folder::PinnedFolder;
use crate::transcript_file;

/// How often a held lock is tried, and the pause between two tries.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(4);

/// The right to write to a home, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct HomeLock {
    /// `None` if a read-only home has no lock file and none can be created.
    file: Option<File>,
    /// The locked home; `None` if it was locked only for reading.
    home: Option<PinnedFolder>,
}

/// Beginning of the error of a daemon that finds its home held by another process.
pub const HELD: &str = "another daemon";

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error("{HELD}{} already serves {}; `baton stop` ends it", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), home.display())]
    Held {
        /// The home.
        home: PathBuf,
        /// The holder's process id, if it is already written and readable.
        pid: Option<u32>,
    },
    /// The folder cannot be trusted.
    #[error(transparent)]
    Untrusted(Untrusted),
    /// The folder or the lock file could not be used.
    #[error("cannot use {}: {source}; {}", path.display(), IoCause::from_error(source).remedy())]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl HomeLock {
    /// Takes the lock of `home` without waiting. Creates the folder (0700) if it is missing.
    pub fn acquire(home: &Path) -> Result<Self, LockError> {
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Io { path, source }
        };
        durable::create_private_folder(home).map_err(io_error(home))?;
        check_home(home)?;
        let path = home.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = transcript_file::open_regular(&path, &mut options).map_err(io_error(&path))?;
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { home: home.to_owned(), pid: pid_in(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(LockError::Io { path, source }),
        }
        write_pid(&mut file).map_err(io_error(&path))?;
        // The previous holder's.
        let _ = std::fs::remove_file(home.join(LISTENS_FILE));
        let pinned = PinnedFolder::open(home).map_err(io_error(home))?;
        Ok(Self { file: Some(file), home: Some(pinned) })
    }

    /// The locked folder, pinned because its path may later name another one. `None` if it was locked only for reading.
    pub fn home(&self) -> Option<&PinnedFolder> {
        self.home.as_ref()
    }

    /// Like [`HomeLock::acquire`], but also accepts a home that cannot be written to. If such a home has no lock file,
    /// no process can hold it.
    pub fn acquire_to_read(home: &Path) -> Result<Self, LockError> {
        let refused = match Self::acquire(home) {
            Err(LockError::Io { path, source })
                if matches!(source.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) =>
            {
                LockError::Io { path, source }
            }
            other => return other,
        };
        let mut file = match transcript_file::open(&home.join(LOCK_FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { file: None, home: None }),
            Err(_) => return Err(refused),
        };
        match try_lock(&file) {
            Ok(()) => Ok(Self { file: Some(file), home: None }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { home: home.to_owned(), pid: pid_in(&mut file) }),
            Err(TryLockError::Error(_)) => Err(refused),
        }
    }
}

/// Tries a few times, because a client that checks whether the lock is free holds it for a moment.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 1..LOOKS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            locked => return locked,
        }
    }
    file.try_lock()
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread has just forked has it open until it runs its program.
        // An old process id in it would only mislead.
        if let Some(file) = &self.file {
            let _ = file.set_len(0);
            let _ = file.unlock();
        }
    }
}

/// Records where the holder of a home listens, if that is outside the home; a client's configuration may name another
/// socket. Blocks for a short write.
pub fn record_socket(home: &Path, socket: &Path) -> io::Result<()> {
    durable::write_file(&home.join(LISTENS_FILE), socket.to_str().unwrap_or_default().as_bytes())
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(std::process::id().to_string().as_bytes())
}

/// Checks that a home can be trusted, see [`trust::check_home`].
pub fn check_home(home: &Path) -> Result<(), LockError> {
    trust::check_home(home).map_err(|error| match error {
        Untrusted::Unknown { home, source } => LockError::Io { path: home, source },
        known => LockError::Untrusted(known),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_owner_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let home = parent.path().join("a/home");
        let lock = HomeLock::acquire(&home).unwrap();
        let own = std::process::id();
        let error = HomeLock::acquire(&home).expect_err("held");
        assert!(matches!(&error, LockError::Held { pid: Some(pid), .. } if *pid == own), "{error}");
        assert!(error.to_string().starts_with(&format!("another daemon (process {own}) already serves")), "{error}");
        drop(lock);
        HomeLock::acquire(&home).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn where_a_holder_listens_is_known_until_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let lock = HomeLock::acquire(home.path()).unwrap();
        assert_eq!(recorded_socket(home.path()), None);
        record_socket(home.path(), Path::new("/run/b.sock")).unwrap();
        assert_eq!(recorded_socket(home.path()).as_deref(), Some(Path::new("/run/b.sock")));
        assert!(HomeLock::acquire(home.path()).is_err());
        assert!(recorded_socket(home.path()).is_some());
        drop(lock);
        let _lock = HomeLock::acquire(home.path()).unwrap();
        assert_eq!(recorded_socket(home.path()), None);
    }

    #[test]
    fn a_lock_file_with_garbage_is_no_obstacle() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(LOCK_FILE), [0xff; 100]).unwrap();
        let lock = HomeLock::acquire(home.path()).unwrap();
        let written = std::fs::read_to_string(home.path().join(LOCK_FILE)).unwrap();
        assert_eq!(written, std::process::id().to_string());
        drop(lock);
    }

    #[cfg(unix)]
    #[test]
    fn a_home_is_private_and_one_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let home = parent.path().join("home");
        drop(HomeLock::acquire(&home).unwrap());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&home.join(LOCK_FILE))), (0o700, 0o600));
        for (mode, refused) in [(0o770, true), (0o702, true), (0o755, false), (0o700, false)] {
            std::fs::set_permissions(&home, PermissionsExt::from_mode(mode)).unwrap();
            match HomeLock::acquire(&home) {
                Ok(_) => assert!(!refused, "{mode:o}"),
                Err(error) => {
                    assert!(
                        refused && matches!(error, LockError::Untrusted(Untrusted::Exposed { .. })),
                        "{mode:o}: {error}"
                    );
                    assert!(error.to_string().contains("chmod go-w"), "{error}");
                }
            }
        }
        assert!(check_home(&parent.path().join("not there")).is_ok());
        let error = HomeLock::acquire(Path::new("/dev/null/home")).expect_err("no folder");
        assert!(matches!(error, LockError::Io { .. }), "{error}");
    }
}
