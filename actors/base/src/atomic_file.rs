//! Files written beside their destination and renamed into place. On a system that supports unnamed files, the file has
//! no name until it is finished, and a killed program leaves nothing behind. Elsewhere it leaves the file, which the
//! next run that writes into the same folder removes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::{Builder, TempPath};

/// Prefix of such a file's name; [`LETTERS`] letters and digits follow.
const PREFIX: &str = ".baton-unfinished-";
const LETTERS: usize = 6;

/// An unfinished file; see the module.
pub struct Unfinished {
    file: File,
    /// `None` if it is unnamed.
    name: Option<TempPath>,
}

/// Creates a file that only its owner can read, locked while this program lives.
pub fn create_in(folder: &Path) -> io::Result<Unfinished> {
    let (file, name) = match nameless_in(folder) {
        Some(file) => (file, None),
        None => {
            let (file, name) = named().tempfile_in(folder)?.into_parts();
            (file, Some(name))
        }
    };
    // Without file locks a concurrent run may remove the file; then the rename fails and reports it.
    let _ = file.try_lock();
    Ok(Unfinished { file, name })
}

fn named() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(LETTERS);
    builder
}

impl Unfinished {
    /// The file to write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Renames the file to `path`, replacing a file there.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None => {
                // Linking cannot replace a file, so link under a temporary name and rename that.
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                named().make_in(folder, |name| link(&self.file, name))?.into_temp_path()
            }
        };
        name.persist(path).map_err(|error| error.error)
    }
}

impl io::Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates an unnamed file that can be linked later; `None` if the system or the file system does not support it.
#[cfg(target_os = "linux")]
fn nameless_in(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?);
    opened(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, opened(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// The path of an open file in `/proc`.
#[cfg(target_os = "linux")]
fn opened(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn nameless_in(_folder: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, _name: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes files left by killed programs. A file being written is locked and stays.
pub fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().filter(|entry| is_unfinished(&entry.file_name())).map(|entry| entry.path()) {
        let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let is_abandoned = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        if is_file && is_abandoned() {
            // A file that stays does no harm.
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
        create_in(folder.path()).unwrap().persist(&name("settings.json")).unwrap();
        let temporaries = fs::read_dir(folder.path()).unwrap().flatten();
        assert_eq!(temporaries.filter(|entry| is_unfinished(&entry.file_name())).count(), 2, "none of its own");
    }
}
