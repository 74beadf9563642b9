//! The vault as files: checks that it is there, reads notes, and replaces them atomically.
//!
//! Nothing outside the vault is read or written: a link that leads out of it is left alone. A name that differs from an
//! existing one only in letter case means the existing file, so that a vault can be moved to any system.

mod error;
mod lock;
mod notes_folder;
mod walk;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_events::session::FileIdentity;
use baton_notes::forget;

use baton_base::durable;
use baton_base::io_remedy::IoCause;
use baton_base::transcript_file::{FileStat, identity};
use baton_config::settings;
pub(crate) use error::{Error, Refused, of_file, refusal};
pub(super) use notes_folder::has_visible;
use walk::{NOTES_MAX, Walk, is_note};

/// Largest file read as a note.
const NOTE_MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Most walks over a vault in which files are being moved.
const WALKS: u32 = 3;
/// An empty file younger than this may be about to be saved by an editor.
const SAVING: Duration = Duration::from_secs(2);
/// Prefix and suffix of temporary files.
const TEMPORARY: (&str, &str) = (".baton-", ".tmp");
/// Up to this number of written files, each is synced by itself; beyond it, the whole file system.
const FEW: usize = 32;
/// The folder in the home that is its own vault.
const OWN: &str = "vault";

/// A vault, and the folder of notes in it.
#[derive(Debug)]
pub(super) struct VaultFs {
    /// Its path; without links after [`VaultFs::check`].
    pub vault: PathBuf,
    /// Its path as configured.
    named: PathBuf,
    root: String,
    /// True if it is the home's own vault, which is created if it is missing, and private.
    is_own: bool,
    /// Files written since [`VaultFs::sync`].
    unsettled: RefCell<Vec<PathBuf>>,
    /// Test fault: archive copies read back wrong.
    #[cfg(test)]
    pub(super) garbles: bool,
    /// Test fault: syncs fail.
    #[cfg(feature = "faults")]
    pub(super) fails_syncs: bool,
    /// Test fault: number of files that may still be changed.
    #[cfg(feature = "faults")]
    pub(super) changes_left: std::cell::Cell<Option<u32>>,
}

/// A file of the vault as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its path inside the vault, without links.
    at: PathBuf,
    /// Its text; `None` if there is no file.
    pub(super) text: Option<String>,
    pub(super) seen: Option<Stamp>,
}

/// Identifies a file and its state, to notice writes of others.
pub(super) type Stamp = (FileStat, FileIdentity);

/// What a vault contains besides Baton's folder of notes.
#[derive(Debug, Default)]
pub(super) struct OtherFiles {
    /// Texts of people, and copies of deleted or changed files that programs keep; relative to the vault.
    pub(super) texts: Vec<String>,
    /// Unreadable folders; the vault itself if it has more files than are examined.
    pub(super) closed: Vec<PathBuf>,
    /// Dangling links, also among the notes, each with its target.
    pub(super) dangling: Vec<(String, PathBuf)>,
}

impl VaultFs {
    /// The vault of these settings. Does not access the disk.
    pub(super) fn from_settings(settings: &settings::Vault, home: &Path) -> Self {
        let own = home.join(OWN);
        let vault = settings.path.clone().unwrap_or_else(|| own.clone());
        Self::new(vault.clone(), settings.root.clone(), vault == own)
    }

    /// A vault given by its parts. Does not access the disk.
    pub(super) fn new(vault: PathBuf, root: String, is_own: bool) -> Self {
        Self {
            named: vault.clone(),
            vault,
            root,
            is_own,
            unsettled: RefCell::default(),
            #[cfg(test)]
            garbles: false,
            #[cfg(feature = "faults")]
            fails_syncs: false,
            #[cfg(feature = "faults")]
            changes_left: std::cell::Cell::new(None),
        }
    }

    pub(super) fn vault(&self) -> &Path {
        &self.vault
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// The folder of notes.
    pub(super) fn notes_folder(&self) -> PathBuf {
        self.vault.join(&self.root)
    }

    /// Checks that the vault is there; creates the home's own. With `has_notes` the folder of notes must not be empty,
    /// since an empty folder may be an unmounted disk.
    pub(super) fn check(&mut self, has_notes: bool) -> Result<(), Refused> {
        if self.is_own {
            durable::create_private_folder(&self.vault).map_err(|error| refusal(&self.vault, &error))?;
        }
        match fs::canonicalize(&self.vault) {
            Ok(vault) if vault.is_dir() => self.vault = vault,
            Ok(_) => return Err(self.no_folder()),
            Err(error) => return Err(refusal(&self.vault, &error)),
        }
        if fs::canonicalize(self.notes_folder()).is_ok_and(|notes| !notes.starts_with(&self.vault)) {
            let what = format!("{} is a link that leads out of the vault", self.notes_folder().display());
            return Err(Refused { what, fix: "set vault.path to its target, or put a folder there".to_owned() });
        }
        if has_notes && !has_visible(&self.notes_folder()) {
            let what = format!("{} is empty, and notes were written there", self.notes_folder().display());
            let fix = "mount or put back what belongs there; to start over, run `baton vault sync`".to_owned();
            return Err(Refused { what, fix });
        }
        Ok(())
    }

    fn no_folder(&self) -> Refused {
        let what = format!("the vault {} is not a folder", self.vault.display());
        Refused { what, fix: "set vault.path to the folder of a vault".to_owned() }
    }

    /// True if there is anything at this path, relative to the vault.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.resolve(path).is_ok_and(|at| fs::symlink_metadata(at).is_ok())
    }

    /// Reads a file, given by its path relative to the vault.
    pub(super) fn read(&self, path: &str) -> Result<Found, Error> {
        let at = self.resolve(path)?;
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(Found { at, text: None, seen: None }),
            Err(error) => return Err(self.classify(&error)),
        };
        if !metadata.is_file() {
            return Err(Error::LeftAlone("it is not a file".to_owned()));
        }
        if metadata.len() > NOTE_MAX_BYTES {
            return Err(Error::LeftAlone(format!("it is larger than {} MB", NOTE_MAX_BYTES / 1024 / 1024)));
        }
        // Some editors empty a file before they write it.
        let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
        if metadata.len() == 0 && age.is_some_and(|age| age < SAVING) {
            return Err(Error::Changed);
        }
        let bytes = fs::read(&at).map_err(|error| self.classify(&error))?;
        #[cfg(test)]
        let bytes = if self.garbles && path.contains("/archive/") { [&bytes[..], b"?"].concat() } else { bytes };
        let text = String::from_utf8(bytes).map_err(|_| Error::LeftAlone("it is no UTF-8 text".to_owned()))?;
        Ok(Found { at, text: Some(text), seen: Some((FileStat::new(&metadata), identity(&metadata))) })
    }

    /// Returns the state of a note without reading it. `path` is one that [`VaultFs::list_notes`] returned.
    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        let metadata = fs::metadata(self.vault.join(path)).ok()?;
        Some((FileStat::new(&metadata), identity(&metadata)))
    }

    /// Replaces a file unless it was changed since it was read. Durable after [`VaultFs::sync`]. Returns the new file's
    /// stamp.
    pub(super) fn write(&self, found: &Found, text: &str) -> Result<Option<Stamp>, Error> {
        #[cfg(feature = "faults")]
        self.count_change()?;
        let folder = found.at.parent().unwrap_or(&self.vault);
        self.make_folder(folder).map_err(|error| self.classify(&error))?;
        let temporary = folder.join(temporary_name());
        let filled = self.write_temporary(&temporary, &found.at, text).and_then(|()| {
            // Text of a person must survive a power cut during the rename; Baton's own text can be written again.
            let is_theirs = found.text.as_deref().is_some_and(|text| !forget::is_own(text));
            if is_theirs { durable::sync_file(&temporary) } else { Ok(()) }
        });
        let written = filled.map_err(|error| self.classify(&error));
        // Taken before the rename: from then on others may write the file.
        let stamp = stamp_of(&temporary);
        let written = written.and_then(|()| match stamp_of(&found.at) == found.seen {
            true => fs::rename(&temporary, &found.at).map_err(|error| self.classify(&error)),
            false => Err(Error::Changed),
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.unsettled.borrow_mut().push(found.at.clone());
        Ok(stamp)
    }

    /// Counts a changed file; fails once no more may be changed.
    #[cfg(feature = "faults")]
    fn count_change(&self) -> Result<(), Error> {
        let left = self.changes_left.get();
        self.changes_left.set(left.map(|left| left.saturating_sub(1)));
        match left {
            Some(0) => Err(refusal(&self.vault, &io::Error::other("stopped")).into()),
            _ => Ok(()),
        }
    }

    fn write_temporary(&self, temporary: &Path, like: &Path, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.is_own {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file = options.open(temporary)?;
        if let Ok(known) = fs::metadata(like) {
            // The new file keeps the old one's read permissions.
            let _ = file.set_permissions(known.permissions());
        }
        file.write_all(text.as_bytes())
    }

    /// Removes a file unless it was changed since it was read. Returns true if it existed.
    pub(super) fn remove(&self, found: &Found) -> Result<bool, Error> {
        if found.seen.is_none() {
            return Ok(false);
        }
        if stamp_of(&found.at) != found.seen {
            return Err(Error::Changed);
        }
        #[cfg(feature = "faults")]
        self.count_change()?;
        fs::remove_file(&found.at).map_err(|error| self.classify(&error))?;
        self.unsettled.borrow_mut().push(found.at.clone());
        Ok(true)
    }

    /// Moves a text to another file. A power cut or a kill leaves it in at least one of the two. Fails if somebody
    /// changes the old file meanwhile: the next attempt starts with the new content.
    pub(super) fn move_text(&self, from: &str, to: &str, text: &str) -> Result<(), Error> {
        let new = self.read(to)?;
        // A process killed here earlier has written the new file and not yet removed the old one.
        if new.text.as_deref() != Some(text) {
            self.write(&new, text)?;
        }
        self.sync()?;
        let (old, new) = (self.read(from)?, self.read(to)?);
        let is_there = |found: &Found| found.text.as_deref() == Some(text);
        let removed = if is_there(&old) && is_there(&new) { self.remove(&old) } else { Err(Error::Changed) };
        if matches!(removed, Err(Error::Changed)) && is_there(&new) {
            self.remove(&new)?;
        }
        removed.map(drop)
    }

    /// Makes all changes durable.
    pub(super) fn sync(&self) -> Result<(), Refused> {
        #[cfg(feature = "faults")]
        if self.fails_syncs {
            return Err(refusal(&self.vault, &io::Error::from_raw_os_error(5)));
        }
        let written = std::mem::take(&mut *self.unsettled.borrow_mut());
        if written.is_empty() || (written.len() > FEW && durable::sync_all(&self.vault)) {
            return Ok(());
        }
        // Files that others have removed or moved are not ours any more, and files that we cannot open cannot be
        // synced.
        let is_passed = |error: &io::Error| is_missing(error) || error.kind() == io::ErrorKind::PermissionDenied;
        let mut problem = None;
        let mut unsettled = BTreeSet::new();
        for file in &written {
            if let Err(error) = durable::sync_file(file)
                && !is_passed(&error)
            {
                unsettled.insert(file.clone());
                problem = Some(error);
            }
        }
        for folder in written.iter().filter_map(|file| file.parent()).collect::<BTreeSet<&Path>>() {
            if let Err(error) = durable::sync_folder(folder)
                && !is_passed(&error)
            {
                unsettled.extend(written.iter().filter(|file| file.parent() == Some(folder)).cloned());
                problem = Some(error);
            }
        }
        // The next call tries again.
        self.unsettled.borrow_mut().extend(unsettled);
        problem.map_or(Ok(()), |error| Err(refusal(&self.vault, &error)))
    }

    /// Returns the paths of all notes relative to the vault, sorted, and leftover temporary files. Unreadable folders
    /// are skipped.
    pub(super) fn list_notes(&self) -> Result<(Vec<String>, Vec<PathBuf>), Refused> {
        let walked = self.walk(&self.notes_folder(), &self.root, false)?;
        Ok((walked.notes, walked.left))
    }

    /// The same, but fails if any note may be missing from the list.
    pub(super) fn list_all_notes(&self) -> Result<(Vec<String>, Vec<PathBuf>), Refused> {
        let walked = self.walk(&self.notes_folder(), &self.root, false)?;
        match walked.closed.into_iter().next() {
            Some((folder, error)) => Err(refusal(&folder, &error)),
            None if walked.is_cut => Err(Refused {
                what: format!("{} has more than {NOTES_MAX} notes", self.notes_folder().display()),
                fix: "move some of them elsewhere".to_owned(),
            }),
            None => Ok((walked.notes, walked.left)),
        }
    }

    /// Walks a folder; starts again if files were moved meanwhile.
    fn walk(&self, top: &Path, below: &str, with_copies: bool) -> Result<Walk, Refused> {
        for again in (0..WALKS).rev() {
            let mut walked = Walk::new(with_copies);
            match walked.add_folder(top, below, 0).and_then(|()| walked.follow_links(&self.vault)) {
                Err(error) if !is_missing(&error) => return Err(refusal(top, &error)),
                _ if walked.is_moving && again > 0 => {}
                _ => {
                    walked.notes.sort_unstable();
                    return Ok(walked);
                }
            }
        }
        Ok(Walk::default())
    }

    /// Dangling links among the notes, relative to the vault, each with its target.
    pub(super) fn dangling_links(&self) -> Result<Vec<(String, PathBuf)>, Refused> {
        Ok(self.walk(&self.notes_folder(), &self.root, false)?.dangling)
    }

    /// Removes a link; leaves any other file alone.
    pub(super) fn remove_link(&self, path: &str) -> Result<(), Error> {
        let link = self.vault.join(path);
        if is_link(&link) {
            fs::remove_file(&link).map_err(|error| self.classify(&error))?;
            self.unsettled.borrow_mut().push(link);
        }
        Ok(())
    }

    /// True if the file is a note below the folder of notes, after resolving links.
    pub(super) fn is_note(&self, found: &Found) -> bool {
        let notes = fs::canonicalize(self.notes_folder()).unwrap_or_else(|_| self.notes_folder());
        found.at.starts_with(notes) && found.at.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"))
    }

    /// Returns what the vault contains besides Baton's folder of notes.
    pub(super) fn other_files(&self) -> Result<OtherFiles, Refused> {
        let walked = self.walk(&self.vault, "", true)?;
        let (mut texts, own) = (walked.notes, format!("{}/", self.root));
        texts.retain(|path| !path.starts_with(&own) || !is_note(path) || path.contains("/."));
        let cut = walked.is_cut.then(|| self.vault.clone());
        let closed = walked.closed.into_iter().map(|(folder, _)| folder).chain(cut).collect();
        Ok(OtherFiles { texts, closed, dangling: walked.dangling })
    }

    /// Creates a folder of the vault and its parents.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        match self.is_own {
            true => durable::make_private_folder(folder).map(drop),
            false => match folder.is_dir() {
                true => Ok(()),
                // Never create the vault itself: it may be unmounted.
                false if self.vault.is_dir() => fs::create_dir_all(folder),
                false => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// Resolves a path relative to the vault.
    fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        let mut at = self.vault.clone();
        for part in Path::new(path).components() {
            let Component::Normal(name) = part else {
                return Err(Error::LeftAlone("it leads out of the vault".to_owned()));
            };
            let is_link;
            (at, is_link) = find_ignoring_case(&at, name);
            if is_link {
                at = fs::canonicalize(&at).map_err(|_| Error::LeftAlone("it is a link to nothing".to_owned()))?;
                if !at.starts_with(&self.vault) {
                    return Err(Error::LeftAlone("it is a link that leads out of the vault".to_owned()));
                }
            }
        }
        Ok(at)
    }

    /// Tells whether an error concerns one file or the whole vault, by trying to write another file.
    fn classify(&self, error: &io::Error) -> Error {
        if IoCause::from_error(error).is_of_the_disk() {
            // Do not name the note: names tell what sessions were about, and this message is logged.
            return Error::Vault(refusal(&self.notes_folder(), error));
        }
        let probe = self.notes_folder().join(temporary_name());
        let tried = self.make_folder(&self.notes_folder()).and_then(|()| File::create_new(&probe)?.write_all(b"\n"));
        let _ = fs::remove_file(&probe);
        match tried {
            Ok(()) => Error::LeftAlone(error.to_string()),
            Err(wide) => Error::Vault(refusal(&self.notes_folder(), &wide)),
        }
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Returns the path of the folder's entry with this name, ignoring case if there is no exact match, and whether it is a
/// link. Without a match, the name is kept as it is.
fn find_ignoring_case(folder: &Path, name: &std::ffi::OsStr) -> (PathBuf, bool) {
    let exact = folder.join(name);
    if let Ok(found) = fs::symlink_metadata(&exact) {
        return (exact, found.is_symlink());
    }
    let Some(wanted) = name.to_str().map(str::to_lowercase) else { return (exact, false) };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let like = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|known| known.to_lowercase() == wanted);
    match entries.into_iter().find(like).map(|entry| entry.path()) {
        Some(other) => {
            let is_link = is_link(&other);
            (other, is_link)
        }
        None => (exact, false),
    }
}

/// Returns a unique name for a temporary file.
fn temporary_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}{}-{count}{}", TEMPORARY.0, std::process::id(), TEMPORARY.1)
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((FileStat::new(&metadata), identity(&metadata)))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
