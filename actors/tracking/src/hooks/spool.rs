//! The spool: a folder of small files, one per signal, that hooks leave in the home while no daemon answers. Each is
//! taken in once, in order of time, and removed when it is durable. Anything else is put aside, and no link is followed
//! out of the folder.
//!
//! # Hazards
//!
//! - A folder's modification time may be the same for two changes within one tick, so it is believed only after two
//!   seconds of rest.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use baton_protocol::{SPOOL, SPOOL_DROPPED, SPOOL_FILE_BYTES, SPOOL_FILES_MAX, Spooled};

use baton_base::durable;

/// Newest file version that is understood.
const SHAPE: u32 = 1;
/// Subfolder for files that cannot be read.
const UNREADABLE: &str = "unreadable";
/// Limit of files kept there for a person to look at.
const UNREADABLE_MAX: usize = 64;
/// Limit of entries examined per pass; hooks leave no more.
const ENTRIES_MAX: usize = 2 * SPOOL_FILES_MAX;
/// Age at which an unfinished file counts as abandoned by a killed hook.
const UNFINISHED: Duration = Duration::from_secs(3600);
/// Age at which a folder's modification time is reliable.
const SETTLED: Duration = Duration::from_secs(2);

/// The spool of a home. All methods block for short disk accesses.
pub(super) struct Spool {
    folder: PathBuf,
}

/// The content of the spool.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Signal files, oldest first.
    pub(super) files: Vec<PathBuf>,
    /// Number of files that were put aside.
    pub(super) unreadable: u64,
    /// The folder's modification time before it was read, if it shows later changes reliably.
    pub(super) stamp: Option<SystemTime>,
}

/// Why a file is not taken in.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It is gone or cannot be read at the moment.
    NotNow(io::Error),
    /// It is not a signal.
    Never(&'static str),
}

impl Spool {
    pub(super) fn new(home: &Path) -> Self {
        Self { folder: home.join(SPOOL) }
    }

    /// When an entry was last added or removed; `None` without a spool.
    pub(super) fn stamp(&self) -> Option<SystemTime> {
        self.folder_metadata().and_then(|metadata| metadata.modified().ok())
    }

    /// Returns the number of waiting signals and of dropped ones.
    pub(super) fn waiting(&self) -> (u64, u64) {
        let names = self.folder_metadata().and_then(|_| fs::read_dir(&self.folder).ok()).into_iter().flatten();
        let is_signal =
            |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| signal_time(name).is_some());
        let waiting = names.take(ENTRIES_MAX).flatten().filter(is_signal).count() as u64;
        (waiting, self.dropped())
    }

    /// Lists the signals, oldest first. Puts aside what is not a signal, and removes abandoned files.
    pub(super) fn list(&self, now: SystemTime) -> io::Result<Listed> {
        let Some(metadata) = self.folder_metadata() else { return Ok(Listed::default()) };
        let is_settled = |at: &SystemTime| now.duration_since(*at).is_ok_and(|since| since >= SETTLED);
        let mut listed = Listed { stamp: metadata.modified().ok().filter(is_settled), ..Listed::default() };
        let mut files: Vec<(u128, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)?.take(ENTRIES_MAX) {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(metadata) = entry.metadata() else { continue };
            let name = name.to_str().unwrap_or_default();
            if name == UNREADABLE || name == SPOOL_DROPPED {
                continue;
            }
            let age = metadata.modified().ok().and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
            match signal_time(name) {
                Some(SignalTime::Ms(at)) if metadata.is_file() => files.push((at, path)),
                Some(SignalTime::Written) if metadata.is_file() => files.push((written_ms(&metadata), path)),
                // A hook is still writing it.
                None if metadata.is_file() && is_unfinished(name) && age < UNFINISHED => {}
                None if metadata.is_file() && is_unfinished(name) => drop(fs::remove_file(&path)),
                _ => {
                    self.put_aside(&path);
                    listed.unreadable += 1;
                }
            }
        }
        if !files.is_empty() || listed.unreadable > 0 {
            listed.stamp = None;
        }
        files.sort();
        listed.files = files.into_iter().map(|(_, path)| path).collect();
        Ok(listed)
    }

    /// Reads one signal.
    pub(super) fn read(&self, path: &Path) -> Result<Spooled, Unfit> {
        let file = open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unfit::NotNow(error),
            _ => Unfit::Never("it cannot be opened"),
        })?;
        let metadata = file.metadata().map_err(Unfit::NotNow)?;
        if !metadata.is_file() || !is_ours(&metadata) {
            return Err(Unfit::Never("it is no file of this user"));
        }
        let mut text = Vec::new();
        file.take(SPOOL_FILE_BYTES + 1).read_to_end(&mut text).map_err(Unfit::NotNow)?;
        if text.len() as u64 > SPOOL_FILE_BYTES {
            return Err(Unfit::Never("it is too large"));
        }
        match serde_json::from_slice::<Spooled>(&text) {
            Ok(spooled) if spooled.v > SHAPE => Err(Unfit::Never("a newer version has written it")),
            Ok(spooled) => Ok(spooled),
            Err(_) => Err(Unfit::Never("it is no signal")),
        }
    }

    /// Removes a signal that was taken in.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves a file that is not a signal to the subfolder, or removes it if that is full.
    pub(super) fn put_aside(&self, path: &Path) {
        let folder = self.folder.join(UNREADABLE);
        let kept = fs::read_dir(&folder).map_or(0, |entries| entries.take(UNREADABLE_MAX).count());
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if let (true, false) = (kept >= UNREADABLE_MAX, is_folder) {
            let _ = fs::remove_file(path);
            return;
        }
        let Some(name) = path.file_name() else { return };
        let moved = durable::make_private_folder(&folder).and_then(|_| fs::rename(path, folder.join(name)));
        if let Err(error) = moved {
            tracing::warn!(%error, "file of the spool not put aside");
        }
    }

    /// Returns and resets the number of signals that hooks had to drop, for want of a session or of room; the file has
    /// one byte for each.
    pub(super) fn take_dropped(&self) -> u64 {
        let dropped = self.dropped();
        if dropped > 0 {
            let _ = fs::remove_file(self.folder.join(SPOOL_DROPPED));
        }
        dropped
    }

    fn dropped(&self) -> u64 {
        let metadata = fs::symlink_metadata(self.folder.join(SPOOL_DROPPED));
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }

    /// Metadata of the folder, if it belongs to this user and is no link.
    fn folder_metadata(&self) -> Option<Metadata> {
        fs::symlink_metadata(&self.folder).ok().filter(|metadata| metadata.is_dir() && is_ours(metadata))
    }
}

/// The time of a signal by its file name.
enum SignalTime {
    Ms(u128),
    /// Use the file's modification time.
    Written,
}

/// Returns `None` if the name is not that of a signal.
fn signal_time(name: &str) -> Option<SignalTime> {
    let stem = name.strip_suffix(".json")?;
    if stem.strip_prefix("activity-").is_some_and(|session| !session.is_empty()) {
        return Some(SignalTime::Written);
    }
    let (at, id) = stem.split_once('-')?;
    let is_time = at.len() == 13 && at.bytes().all(|byte| byte.is_ascii_digit());
    (is_time && !id.is_empty()).then(|| at.parse().ok().map(SignalTime::Ms))?
}

/// True if the name is a temporary one.
fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".tmp")
}

fn written_ms(metadata: &Metadata) -> u128 {
    let since = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis())
}

/// Opens a regular file: does not follow links or wait for pipes.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(unix)]
fn is_ours(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_metadata: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Spool) {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::new(home.path());
        fs::create_dir(&spool.folder).unwrap();
        (home, spool)
    }

    fn names(files: &[PathBuf]) -> Vec<&str> {
        files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(2 * 3600)
    }

    #[test]
    fn signals_are_listed_by_their_time_and_nothing_else_is() {
        let (home, spool) = world();
        for name in ["1700000000002-b.json", "1700000000001-z.json", "activity-s.json", ".x.tmp", "new.tmp", "dropped"]
        {
            fs::write(spool.folder.join(name), "{}").unwrap();
        }
        for name in ["notes.txt", "17-b.json", "1700000000003-.json", "activity-.json"] {
            fs::write(spool.folder.join(name), "a person's").unwrap();
        }
        fs::create_dir(spool.folder.join("1700000000004-folder.json")).unwrap();
        assert_eq!(spool.waiting(), (4, 2));
        let listed = spool.list(SystemTime::now()).unwrap();
        let expected = ["1700000000001-z.json", "1700000000002-b.json", "activity-s.json"];
        assert_eq!((names(&listed.files), listed.unreadable), (expected.to_vec(), 5));
        assert!(spool.folder.join("unreadable/notes.txt").exists() && spool.folder.join("new.tmp").exists());
        assert_eq!((listed.stamp, spool.take_dropped(), spool.take_dropped()), (None, 2, 0));
        // An unfinished file is removed after an hour.
        let listed = spool.list(later()).unwrap();
        assert_eq!((listed.files.len(), listed.unreadable), (3, 0));
        assert!(!spool.folder.join("new.tmp").exists() && !spool.folder.join(".x.tmp").exists());
        listed.files.iter().for_each(|path| spool.remove(path).unwrap());
        let listed = spool.list(later()).unwrap();
        assert!(listed.files.is_empty() && listed.stamp.is_some() && listed.stamp == spool.stamp());
        assert_eq!(spool.list(SystemTime::now()).unwrap().stamp, None, "it may have changed since without showing it");
        drop(home);
        assert!(spool.list(later()).unwrap().files.is_empty() && spool.stamp().is_none());
    }

    #[test]
    fn a_file_is_a_signal_or_says_why_not() {
        let (_home, spool) = world();
        let path = spool.folder.join("1700000000001-a.json");
        let whole = Spooled { v: 1, why: "absent".to_owned(), ..Spooled::default() };
        let large = format!("{{\"why\": \"{}\"}}", "x".repeat(SPOOL_FILE_BYTES as usize));
        for (text, expected) in [
            (serde_json::to_string(&whole).unwrap(), Ok(())),
            ("{}".to_owned(), Ok(())),
            ("{\"hook\": {\"session_id\": \"a\"".to_owned(), Err("it is no signal")),
            ("7".to_owned(), Err("it is no signal")),
            (String::new(), Err("it is no signal")),
            ("{\"v\": 2}".to_owned(), Err("a newer version has written it")),
            (large, Err("it is too large")),
        ] {
            fs::write(&path, &text).unwrap();
            let shown: String = text.chars().take(40).collect();
            match (spool.read(&path), expected) {
                (Ok(_), Ok(())) => {}
                (Err(Unfit::Never(why)), Err(expected)) => assert_eq!(why, expected, "{shown}"),
                (other, _) => panic!("{shown}: {other:?}"),
            }
        }
        assert!(matches!(spool.read(&spool.folder.join("gone")), Err(Unfit::NotNow(_))));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_followed_out_of_the_folder() {
        use std::os::unix::fs::symlink;
        let (home, spool) = world();
        let outside = home.path().join("outside.json");
        fs::write(&outside, "{}").unwrap();
        let link = spool.folder.join("1700000000001-a.json");
        symlink(&outside, &link).unwrap();
        assert!(matches!(spool.read(&link), Err(Unfit::Never(_))));
        let listed = spool.list(SystemTime::now()).unwrap();
        assert_eq!((listed.files.len(), listed.unreadable), (0, 1));
        assert!(outside.exists() && spool.folder.join("unreadable/1700000000001-a.json").is_symlink());
        // A spool that is itself a link is ignored.
        fs::rename(&spool.folder, home.path().join("real")).unwrap();
        symlink(home.path().join("real"), &spool.folder).unwrap();
        fs::write(home.path().join("real/1700000000002-b.json"), "{}").unwrap();
        assert!(spool.list(SystemTime::now()).unwrap().files.is_empty() && spool.stamp().is_none());
    }

    #[test]
    fn few_of_what_is_put_aside_are_kept() {
        let (_home, spool) = world();
        for number in 0..UNREADABLE_MAX + 10 {
            fs::write(spool.folder.join(format!("note {number}")), "").unwrap();
        }
        assert_eq!(spool.list(SystemTime::now()).unwrap().unreadable, UNREADABLE_MAX as u64 + 10);
        assert_eq!(fs::read_dir(spool.folder.join(UNREADABLE)).unwrap().count(), UNREADABLE_MAX);
        assert_eq!(fs::read_dir(&spool.folder).unwrap().count(), 1);
    }
}
