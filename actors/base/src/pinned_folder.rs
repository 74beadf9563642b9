//! Detects that a path no longer names the folder that was opened: writes by path would otherwise end up in two
//! folders.

use std::io;
use std::path::{Path, PathBuf};

/// A folder's path and its identity when it was opened.
#[derive(Clone, Debug)]
pub struct PinnedFolder {
    path: PathBuf,
    identity: Identity,
}

/// The path of an open folder names another folder, or none: it was renamed or removed, or something was mounted over
/// it.
#[derive(Debug, thiserror::Error)]
#[error("{} was moved, removed or replaced while Baton used it", path.display())]
pub struct Moved {
    path: PathBuf,
}

/// Device and inode; zeros where the system has no such numbers.
type Identity = (u64, u64);

impl PinnedFolder {
    /// Opens an existing folder.
    ///
    /// # Errors
    ///
    /// If it does not exist, is no folder, or cannot be examined.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the path still names the folder. If that holds after a write, everything written by this path is in
    /// the folder. One system call, which may block where the file system does.
    ///
    /// # Errors
    ///
    /// [`Moved`] within an error of kind `NotFound`, or the system's reason for not knowing.
    pub fn check(&self) -> io::Result<()> {
        let moved = || io::Error::new(io::ErrorKind::NotFound, Moved { path: self.path.clone() });
        match identity(&self.path) {
            Ok(now) if now == self.identity => Ok(()),
            Ok(_) => Err(moved()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(moved())
            }
            Err(error) => Err(error),
        }
    }

    /// True if the path certainly names another folder or none; false if the system cannot tell.
    pub fn is_moved(&self) -> bool {
        self.check().is_err_and(|error| error.get_ref().is_some_and(|inner| inner.is::<Moved>()))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() { Ok((metadata.dev(), metadata.ino())) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    if std::fs::metadata(path)?.is_dir() { Ok((0, 0)) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_as_long_as_its_path_names_it() {
        let parent = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (parent.path().join("home"), parent.path().join("elsewhere"));
        assert!(PinnedFolder::open(&path).is_err());
        std::fs::create_dir(&path).unwrap();
        let folder = PinnedFolder::open(&path).unwrap();
        folder.check().unwrap();
        std::fs::rename(&path, &elsewhere).unwrap();
        assert!(folder.is_moved());
        assert!(folder.check().unwrap_err().to_string().contains("was moved"));
        std::fs::create_dir(&path).unwrap();
        assert!(folder.is_moved(), "another folder of this name");
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(folder.is_moved(), "a file of this name");
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&elsewhere, &path).unwrap();
        assert!(!folder.is_moved(), "back again");
    }
}
