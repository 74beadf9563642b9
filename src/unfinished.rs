//! Files that are written beside their destination and renamed into place. A killed program leaves one behind; the next run
//! that writes into the same folder removes it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// How such a file is named: this, and so many letters and digits.
const PREFIX: &str = ".baton-unfinished-";
const LETTERS: usize = 6;

/// A new file, private to its owner and locked while this program lives.
pub(crate) fn create_in(folder: &Path) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix(PREFIX).rand_bytes(LETTERS).tempfile_in(folder)?;
    // Without locks a concurrent run may remove it: then the rename fails, and says so.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes the files of killed programs. One that is being written is locked and stays.
pub(crate) fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().filter(|entry| is_unfinished(&entry.file_name())).map(|entry| entry.path()) {
        let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let is_abandoned = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        if is_file && is_abandoned() {
            // One that stays does no harm.
            let _ = fs::remove_file(&path);
        }
    }
}

fn is_unfinished(name: &OsStr) -> bool {
    let letters = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    letters.is_some_and(|rest| rest.len() == LETTERS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_has_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        let others = [
            "settings.json",
            ".baton-config",
            ".baton-unfinished-a.b.c1",
            "x.baton-abc123",
            "settings.json.baton-backup-1",
        ];
        for left in
            others.iter().chain(&[".baton-unfinished-abc123", ".baton-unfinished-XYZ789", ".baton-unfinished-folder"])
        {
            fs::write(name(left), "x").unwrap();
        }
        fs::create_dir(name(".baton-unfinished-direct")).unwrap();
        let written = File::open(name(".baton-unfinished-XYZ789")).unwrap();
        written.lock().unwrap();
        remove_abandoned(folder.path());
        let left = |file: &str| name(file).exists();
        assert!(!left(".baton-unfinished-abc123") && !left(".baton-unfinished-folder"), "nobody writes them");
        assert!(
            left(".baton-unfinished-XYZ789") && left(".baton-unfinished-direct"),
            "somebody writes one, the other is a folder"
        );
        assert!(others.into_iter().all(left));
        drop(written);
        create_in(folder.path()).unwrap().persist(name("settings.json")).unwrap();
        let temporaries = fs::read_dir(folder.path()).unwrap().flatten();
        assert_eq!(temporaries.filter(|entry| is_unfinished(&entry.file_name())).count(), 2, "none of its own");
    }
}
