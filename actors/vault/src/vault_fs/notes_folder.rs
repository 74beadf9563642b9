//! The folder of notes: its id, and whether notes are there.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Place, is_link, is_missing};
use baton_base::durable;

/// What a folder of notes is known by wherever it is moved.
const ID: &str = ".baton.id";
/// Longest such that is read.
const ID_BYTES: u64 = 64;

impl Place {
    /// What the folder of notes is known by, also where it is moved; made where it is missing, for who has its [`Turn`]. `None`: it
    /// cannot be read or made.
    pub(crate) fn id(&self) -> Option<String> {
        let path = self.notes().join(ID);
        match fs::symlink_metadata(&path) {
            Err(error) if is_missing(&error) => {
                let id = fresh_id();
                durable::write_file(&path, id.as_bytes()).ok()?;
                Some(id)
            }
            _ => self.known_id(),
        }
    }

    /// The same where it is there and can be read.
    pub(crate) fn known_id(&self) -> Option<String> {
        let path = self.notes().join(ID);
        fs::symlink_metadata(&path).ok().filter(|found| found.is_file() && found.len() <= ID_BYTES)?;
        let text = fs::read_to_string(&path).ok()?;
        let id = text.trim();
        (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
    }

    /// Whether there are no notes any more: the folder is not there, or has nothing but what is hidden.
    pub(crate) fn is_gone(&self) -> bool {
        match fs::read_dir(self.notes()) {
            Ok(entries) => !entries.flatten().any(|entry| is_visible(&entry)),
            Err(error) => is_missing(&error),
        }
    }

    /// Whether the vault itself is there beyond doubt, whatever has become of the notes: it is the home's own, or holds something
    /// else that can be seen. A link may lead to a disk that is away, and hidden files lie below mounts, too.
    pub(crate) fn is_there(&self) -> bool {
        if self.is_own && !is_link(&self.named) {
            return true;
        }
        let top = self.root.split('/').next().unwrap_or_default();
        let is_other =
            |entry: fs::DirEntry| entry.file_name() != top && (is_visible(&entry) || entry.file_name() == ".obsidian");
        !top.is_empty() && fs::read_dir(&self.vault).is_ok_and(|entries| entries.flatten().any(is_other))
    }

    /// Whether anything is there that can be seen.
    pub(crate) fn is_filled(&self) -> bool {
        fs::read_dir(self.notes()).is_ok_and(|mut entries| entries.next().is_some())
    }
}

/// Whether there is anything in a folder that is not hidden.
pub(crate) fn has_visible(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| is_visible(&entry)))
}

fn is_visible(entry: &fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

/// An id that no other folder has.
fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Seeded by the system.
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), (std::process::id(), count));
    format!("{random:016x}{:024x}", now.as_nanos() & (u128::MAX >> 32))
}
