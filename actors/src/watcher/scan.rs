//! Finding transcripts: names and `stat`, never content.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_events::session::FileIdentity;
use baton_events::transcript;

use super::Root;
use crate::files::{self, FileSeen, FileStat};
use crate::limits;

/// Deepest folder below a root that holds transcripts: `<slug>/<session>/subagents/workflows/<run>/`.
const DEPTH: usize = 6;
/// Unreachable paths that are named; further ones look alike.
const UNREACHABLE_MAX: usize = 20;

/// What one look at everything found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) files: Vec<FileSeen>,
    pub(super) transcripts: u64,
    pub(super) unreachable: Vec<String>,
    pub(super) left_out: u64,
}

/// Looks at every root. A root that is not there has no transcripts.
pub(super) fn everything(roots: &[Root]) -> Scan {
    let mut scan = Scan::default();
    for root in roots {
        let mut visited = BTreeSet::new();
        walk(root, &root.projects, DEPTH, &mut visited, &mut scan);
    }
    scan
}

/// Looks at some paths.
pub(super) fn some(roots: &[Root], paths: &[PathBuf]) -> Vec<FileSeen> {
    paths.iter().filter_map(|path| roots.iter().find_map(|root| see(root, path))).collect()
}

fn walk(root: &Root, directory: &Path, depth: usize, visited: &mut BTreeSet<(u64, u64)>, scan: &mut Scan) {
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
        if is_directory {
            if depth > 1 && worth_entering(&path) && is_new(&path, kind.is_symlink(), visited) {
                walk(root, &path, depth - 1, visited, scan);
            }
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            match see(root, &path) {
                Some(_) if scan.files.len() >= limits::TRANSCRIPTS => scan.left_out += 1,
                Some(file) => scan.files.push(file),
                None => {}
            }
        }
    }
}

impl Scan {
    fn unreachable(&mut self, path: &Path, reason: &str) {
        if self.unreachable.len() < UNREACHABLE_MAX {
            self.unreachable.push(format!("{}: {reason}", path.display()));
        }
    }
}

/// Folders that agents fill with other things.
fn worth_entering(path: &Path) -> bool {
    !path.file_name().is_some_and(|name| name == "tool-results" || name == "memory")
}

/// A link may lead in a circle, or to a folder that is also found directly.
fn is_new(path: &Path, is_link: bool, visited: &mut BTreeSet<(u64, u64)>) -> bool {
    if !is_link {
        return true;
    }
    match fs::metadata(path).map(|metadata| files::identity(&metadata)) {
        Ok(identity) if identity != FileIdentity::default() => visited.insert((identity.device, identity.inode)),
        _ => false,
    }
}

/// The file at `path`, if it is a transcript of this root. Only regular files: opening a pipe would wait for ever.
fn see(root: &Root, path: &Path) -> Option<FileSeen> {
    let below = path.strip_prefix(&root.projects).ok()?.to_str()?;
    let below = if cfg!(windows) { below.replace('\\', "/") } else { below.to_owned() };
    let located = transcript::classify(root.agent, &below)?;
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    Some(FileSeen {
        session: located.session,
        agent: root.agent,
        kind: located.kind,
        path: files::text(path)?,
        stat: FileStat::of(&metadata),
        identity: files::identity(&metadata),
    })
}
