//! Marker files: each is created and removed at once, to observe its own change event.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use baton_base::durable;

/// A folder of ours that is watched together with the roots.
pub(super) struct Markers {
    folder: PathBuf,
    last: u64,
}

impl Markers {
    /// Opens the markers' folder, creating it with owner-only access if need be, and removes leftovers of an earlier
    /// process. Numbering continues after `last`.
    pub(super) fn open(folder: &Path, last: u64) -> io::Result<Self> {
        durable::make_private_folder(folder)?;
        for entry in fs::read_dir(folder)?.flatten() {
            if Self::number(&entry.path()).is_some() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Self { folder: folder.to_owned(), last })
    }

    /// Creates the next marker and returns its number.
    pub(super) fn make(&mut self) -> io::Result<u64> {
        self.last += 1;
        let path = self.folder.join(self.last.to_string());
        drop(File::create(&path)?);
        // If removal fails, the next process removes it.
        let _ = fs::remove_file(&path);
        Ok(self.last)
    }

    /// Returns the number of the marker at this path.
    pub(super) fn number(path: &Path) -> Option<u64> {
        path.file_name()?.to_str()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_counted_and_leave_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("watch");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("7"), "").unwrap();
        let mut markers = Markers::open(&folder, 0).unwrap();
        assert_eq!((markers.make().unwrap(), markers.make().unwrap()), (1, 2));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(Markers::number(&folder.join("12")), Some(12));
        assert_eq!(Markers::number(&folder.join("x")), None);
        fs::remove_dir(&folder).unwrap();
        assert!(markers.make().is_err());
    }
}
