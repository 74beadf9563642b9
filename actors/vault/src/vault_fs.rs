//! The vault as files: whether it is there, reading notes, and writing them so that a reader sees a whole one or the one
//! before.
//!
//! Nothing outside of the vault is read or written: a link that leads out of it is left alone. A name that differs from one
//! that is there only by capital letters means that one, so that the vault can be carried to any system.

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
use baton_base::io_remedy::Obstacle;
use baton_base::transcript_file::{FileStat, identity};
use baton_config::settings;
pub(crate) use error::{Error, Refused, refused};
pub(super) use notes_folder::has_visible;
use walk::{NOTES_MAX, Walked, is_note};

/// Largest file that is taken for a note.
const NOTE_MAX_BYTES: u64 = 8 * 1024 * 1024;
/// How often a vault is gone through in which something is being moved.
const WALKS: u32 = 3;
/// How long a file that is empty may be one that somebody is just saving.
const SAVING: Duration = Duration::from_secs(2);
/// How the names of files begin and end that are being written.
const TEMPORARY: (&str, &str) = (".baton-", ".tmp");
/// Written files of which each is made durable by itself; of more, the whole file system at once.
const FEW: usize = 32;
/// The folder of a home that is its own vault.
const OWN: &str = "vault";

/// A vault, and the folder in it below which notes lie.
#[derive(Debug)]
pub(super) struct Place {
    /// Without links, once it was there.
    pub vault: PathBuf,
    /// As it was set.
    named: PathBuf,
    root: String,
    /// Whether it is the home's own: made when it is missing, for its owner alone.
    is_own: bool,
    /// What was written since [`Place::settle`].
    unsettled: RefCell<Vec<PathBuf>>,
    /// Whether copies in the archive are read back otherwise than they were written.
    #[cfg(test)]
    pub(super) garbles: bool,
    /// Whether the disk refuses to make anything durable.
    #[cfg(feature = "faults")]
    pub(super) refuses_to_settle: bool,
    /// How many files may still be changed before whoever does it is stopped.
    #[cfg(feature = "faults")]
    pub(super) changes_left: std::cell::Cell<Option<u32>>,
}

/// A file of the vault as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The file, inside of the vault and without links.
    at: PathBuf,
    /// What it says; `None`: it is not there.
    pub(super) text: Option<String>,
    pub(super) seen: Option<Stamp>,
}

/// What tells whether somebody has written a file.
pub(super) type Stamp = (FileStat, FileIdentity);

/// What a vault has besides the notes of the folder in which Baton writes; paths are below it.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Texts of people, and what programs keep of what was deleted or changed.
    pub(super) texts: Vec<String>,
    /// Folders that may not be looked into; the vault itself, where it has more than is looked at.
    pub(super) closed: Vec<PathBuf>,
    /// Links that lead nowhere, each with what it names, also among the notes.
    pub(super) dangling: Vec<(String, PathBuf)>,
}

impl Place {
    /// The vault of some settings. Nothing is looked at yet.
    pub(super) fn of(settings: &settings::Vault, home: &Path) -> Self {
        let own = home.join(OWN);
        let vault = settings.path.clone().unwrap_or_else(|| own.clone());
        Self::at(vault.clone(), settings.root.clone(), vault == own)
    }

    /// A vault that is known.
    pub(super) fn at(vault: PathBuf, root: String, is_own: bool) -> Self {
        Self {
            named: vault.clone(),
            vault,
            root,
            is_own,
            unsettled: RefCell::default(),
            #[cfg(test)]
            garbles: false,
            #[cfg(feature = "faults")]
            refuses_to_settle: false,
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

    /// The folder below which all notes lie.
    pub(super) fn notes(&self) -> PathBuf {
        self.vault.join(&self.root)
    }

    /// Looks whether the vault is there; the home's own is made. With `has_notes` it must still have them: an empty folder
    /// is where something is not mounted.
    pub(super) fn look(&mut self, has_notes: bool) -> Result<(), Refused> {
        if self.is_own {
            durable::create_private_folder(&self.vault).map_err(|error| refused(&self.vault, &error))?;
        }
        match fs::canonicalize(&self.vault) {
            Ok(vault) if vault.is_dir() => self.vault = vault,
            Ok(_) => return Err(self.no_folder()),
            Err(error) => return Err(refused(&self.vault, &error)),
        }
        if fs::canonicalize(self.notes()).is_ok_and(|notes| !notes.starts_with(&self.vault)) {
            let what = format!("{} is a link that leads out of the vault", self.notes().display());
            return Err(Refused { what, fix: "name what it leads to in vault.path, or put a folder there".to_owned() });
        }
        if has_notes && !has_visible(&self.notes()) {
            let what = format!("{} is empty, and notes were written there", self.notes().display());
            let fix = "mount or put back what belongs there; if it is to begin anew, run `baton vault sync`".to_owned();
            return Err(Refused { what, fix });
        }
        Ok(())
    }

    fn no_folder(&self) -> Refused {
        let what = format!("the vault {} is no folder", self.vault.display());
        Refused { what, fix: "name the folder of a vault in vault.path".to_owned() }
    }

    /// Whether a path below the vault leads to anything.
    pub(super) fn has(&self, path: &str) -> bool {
        self.locate(path).is_ok_and(|at| fs::symlink_metadata(at).is_ok())
    }

    /// Reads a file, given by its path below the vault.
    pub(super) fn read(&self, path: &str) -> Result<Found, Error> {
        let at = self.locate(path)?;
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(Found { at, text: None, seen: None }),
            Err(error) => return Err(self.judge(&error)),
        };
        if !metadata.is_file() {
            return Err(Error::Left("it is no file".to_owned()));
        }
        if metadata.len() > NOTE_MAX_BYTES {
            return Err(Error::Left(format!("it is larger than {} MB", NOTE_MAX_BYTES / 1024 / 1024)));
        }
        // Some editors empty a file before they write it.
        let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
        if metadata.len() == 0 && age.is_some_and(|age| age < SAVING) {
            return Err(Error::Changed);
        }
        let bytes = fs::read(&at).map_err(|error| self.judge(&error))?;
        #[cfg(test)]
        let bytes = if self.garbles && path.contains("/archive/") { [&bytes[..], b"?"].concat() } else { bytes };
        let text = String::from_utf8(bytes).map_err(|_| Error::Left("it is no UTF-8 text".to_owned()))?;
        Ok(Found { at, text: Some(text), seen: Some((FileStat::new(&metadata), identity(&metadata))) })
    }

    /// A note as it lies there now, without reading it; given by its path below the vault, as [`Place::all`] has it.
    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        let metadata = fs::metadata(self.vault.join(path)).ok()?;
        Some((FileStat::new(&metadata), identity(&metadata)))
    }

    /// Writes a file that was read before, unless somebody has written it since. Durable after [`Place::settle`]. What it is
    /// known by then.
    pub(super) fn write(&self, found: &Found, text: &str) -> Result<Option<Stamp>, Error> {
        #[cfg(feature = "faults")]
        self.count_change()?;
        let folder = found.at.parent().unwrap_or(&self.vault);
        self.make_folder(folder).map_err(|error| self.judge(&error))?;
        let temporary = folder.join(temporary());
        let filled = self.fill(&temporary, &found.at, text).and_then(|()| {
            // What a person wrote must not go with a power cut between the two files; what is Baton's is written again.
            let is_theirs = found.text.as_deref().is_some_and(|text| !forget::is_own(text));
            if is_theirs { durable::sync_file(&temporary) } else { Ok(()) }
        });
        let written = filled.map_err(|error| self.judge(&error));
        // Before it has its name: from then on others write it.
        let stamp = seen(&temporary);
        let written = written.and_then(|()| match seen(&found.at) == found.seen {
            true => fs::rename(&temporary, &found.at).map_err(|error| self.judge(&error)),
            false => Err(Error::Changed),
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.unsettled.borrow_mut().push(found.at.clone());
        Ok(stamp)
    }

    /// Counts a changed file; fails when no more may be changed.
    #[cfg(feature = "faults")]
    fn count_change(&self) -> Result<(), Error> {
        let left = self.changes_left.get();
        self.changes_left.set(left.map(|left| left.saturating_sub(1)));
        match left {
            Some(0) => Err(refused(&self.vault, &io::Error::other("stopped")).into()),
            _ => Ok(()),
        }
    }

    fn fill(&self, temporary: &Path, like: &Path, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.is_own {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file = options.open(temporary)?;
        if let Ok(known) = fs::metadata(like) {
            // Whoever may read it now goes on to.
            let _ = file.set_permissions(known.permissions());
        }
        file.write_all(text.as_bytes())
    }

    /// Removes a file that was read before, unless somebody has written it since. Whether it was there.
    pub(super) fn remove(&self, found: &Found) -> Result<bool, Error> {
        if found.seen.is_none() {
            return Ok(false);
        }
        if seen(&found.at) != found.seen {
            return Err(Error::Changed);
        }
        #[cfg(feature = "faults")]
        self.count_change()?;
        fs::remove_file(&found.at).map_err(|error| self.judge(&error))?;
        self.unsettled.borrow_mut().push(found.at.clone());
        Ok(true)
    }

    /// Has everything that was written since survive a power cut.
    pub(super) fn settle(&self) -> Result<(), Refused> {
        #[cfg(feature = "faults")]
        if self.refuses_to_settle {
            return Err(refused(&self.vault, &io::Error::from_raw_os_error(5)));
        }
        let written = std::mem::take(&mut *self.unsettled.borrow_mut());
        if written.is_empty() || (written.len() > FEW && durable::sync_all(&self.vault)) {
            return Ok(());
        }
        // What was removed or moved meanwhile is somebody's, and what we may not open is as durable as it gets.
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
        // It is tried again with the next.
        self.unsettled.borrow_mut().extend(unsettled);
        problem.map_or(Ok(()), |error| Err(refused(&self.vault, &error)))
    }

    /// Every note there is, by its path below the vault, in order; and, apart, what writing has left behind. A folder that may
    /// not be looked into is passed over.
    pub(super) fn all(&self) -> Result<(Vec<String>, Vec<PathBuf>), Refused> {
        let walked = self.walk(&self.notes(), &self.root, false)?;
        Ok((walked.notes, walked.left))
    }

    /// The same, for whom it must be all of them.
    pub(super) fn whole(&self) -> Result<(Vec<String>, Vec<PathBuf>), Refused> {
        let walked = self.walk(&self.notes(), &self.root, false)?;
        match walked.closed.into_iter().next() {
            Some((folder, error)) => Err(refused(&folder, &error)),
            None if walked.is_cut => Err(Refused {
                what: format!("{} has more than {NOTES_MAX} notes", self.notes().display()),
                fix: "put some of them elsewhere".to_owned(),
            }),
            None => Ok((walked.notes, walked.left)),
        }
    }

    /// Goes through a folder, once more where something was moved meanwhile.
    fn walk(&self, top: &Path, below: &str, with_copies: bool) -> Result<Walked, Refused> {
        for again in (0..WALKS).rev() {
            let mut walked = Walked::begun(with_copies);
            match walked.gather(top, below, 0).and_then(|()| walked.follow_links(&self.vault)) {
                Err(error) if !is_missing(&error) => return Err(refused(top, &error)),
                _ if walked.is_moving && again > 0 => {}
                _ => {
                    walked.notes.sort_unstable();
                    return Ok(walked);
                }
            }
        }
        Ok(Walked::default())
    }

    /// Links among the notes that lead nowhere, by their paths below the vault, each with what it names.
    pub(super) fn dangling(&self) -> Result<Vec<(String, PathBuf)>, Refused> {
        Ok(self.walk(&self.notes(), &self.root, false)?.dangling)
    }

    /// Removes a link, and nothing else.
    pub(super) fn remove_link(&self, path: &str) -> Result<(), Error> {
        let link = self.vault.join(path);
        if is_link(&link) {
            fs::remove_file(&link).map_err(|error| self.judge(&error))?;
            self.unsettled.borrow_mut().push(link);
        }
        Ok(())
    }

    /// Whether a file that was found lies below the folder of notes, and not somewhere else in the vault.
    pub(super) fn is_note(&self, found: &Found) -> bool {
        let notes = fs::canonicalize(self.notes()).unwrap_or_else(|_| self.notes());
        found.at.starts_with(notes) && found.at.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"))
    }

    /// What there is in the vault besides the notes of the folder in which Baton writes.
    pub(super) fn outside(&self) -> Result<Outside, Refused> {
        let walked = self.walk(&self.vault, "", true)?;
        let (mut texts, own) = (walked.notes, format!("{}/", self.root));
        texts.retain(|path| !path.starts_with(&own) || !is_note(path) || path.contains("/."));
        let cut = walked.is_cut.then(|| self.vault.clone());
        let closed = walked.closed.into_iter().map(|(folder, _)| folder).chain(cut).collect();
        Ok(Outside { texts, closed, dangling: walked.dangling })
    }

    /// Makes a folder of the vault and those above it.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        match self.is_own {
            true => durable::make_private_folder(folder).map(drop),
            false => match folder.is_dir() {
                true => Ok(()),
                // The vault itself is never made: it may not be mounted.
                false if self.vault.is_dir() => fs::create_dir_all(folder),
                false => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// Where a path below the vault leads.
    fn locate(&self, path: &str) -> Result<PathBuf, Error> {
        let mut at = self.vault.clone();
        for part in Path::new(path).components() {
            let Component::Normal(name) = part else {
                return Err(Error::Left("it leads out of the vault".to_owned()));
            };
            let is_link;
            (at, is_link) = named(&at, name);
            if is_link {
                at = fs::canonicalize(&at).map_err(|_| Error::Left("it is a link to nothing".to_owned()))?;
                if !at.starts_with(&self.vault) {
                    return Err(Error::Left("it is a link that leads out of the vault".to_owned()));
                }
            }
        }
        Ok(at)
    }

    /// Whether a failure concerns one file, or everything: then nothing can be written beside it either.
    fn judge(&self, error: &io::Error) -> Error {
        if Obstacle::from_error(error).is_of_the_disk() {
            // The names of notes say what sessions were about, and this goes to the log.
            return Error::Vault(refused(&self.notes(), error));
        }
        let probe = self.notes().join(temporary());
        let tried = self.make_folder(&self.notes()).and_then(|()| File::create_new(&probe)?.write_all(b"\n"));
        let _ = fs::remove_file(&probe);
        match tried {
            Ok(()) => Error::Left(error.to_string()),
            Err(wide) => Error::Vault(refused(&self.notes(), &wide)),
        }
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// The entry of a folder with this name, however its letters are written, and whether it is a link; else the name as it is.
fn named(folder: &Path, name: &std::ffi::OsStr) -> (PathBuf, bool) {
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

/// A name that no other file has.
fn temporary() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}{}-{count}{}", TEMPORARY.0, std::process::id(), TEMPORARY.1)
}

fn seen(path: &Path) -> Option<Stamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((FileStat::new(&metadata), identity(&metadata)))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
