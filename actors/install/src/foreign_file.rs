//! A file of another program that we change: read once, compared again before writing, replaced atomically, with a
//! backup.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_base::io_remedy::IoCause;
use baton_base::transcript_file;
use serde_json::Value;

use baton_base::atomic_file;
use baton_base::bounded_fs::within;

/// Largest file that is changed, in bytes; settings are far smaller.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Number of backups kept: the first and the latest ones.
const BACKUPS_MAX: usize = 5;
/// Time limit for reading a file.
const ANSWER: Duration = Duration::from_secs(2);
/// Longest chain of symbolic links.
const LINKS_MAX: usize = 32;

/// Reason why a file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}; {}, then run the command again", path.display(), remedy(source))]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system does not answer.
    #[error(
        "{} does not answer: is its disk or network available? Nothing was written; run the command again when it answers",
        folder.display()
    )]
    Hung {
        /// The directory.
        folder: PathBuf,
    },
    /// The file is unsuitable.
    #[error("{} {why}; nothing was written", path.display())]
    Unfit {
        /// Which file.
        path: PathBuf,
        /// The reason, and what to do.
        why: String,
    },
}

/// What to do about an error of the system, as an imperative phrase.
fn remedy(error: &io::Error) -> &'static str {
    match IoCause::from_error(error) {
        IoCause::Full => "free space on its disk",
        IoCause::ReadOnly => "make its file system writable (`mount -o remount,rw`)",
        IoCause::Forbidden => "make it and its folder readable and writable for you (`chown`, `chmod u+rwX`)",
        IoCause::Failing => "save the data of its disk, which is failing",
        IoCause::Other => "mend that",
    }
}

/// A file as it was read; it need not exist.
#[derive(Debug)]
pub struct Target {
    /// The path as named.
    pub path: PathBuf,
    /// The path with links resolved.
    real: PathBuf,
    /// Its content; `None` if it does not exist.
    pub text: Option<String>,
    metadata: Option<Metadata>,
}

impl Target {
    /// Reads a file, with a time limit for file systems that do not answer.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let asked = path.to_owned();
        let hung = || Error::Hung { folder: path.parent().unwrap_or(path).to_owned() };
        within(ANSWER, move || Self::look(&asked)).unwrap_or_else(|| Err(hung()))
    }

    fn look(path: &Path) -> Result<Self, Error> {
        let real = resolve(path).map_err(|source| Error::Io { what: "read", path: path.to_owned(), source })?;
        let (text, metadata) = match content(&real, path)? {
            Some((text, metadata)) => (Some(text), Some(metadata)),
            None => (None, None),
        };
        Ok(Self { path: path.to_owned(), real, text, metadata })
    }

    /// The content, empty if the file does not exist.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Replaces the file's content and keeps its mode. Makes a backup unless there is one with the old content. Returns
    /// an error if the file has changed since it was read.
    pub(crate) fn write(&self, text: &str) -> Result<(), Error> {
        self.is_unchanged()?;
        if self.metadata.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
            return Err(self.unfit("is read-only: make it writable for you (chmod u+w) and run the command again"));
        }
        self.keep_copy()?;
        self.put(&self.real, text.as_bytes(), true).map_err(|source| self.failed(source))
    }

    /// Replaces a file of our own, without a backup.
    pub fn replace(&self, text: &str) -> Result<(), Error> {
        self.put(&self.real, text.as_bytes(), true).map_err(|source| self.failed(source))
    }

    /// Removes the file, which we created.
    pub fn remove(&self) -> Result<(), Error> {
        self.is_unchanged()?;
        fs::remove_file(&self.real).map_err(|source| self.failed(source))
    }

    /// Returns an error unless the file, with links followed, is below this folder.
    pub(crate) fn must_lie_below(&self, top: &Path) -> Result<(), Error> {
        let failed = |source| Error::Io { what: "read", path: self.path.clone(), source };
        let top = fs::canonicalize(top).map_err(failed)?;
        // A file that does not exist is no link, so check its nearest existing folder.
        let there = self.real.ancestors().find_map(|path| fs::canonicalize(path).ok());
        if there.is_some_and(|there| there.starts_with(&top)) {
            return Ok(());
        }
        Err(self.unfit(&format!(
            "leads out of the project, to {}: replace it by a file of the project and run the command again",
            fs::canonicalize(&self.real).unwrap_or_else(|_| self.real.clone()).display()
        )))
    }

    /// Backups of the file with their contents, oldest first.
    pub(crate) fn backups(&self) -> Vec<(PathBuf, String)> {
        let read = |(_, path): (u64, PathBuf)| {
            let text = content(&path, &path).ok().flatten()?.0;
            Some((path, text))
        };
        self.numbered().into_iter().filter_map(read).collect()
    }

    /// Removes the backups: the file is as it was before us.
    pub(crate) fn forget_backups(&self) {
        for (_, path) in self.numbered() {
            // A backup that stays does no harm.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes temporary files of killed runs beside the file. One being written is locked and stays.
    pub(crate) fn sweep(&self) {
        if let Some(folder) = self.real.parent() {
            atomic_file::remove_abandoned(folder);
        }
    }

    fn is_unchanged(&self) -> Result<(), Error> {
        let now = content(&self.real, &self.path)?.map(|(text, _)| text);
        if now == self.text {
            return Ok(());
        }
        Err(self.unfit("was changed by another program in the meantime: run the command again"))
    }

    fn keep_copy(&self) -> Result<(), Error> {
        let Some(text) = &self.text else { return Ok(()) };
        let copies = self.backups();
        if copies.iter().any(|(_, copy)| copy == text) {
            return Ok(());
        }
        let number = self.numbered().last().map_or(1, |(number, _)| number.saturating_add(1));
        let path = self.path.with_file_name(format!("{}{number}", self.backup_name()));
        self.put(&path, text.as_bytes(), false).map_err(|source| Error::Io { what: "write", path, source })?;
        let numbered = self.numbered();
        // The first is the state before Baton.
        for (_, path) in numbered.iter().skip(1).take(numbered.len().saturating_sub(BACKUPS_MAX)) {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn backup_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}.baton-backup-")
    }

    fn numbered(&self) -> Vec<(u64, PathBuf)> {
        let name = self.backup_name();
        let Some(Ok(entries)) = self.path.parent().map(fs::read_dir) else { return Vec::new() };
        let mut numbered: Vec<(u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let number = entry.file_name().to_str()?.strip_prefix(&name)?.parse().ok()?;
                Some((number, entry.path()))
            })
            .collect();
        numbered.sort();
        numbered
    }

    /// Writes a temporary file and renames it: readers see all of it or nothing.
    fn put(&self, path: &Path, bytes: &[u8], has_mode: bool) -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Only its owner can read it until it is in place.
        let mut file = atomic_file::create_in(folder)?;
        file.write_all(bytes)?;
        if has_mode {
            take_after(file.file(), self.metadata.as_ref())?;
        }
        file.file().sync_all()?;
        file.persist(path)?;
        sync_folder(folder);
        Ok(())
    }

    /// An error that refuses the file's content.
    pub(crate) fn unfit(&self, why: &str) -> Error {
        Error::Unfit { path: self.path.clone(), why: why.to_owned() }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io { what: "write", path: self.path.clone(), source }
    }
}

/// The content of a JSON file; `None` if there is none, or it is no JSON.
pub(crate) fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&Target::read(path).ok()?.text?).ok()
}

/// Reads a regular file of limited size. `None` if it does not exist.
fn content(real: &Path, path: &Path) -> Result<Option<(String, Metadata)>, Error> {
    let failed = |source| Error::Io { what: "read", path: path.to_owned(), source };
    let unfit = |why: &str| Error::Unfit { path: path.to_owned(), why: why.to_owned() };
    match fs::metadata(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        // Checked before opening: opening a pipe would wait for its writer.
        Ok(metadata) if !metadata.is_file() => {
            return Err(unfit("is not a file: move it away and run the command again"));
        }
        Ok(_) => {}
    }
    let file = transcript_file::open(real).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unfit(
            "is larger than 8 MB, which is too large for such a file: move out of it what does not belong there",
        ));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| unfit("is not UTF-8: save it as UTF-8 and run the command again"))?;
    Ok(Some((text, metadata)))
}

/// Resolves symbolic links, even to a file that does not exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

/// Gives the new file the old one's mode and, if permitted, its owner.
#[cfg(unix)]
fn take_after(file: &File, old: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Some(old) = old else {
        // Settings may contain keys later.
        return file.set_permissions(fs::Permissions::from_mode(0o600));
    };
    if old.uid() != rustix::process::geteuid().as_raw() || old.gid() != rustix::process::getegid().as_raw() {
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
}

#[cfg(not(unix))]
fn take_after(_: &File, _: Option<&Metadata>) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) {
    // The rename is done; without the sync a power cut may undo it.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_else_has_changed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (before, meanwhile) in [(Some("a"), Some("b")), (None, Some("b")), (Some("a"), None), (Some(""), Some("b"))]
        {
            let _ = fs::remove_file(&path);
            before.iter().for_each(|text| fs::write(&path, text).unwrap());
            let target = Target::read(&path).unwrap();
            let _ = fs::remove_file(&path);
            meanwhile.iter().for_each(|text| fs::write(&path, text).unwrap());
            let errors = [target.write("c").unwrap_err(), target.remove().unwrap_err()];
            assert!(errors.iter().all(|error| error.to_string().contains("changed by another program")), "{errors:?}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), meanwhile);
            assert!(target.backups().is_empty());
        }
    }

    #[test]
    fn the_same_content_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "a").unwrap();
        for text in ["b", "a", "b", "a"] {
            Target::read(&path).unwrap().write(text).unwrap();
        }
        let target = Target::read(&path).unwrap();
        let kept: Vec<String> = target.backups().into_iter().map(|(_, text)| text).collect();
        assert_eq!(kept, ["a", "b"]);
        target.forget_backups();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_that_go_in_circles_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::os::unix::fs::symlink("f", &path).unwrap();
        assert!(Target::read(&path).unwrap_err().to_string().contains("too many links"));
    }
}
