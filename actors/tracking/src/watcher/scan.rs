//! Finds transcripts by name and `stat`, without reading content, and the sessions in files with many.
//!
//! # Hazards
//!
//! - Links to files and folders are followed, even out of a root; circles end. Folders named `*.jsonl` are
//!   skipped, pipes and devices reported. A transcript whose name starts with `memory:` belongs to no session.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use baton_conversation::printable::printable_char;
use baton_conversation::transcript;
use baton_events::session::FileIdentity;

use baton_base::limits;
use baton_base::transcript_file;
use baton_base::transcript_file::{FileSeen, FileStat};
use baton_base::transcript_root::Root;
use baton_store::store_file;

/// Limit of unreachable paths that are listed, as further ones look alike; also the limit of listed unusable ones.
const UNREACHABLE_MAX: usize = 20;

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(super) files: Vec<FileSeen>,
    pub(super) unreachable: Vec<String>,
    pub(super) left_out: u64,
    /// Folders and transcripts that no session can be read from, the first ones, lossily printed.
    pub(super) unusable: Vec<Unusable>,
    /// Total number of those.
    pub(super) unusable_count: u64,
    /// Files that can be changed through another path, which notification does not report below this root.
    pub(super) elsewhere: BTreeSet<PathBuf>,
    /// True if a folder is reached through a link: its changes are not reported under this path.
    pub(super) linked: bool,
    /// Files with many sessions that are unknown, each with the reason.
    pub(super) unread_stores: BTreeMap<PathBuf, String>,
    /// Modification times of each root and its folders, taken before they were read.
    pub(super) stamps: Stamps,
    counted: Arc<AtomicU64>,
}

/// A transcript, or a folder of such, that no session can be read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Its path, lossily printed.
    pub path: String,
    /// The reason, from a fixed list.
    pub why: &'static str,
}

const NO_TEXT: &str = "its name is not UTF-8";
const NO_ID: &str = "a name in its path is not a valid session name";
const NO_FILE: &str = "it is not a regular file";

/// Modification times of folders; a newer one means that an entry was added or removed.
pub(super) type Stamps = BTreeMap<PathBuf, Option<SystemTime>>;

/// Scans every root. A missing root has no transcripts.
pub(super) fn everything(roots: &[Root]) -> Scan {
    counted(roots, Arc::default())
}

/// Like [`everything`], and counts the transcripts as it finds them.
pub(super) fn counted(roots: &[Root], counted: Arc<AtomicU64>) -> Scan {
    let mut scan = Scan { counted, ..Scan::default() };
    for root in roots {
        let mut visited = BTreeSet::new();
        if root.projects.to_str().is_none() && root.projects.is_dir() {
            scan.unusable(&root.projects, NO_TEXT);
            continue;
        }
        walk(root, &root.projects, root.depth(), &mut visited, &mut scan);
    }
    scan
}

/// Scans a folder of a root.
pub(super) fn below(roots: &[Root], folder: &Path) -> Scan {
    let mut scan = Scan::default();
    for root in roots {
        if let Ok(path) = folder.strip_prefix(&root.projects)
            && let depth @ 1.. = root.depth().saturating_sub(path.components().count())
        {
            let is_link = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            scan.linked |= is_link && folder.is_dir();
            if folder.is_dir() && path.iter().all(|name| worth_entering(root, Path::new(name))) {
                walk(root, folder, depth, &mut BTreeSet::new(), &mut scan);
            }
        }
    }
    scan
}

/// The file with many sessions that a path belongs to, with its root: the path of the file itself, of one that SQLite
/// keeps beside it or of a session in it.
pub(super) fn store_of<'r>(roots: &'r [Root], path: &Path) -> Option<(&'r Root, PathBuf)> {
    roots.iter().find_map(|root| {
        let store = PathBuf::from(transcript::store_file(root.agent, path.to_str()?)?);
        let is_below = match transcript::session_file(root.agent) {
            Some(_) => store.parent() == Some(&root.projects),
            None => store.starts_with(&root.projects),
        };
        is_below.then_some((root, store))
    })
}

/// Looks at one file with many sessions.
pub(super) fn sessions_in(root: &Root, store: &Path) -> Scan {
    let mut scan = Scan::default();
    scan.store(root, store);
    scan
}

/// The transcript that a file belongs to: itself, or the one that it holds a message of.
pub(super) fn transcript_of(roots: &[Root], path: PathBuf) -> PathBuf {
    let of_message = |root: &Root| {
        path.starts_with(&root.projects)
            .then(|| transcript::of_message(root.agent, path.to_str()?).map(PathBuf::from))?
    };
    roots.iter().find_map(of_message).unwrap_or(path)
}

/// Looks at one path.
pub(super) fn one(roots: &[Root], path: &Path) -> Option<FileSeen> {
    roots.iter().find_map(|root| see(root, path)).map(|(file, _)| file)
}

/// Returns the folders whose modification time differs from the recorded one.
pub(super) fn changed(stamps: &Stamps) -> Vec<PathBuf> {
    let is_changed = |(folder, stamp): &(&PathBuf, &Option<SystemTime>)| stamp_of(folder) != **stamp;
    stamps.iter().filter(is_changed).map(|(folder, _)| folder.clone()).collect()
}

fn stamp_of(folder: &Path) -> Option<SystemTime> {
    fs::metadata(folder).and_then(|metadata| metadata.modified()).ok()
}

fn walk(root: &Root, directory: &Path, depth: usize, visited: &mut BTreeSet<(u64, u64)>, scan: &mut Scan) {
    if let Some(file) = transcript::session_file(root.agent) {
        return scan.store(root, &directory.join(file.name));
    }
    let layout = transcript::layout(root.agent);
    if depth + 1 >= root.depth() {
        scan.stamps.insert(directory.to_owned(), stamp_of(directory));
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => return scan.unreachable(directory, &error.to_string()),
    };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        let is_directory = match kind.is_symlink() {
            true => path.is_dir(),
            false => kind.is_dir(),
        };
        let name = entry.file_name();
        if name.to_str().is_none() {
            let is_wanted = match is_directory {
                true => depth > 1,
                false => layout.may_be_transcript(&name.to_string_lossy()),
            };
            if is_wanted {
                scan.unusable(&path, NO_TEXT);
            }
            continue;
        }
        let is_tree = || path.to_str().is_some_and(|path| transcript::tree(root.agent, path).is_some());
        if is_directory && is_tree() {
            // What changes below it is not announced.
            scan.elsewhere.insert(path.clone());
            scan.store(root, &path);
        } else if is_directory {
            scan.linked |= kind.is_symlink();
            if depth > 1 && worth_entering(root, &path) && is_new(&path, kind.is_symlink(), visited) {
                walk(root, &path, depth - 1, visited, scan);
            }
        } else if let Some((root, store)) = store_of(std::slice::from_ref(root), &path) {
            if store == path {
                scan.store(root, &store);
            }
        } else if name.to_str().is_some_and(|name| layout.may_be_transcript(name)) {
            match see(root, &path) {
                Some(_) if scan.files.len() >= limits::TRANSCRIPTS => scan.left_out += 1,
                Some((file, names)) => {
                    if kind.is_symlink() || names > 1 {
                        scan.elsewhere.insert(path);
                    }
                    scan.counted.fetch_add(1, Ordering::Relaxed);
                    scan.files.push(file);
                }
                None => why_not(root, &path).into_iter().for_each(|why| scan.unusable(&path, why)),
            }
        }
    }
}

impl Scan {
    /// Adds the result of another root.
    pub(super) fn add(&mut self, other: Self) {
        let room = limits::TRANSCRIPTS.saturating_sub(self.files.len());
        self.left_out += other.left_out + other.files.len().saturating_sub(room) as u64;
        match self.files.is_empty() {
            true => self.files = other.files,
            false => self.files.extend(other.files.into_iter().take(room)),
        }
        self.unreachable.extend(other.unreachable);
        self.unreachable.truncate(UNREACHABLE_MAX);
        self.unusable.extend(other.unusable);
        self.unusable.truncate(UNREACHABLE_MAX);
        self.unusable_count += other.unusable_count;
        self.elsewhere.extend(other.elsewhere);
        self.linked |= other.linked;
        self.unread_stores.extend(other.unread_stores);
        self.stamps.extend(other.stamps);
    }

    /// Adds the sessions in a file with many.
    fn store(&mut self, root: &Root, store: &Path) {
        let sessions = match store_file::sessions(root.agent, store) {
            Ok(sessions) => sessions,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                self.unread_stores.insert(store.to_owned(), error.to_string());
                return;
            }
        };
        for session in &*sessions {
            let Some(located) = root.classify(Path::new(&session.path)) else { continue };
            if self.files.len() >= limits::TRANSCRIPTS {
                self.left_out += 1;
                continue;
            }
            self.counted.fetch_add(1, Ordering::Relaxed);
            self.files.push(FileSeen {
                session: located.session,
                agent: root.agent,
                kind: located.kind,
                path: session.path.as_str().into(),
                stat: session.stat,
                identity: session.identity,
            });
        }
    }

    /// Paths that were not scanned, with the reason.
    pub(super) fn unread(&self) -> Vec<String> {
        let stores = self.unread_stores.iter().map(|(path, why)| format!("{}: {why}", path.display()));
        self.unreachable.iter().cloned().chain(stores).collect()
    }

    fn unreachable(&mut self, path: &Path, reason: &str) {
        if self.unreachable.len() < UNREACHABLE_MAX {
            self.unreachable.push(format!("{}: {reason}", path.display()));
        }
    }

    fn unusable(&mut self, path: &Path, why: &'static str) {
        self.unusable_count += 1;
        if self.unusable.len() < UNREACHABLE_MAX {
            let path = path.display().to_string().chars().map(printable_char).collect();
            self.unusable.push(Unusable { path, why });
        }
    }
}

/// False for folders that agents use for other things.
fn worth_entering(root: &Root, path: &Path) -> bool {
    let passed_over = transcript::layout(root.agent).passed_over;
    !path.file_name().is_some_and(|name| passed_over.iter().any(|other| name == *other))
}

/// Returns false for a link to a folder already visited: links may form a circle, or lead to a folder that is also
/// reached directly.
fn is_new(path: &Path, is_link: bool, visited: &mut BTreeSet<(u64, u64)>) -> bool {
    if !is_link {
        return true;
    }
    match fs::metadata(path).map(|metadata| transcript_file::identity(&metadata)) {
        Ok(identity) if identity != FileIdentity::default() => visited.insert((identity.device, identity.inode)),
        _ => false,
    }
}

/// Why a transcript cannot be read, if that is what lies at `path`. A link to nothing is none.
fn why_not(root: &Root, path: &Path) -> Option<&'static str> {
    if root.classify(path).is_none() {
        return root.is_misnamed(path).then_some(NO_ID);
    }
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()).then_some(NO_FILE)
}

/// Returns the file at `path` if it is a transcript of this root, with its number of hard links. Accepts only regular
/// files: opening a pipe would block for ever.
fn see(root: &Root, path: &Path) -> Option<(FileSeen, u64)> {
    let located = root.classify(path)?;
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let path_text = transcript_file::path_text(path)?;
    // Skip the other form of a transcript as long as the plain one exists.
    if transcript::plain(root.agent, &path_text).is_some_and(|plain| Path::new(&plain).is_file()) {
        return None;
    }
    let file = FileSeen {
        session: located.session,
        agent: root.agent,
        kind: located.kind,
        path: path_text.into(),
        stat: FileStat::of_transcript(root.agent, path, &metadata),
        identity: transcript_file::identity(&metadata),
    };
    Some((file, transcript_file::link_count(&metadata)))
}
