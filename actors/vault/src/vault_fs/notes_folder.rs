//! The folder of notes: its id, and whether notes are there.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{VaultFs, is_link, is_missing};
use baton_base::durable;

/// The file with the id of a folder of notes, which moves with it.
const ID: &str = ".baton.id";
/// Largest id that is read.
const ID_BYTES: u64 = 64;

impl VaultFs {
    /// Returns the id of the folder of notes; creates one if there is none. The caller holds the vault's lock. `None`
    /// if the id can be neither read nor created.
    pub(crate) fn ensure_id(&self) -> Option<String> {
        let path = self.notes_folder().join(ID);
        match fs::symlink_metadata(&path) {
            Err(error) if is_missing(&error) => {
                let id = fresh_id();
                durable::write_file(&path, id.as_bytes()).ok()?;
                Some(id)
            }
            _ => self.id(),
        }
    }

    /// Returns the id if there is one.
    pub(crate) fn id(&self) -> Option<String> {
        let path = self.notes_folder().join(ID);
        fs::symlink_metadata(&path).ok().filter(|found| found.is_file() && found.len() <= ID_BYTES)?;
        let text = fs::read_to_string(&path).ok()?;
        let id = text.trim();
        (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
    }

    /// True if there are no notes: the folder is missing or has only hidden files.
    pub(crate) fn is_gone(&self) -> bool {
        match fs::read_dir(self.notes_folder()) {
            Ok(entries) => !entries.flatten().any(|entry| is_visible(&entry)),
            Err(error) => is_missing(&error),
        }
    }

    /// True if the vault itself is certainly there, whether or not it has notes: it is the home's own, or contains
    /// something else that is visible. A link may lead to a disk that is away, and a mount point may contain hidden
    /// files.
    pub(crate) fn vault_exists(&self) -> bool {
        if self.is_own && !is_link(&self.named) {
            return true;
        }
        let top = self.root.split('/').next().unwrap_or_default();
        let is_other =
            |entry: fs::DirEntry| entry.file_name() != top && (is_visible(&entry) || entry.file_name() == ".obsidian");
        !top.is_empty() && fs::read_dir(&self.vault).is_ok_and(|entries| entries.flatten().any(is_other))
    }

    /// True if the folder of notes contains anything.
    pub(crate) fn has_entries(&self) -> bool {
        fs::read_dir(self.notes_folder()).is_ok_and(|mut entries| entries.next().is_some())
    }
}

/// True if the folder contains anything that is not hidden.
pub(crate) fn has_visible(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| is_visible(&entry)))
}

fn is_visible(entry: &fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

/// Returns a unique id.
fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // The system seeds this.
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), (std::process::id(), count));
    format!("{random:016x}{:024x}", now.as_nanos() & (u128::MAX >> 32))
}
