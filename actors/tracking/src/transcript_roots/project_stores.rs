//! Finds the files in which an agent keeps sessions inside a project, and decides whether they are read.
//!
//! Only projects that another agent's sessions or a person named are examined. A repository can contain such a file,
//! with words that nobody here has said. So a file is read only if it and its parent folders in the project belong to
//! this user and are no links, and git does not track it. The same applies to the files that SQLite keeps beside a
//! database.
//!
//! # Decisions
//!
//! - Git's index is read in place of running `git`: a repository's configuration can make that run other programs.
//!
//! # Hazards
//!
//! - In an index of version 4, which shortens names, nothing is found: the file is then not read.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use baton_conversation::item::Agent;
use baton_conversation::transcript::{SIDE_FILES, layout};

use super::{LOOK, REFUSED_MAX, Refused, Roots};
use baton_base::transcript_root::Root;

/// Largest index that is searched, in bytes; a million files take a hundred million.
const INDEX_BYTES: u64 = 512 * 1024 * 1024;
/// Longest `.git` file, in bytes.
const POINTER_BYTES: u64 = 4_096;
/// Begins an index, before its version.
const INDEX: &[u8] = b"DIRC";
/// Versions with unabbreviated names.
const FULL_NAMES: &[&[u8]] = &[&[0, 0, 0, 2], &[0, 0, 0, 3]];
/// Begins the names of files that hold a part of an index.
const SHARED: &str = "sharedindex.";
/// Exists beside an index while git changes it.
const LOCK: &str = "index.lock";

/// Limit of projects that are examined for files with sessions.
const PROJECTS_MAX: usize = 2_000;
/// The origin of a root for the file in a project that another session has named, and in one that a person has named.
const IN_PROJECT: [&str; 2] = ["project", "config.json"];

/// The projects with files that hold sessions.
#[derive(Default)]
pub(super) struct Stores {
    /// Projects that were examined, and those that will be.
    known: BTreeSet<String>,
    /// Projects whose examination has not returned.
    under_way: BTreeSet<PathBuf>,
    /// The files that are read, by origin.
    pub(super) read: Vec<(Root, &'static str)>,
    pub(super) refused: Vec<Refused>,
}

/// Files with sessions, each with its root and why it is not read, if so.
type Found = Vec<(PathBuf, Root, Result<(), String>)>;

impl Roots {
    /// True if a session's project was not yet examined for files with sessions.
    pub fn is_new_project(&self, project: &str) -> bool {
        self.stores().known.insert(project.to_owned())
    }

    /// Looks in all projects for files with sessions. Returns true if others are read now. A project whose file system
    /// does not answer keeps a thread and is not waited for again.
    pub async fn look_for_stores(&self) -> bool {
        let settings = self.settings.now();
        let tracked = if settings.watch_directories.is_some() { Vec::new() } else { self.tracked(|_| true) };
        let named = settings.project_stores.iter().map(|project| (project.clone(), IN_PROJECT[1]));
        let tracked_too = tracked.iter().map(|project| (PathBuf::from(project), IN_PROJECT[0]));
        let mut seen = BTreeSet::new();
        let wanted =
            named.chain(tracked_too).filter(|(project, _)| project.is_absolute() && seen.insert(project.clone()));
        let wanted: Vec<(PathBuf, &str)> = wanted.take(PROJECTS_MAX).collect();
        let looks: Vec<_> = wanted.into_iter().filter_map(|(project, by)| Some((by, self.look_in(project)?))).collect();
        let until = tokio::time::Instant::now() + LOOK;
        let (mut read, mut refused) = (Vec::new(), Vec::new());
        for (by, look) in looks {
            let Ok(Ok(found)) = tokio::time::timeout_at(until, look).await else { continue };
            for (file, root, checked) in found {
                let (config_dir, named_by) = (file.display().to_string(), by.to_owned());
                match checked {
                    Ok(()) => read.push((root, by)),
                    Err(why) => refused.push(Refused { config_dir, named_by, why }),
                }
            }
        }
        refused.truncate(REFUSED_MAX);
        let mut stores = self.stores();
        stores.known.extend(tracked);
        stores.refused = refused;
        let is_changed = stores.read != read;
        stores.read = read;
        is_changed
    }

    fn look_in(&self, project: PathBuf) -> Option<baton_base::task::Task<Found>> {
        let stores = self.stores.clone();
        let locked = |stores: &Mutex<Stores>, change: &dyn Fn(&mut BTreeSet<PathBuf>) -> bool| {
            change(&mut stores.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).under_way)
        };
        locked(&stores, &|under_way| under_way.insert(project.clone())).then(|| {
            baton_base::task::spawn_blocking(move || {
                let found = of_project(&project);
                locked(&stores, &|under_way| under_way.remove(&project));
                found
            })
        })
    }

    pub(super) fn stores(&self) -> MutexGuard<'_, Stores> {
        self.stores.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The files in a project. Blocks for short disk reads.
fn of_project(project: &Path) -> Found {
    let stores = Agent::ALL.iter().filter_map(|agent| Some((*agent, layout(*agent).in_project?)));
    let there = stores.filter_map(|(agent, place)| {
        let file = project.join(place);
        file.symlink_metadata().ok()?;
        let root = Root { agent, projects: file.parent()?.to_owned() };
        let checked = check(project, &file);
        Some((file, root, checked))
    });
    there.collect()
}

/// Returns why an agent's sessions in a project are not read. `None` if they are, or if it has none there yet. Blocks for
/// short disk reads.
pub fn why_unread_in(agent: Agent, project: &Path) -> Option<String> {
    of_project(project).into_iter().find(|(_, root, _)| root.agent == agent)?.2.err()
}

fn check(project: &Path, file: &Path) -> Result<(), String> {
    for folder in file.ancestors().skip(1).take_while(|above| *above != project) {
        let metadata = folder.symlink_metadata().map_err(|error| error.to_string())?;
        if !metadata.is_dir() {
            return Err("its folder is a link".to_owned());
        }
        is_own(&metadata).map_err(|why| format!("its folder: {why}"))?;
    }
    let mut files = Vec::new();
    for side in [""].iter().chain(SIDE_FILES) {
        let mut path = file.as_os_str().to_owned();
        path.push(side);
        let path = PathBuf::from(path);
        let Ok(metadata) = path.symlink_metadata() else { continue };
        files.push(path);
        if !metadata.is_file() {
            return Err("it is a link or no file".to_owned());
        }
        is_own(&metadata)?;
    }
    match is_tracked(&files) {
        Ok(false) => Ok(()),
        Ok(true) => Err("git tracks it, so that others may have written it; `git rm --cached` ends that".to_owned()),
        Err(why) => Err(format!("it cannot be told whether git tracks it: {why}")),
    }
}

#[cfg(unix)]
fn is_own(metadata: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    match metadata.permissions().mode() & 0o002 {
        0 => Ok(()),
        _ => Err("others can write it; run `chmod o-w` on it".to_owned()),
    }
}

#[cfg(not(unix))]
fn is_own(_metadata: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

/// True if the index of a work tree above these files of one folder names any.
fn is_tracked(files: &[PathBuf]) -> Result<bool, String> {
    for top in files.first().into_iter().flat_map(|file| file.ancestors().skip(1)) {
        let Ok(found) = top.join(".git").symlink_metadata() else { continue };
        let name = |file: &PathBuf| Some(file.strip_prefix(top).ok()?.to_str()?.replace('\\', "/"));
        let wanted: Option<Vec<String>> = files.iter().map(name).collect();
        let git = match found.is_file() {
            true => pointed(top)?,
            false => top.join(".git"),
        };
        if names(&git, &wanted.ok_or("its name is not UTF-8")?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The directory that a `.git` file names.
fn pointed(top: &Path) -> Result<PathBuf, String> {
    let text = read(&top.join(".git"), POINTER_BYTES)?.unwrap_or_default();
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    let named = text.strip_prefix("gitdir:").ok_or("its `.git` names no directory")?;
    Ok(top.join(named.trim()))
}

/// True if the index in a directory of git names any of these files.
fn names(git: &Path, wanted: &[String]) -> Result<bool, String> {
    // During a pull git writes the files first and the index last.
    let lock = git.join(LOCK);
    if lock.symlink_metadata().is_ok() {
        return Err(format!("git is at work, or was ended at it: there is {}", lock.display()));
    }
    let shared = fs::read_dir(git).into_iter().flatten().flatten();
    let shared = shared.filter(|entry| entry.file_name().to_string_lossy().starts_with(SHARED));
    let indexes = std::iter::once(git.join("index")).chain(shared.map(|entry| entry.path()));
    for index in indexes {
        let Some(bytes) = read(&index, INDEX_BYTES)? else { continue };
        let version = bytes.strip_prefix(INDEX).and_then(|rest| rest.get(..4));
        if !version.is_some_and(|version| FULL_NAMES.contains(&version)) {
            return Err(format!("{} has another form", index.display()));
        }
        // The byte before a whole name is part of its length; before the rest of a path it is a slash.
        let is_whole = |at: usize| at > 0 && bytes[at - 1] != b'/';
        let is_named =
            |name: &String| memchr::memmem::find_iter(&bytes, &[name.as_bytes(), b"\0"].concat()).any(is_whole);
        if wanted.iter().any(is_named) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a file of at most this size; `None` if there is none.
fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    match baton_base::transcript_file::open(path) {
        Ok(file) => file.take(most + 1).read_to_end(&mut bytes).map_err(told)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(told(error)),
    };
    if bytes.len() as u64 > most { Err(format!("{} is too large", path.display())) } else { Ok(Some(bytes)) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    const NAME: &str = ".aider.chat.history.md";

    fn index(version: u8, name: &str) -> Vec<u8> {
        let [.., length] = name.len().to_be_bytes();
        let entry = [&[7; 60][..], &[0, length], name.as_bytes(), b"\0\0\0"].concat();
        [INDEX, &[0, 0, 0, version, 0, 0, 0, 1], &entry].concat()
    }

    fn why(project: &Path) -> String {
        let found = of_project(project).into_iter().map(|(.., checked)| checked.err().unwrap_or_default());
        found.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn only_an_own_file_that_git_does_not_track_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("shop");
        fs::create_dir_all(project.join(".git")).unwrap();
        assert!(of_project(&project).is_empty());
        let file = project.join(NAME);
        fs::write(&file, "x").unwrap();
        assert_eq!((of_project(&project).len(), why(&project)), (1, String::new()));
        for (version, name, expected) in [
            (2, "src/.aider.chat.history.md", ""),
            (2, ".aider.chat.history.md.bak", ""),
            (2, NAME, "git tracks it"),
            (3, NAME, "git tracks it"),
            (4, "README", "has another form"),
        ] {
            fs::write(project.join(".git/index"), index(version, name)).unwrap();
            assert!(
                why(&project).contains(expected) && why(&project).is_empty() == expected.is_empty(),
                "{version} {name}"
            );
        }
        fs::write(project.join(".git/index"), index(2, "a")).unwrap();
        fs::write(project.join(".git/index.lock"), "").unwrap();
        assert!(why(&project).contains("git is at work"));
        fs::remove_file(project.join(".git/index.lock")).unwrap();
        assert_eq!(why(&project), "");
        fs::write(project.join(".git/sharedindex.0a"), index(2, NAME)).unwrap();
        assert!(why(&project).contains("git tracks it"));
        fs::remove_dir_all(project.join(".git")).unwrap();
        assert_eq!(why(&project), "");

        fs::create_dir(temp.path().join(".git")).unwrap();
        fs::write(temp.path().join(".git/index"), index(2, &format!("shop/{NAME}"))).unwrap();
        assert!(why(&project).contains("git tracks it"), "in a folder of the work tree");
        fs::write(project.join(".git"), "gitdir: ../git\n").unwrap();
        fs::remove_dir_all(temp.path().join(".git")).unwrap();
        fs::create_dir(temp.path().join("git")).unwrap();
        fs::write(temp.path().join("git/index"), index(2, NAME)).unwrap();
        assert!(why(&project).contains("git tracks it"), "in a linked work tree");
        fs::remove_file(project.join(".git")).unwrap();

        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(why(&project).contains("others can write it"));
        fs::remove_file(&file).unwrap();
        symlink("/etc/passwd", &file).unwrap();
        assert!(why(&project).contains("a link"));
    }

    #[test]
    fn a_file_in_a_folder_of_the_project_is_read_with_those_beside_it_only_if_all_are_ones_own() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("shop");
        let folder = project.join(".crush");
        fs::create_dir_all(&folder).unwrap();
        assert!(of_project(&project).is_empty(), "a folder alone");
        let [file, log] = ["crush.db", "crush.db-wal"].map(|name| folder.join(name));
        fs::write(&file, "x").unwrap();
        fs::write(&log, "x").unwrap();
        fs::write(folder.join("crush.db-shm"), "x").unwrap();
        let root = Root { agent: Agent::Crush, projects: folder.clone() };
        assert_eq!(of_project(&project), [(file, root, Ok(()))]);

        fs::create_dir(project.join(".git")).unwrap();
        for (name, expected) in [(".crush/crush.db", true), (".crush/crush.db-wal", true), ("crush.db", false)] {
            fs::write(project.join(".git/index"), index(2, name)).unwrap();
            assert_eq!(why(&project).contains("git tracks it"), expected, "{name}");
        }
        fs::remove_dir_all(project.join(".git")).unwrap();

        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(why(&project).contains("its folder: others can write it"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(why(&project), "");
        fs::remove_file(&log).unwrap();
        symlink("/etc/passwd", &log).unwrap();
        assert!(why(&project).contains("a link"), "beside it");
        fs::remove_file(&log).unwrap();
        fs::rename(&folder, temp.path().join("elsewhere")).unwrap();
        symlink(temp.path().join("elsewhere"), &folder).unwrap();
        assert!(why(&project).contains("its folder is a link"));
    }
}
