//! Vectors of what was said, one for each distinct text of a turn, computed by a model behind an endpoint.
//!
//! They cost money. So they are stored in a directory of their own beside the index, one file per model, and a rebuilt
//! index finds them there: a vector belongs to its text, whichever turn says it. A turn's document has the key of its
//! text, the only connection between the two.
//!
//! Guarantees: vectors for which [`Table::add`] has returned survive a power cut. A torn or damaged part of a file
//! costs the vectors in it and no others. [`Vectors::retain`] leaves nothing in any file of a text that is not live.
//! Queries read vectors while others are added. All components are bytes; the angle between two vectors is off by less
//! than a hundredth.
//!
//! # Hazards
//!
//! - A vector is removed from the files when no stored turn has its text any more; only an index that has applied the
//!   whole log may decide that. All vectors are held in memory, about 40 MB for 100,000 of 384 numbers; filling stops
//!   at 1 GB.

mod file;
mod meaning;
mod missing;
mod places;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use sha2::{Digest, Sha256};

use baton_base::durable;

pub(super) use meaning::Cosines;
pub use meaning::Meaning;
pub use missing::{Missing, Passage};
pub use table::Table;

/// Characters of a turn that its vector represents: as many as a small model reads. Most turns are shorter.
pub const PASSAGE_CHARS: usize = 2_000;
/// Maximum number of components of a vector.
pub const MAX_DIMENSIONS: usize = 16_384;
/// Maximum length of a model's name, in bytes.
const MODEL_BYTES: usize = 512;
/// Maximum bytes of vectors held: 2.7 million of 384 components.
const MAX_BYTES: usize = 1 << 30;
/// Maximum number of model files that are read; nobody tries out more.
const MAX_FILES: usize = 64;
/// Extension of a file of vectors.
const EXTENSION: &str = "vectors";

/// Identifies a text, whichever turn says it.
pub type Key = u64;

/// The model that computes vectors. Vectors of different models are unrelated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the model, as the endpoint knows it.
    pub name: String,
    /// Number of components to request; `None` for the model's default.
    pub dimensions: Option<usize>,
}

/// Errors of reading and storing vectors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The endpoint returns vectors of another length than the stored ones.
    #[error("the endpoint returned a vector of {given} numbers, the stored ones have {held}")]
    Dimensions {
        /// Length of the stored vectors.
        held: usize,
        /// Length of the returned vector.
        given: usize,
    },
    /// The limit of 1 GB is reached.
    #[error("the limit of {} MB of vectors is reached", MAX_BYTES >> 20)]
    Full,
    /// The model's name is not acceptable.
    #[error("the model's name is empty or longer than {MODEL_BYTES} bytes")]
    Name,
}

/// The directory of vectors. Opened by the one owner of the home; usable from any thread.
pub struct Vectors {
    dir: PathBuf,
    /// The vectors in use.
    current: RwLock<Option<Arc<Table>>>,
    /// Held while the set of files changes.
    files: Mutex<()>,
}

impl Vectors {
    /// The vectors in `dir`, which need not exist. Reads nothing.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), current: RwLock::default(), files: Mutex::default() }
    }

    /// The vectors in use, if any.
    pub fn current(&self) -> Option<Arc<Table>> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Switches to the vectors of a model, or to none. Reads the model's file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or the directory cannot be created; then no vectors are in use.
    pub fn select(&self, model: Option<&Model>) -> Result<Option<Arc<Table>>, Error> {
        let _files = self.lock_files();
        let current = self.current();
        if let (Some(table), Some(model)) = (&current, model)
            && table.model() == model
        {
            return Ok(current);
        }
        self.set_current(None);
        let Some(model) = model else { return Ok(None) };
        if model.name.is_empty() || model.name.len() > MODEL_BYTES {
            return Err(Error::Name);
        }
        durable::create_private_folder(&self.dir).map_err(io_error(&self.dir))?;
        let table = Arc::new(Table::open(&self.dir.join(file_name(model)), model)?);
        self.set_current(Some(table.clone()));
        Ok(Some(table))
    }

    /// Removes vectors of texts that are not live from all files; returns their number. Calls `live` only if there are
    /// vectors, and writes only if something is to be removed.
    ///
    /// # Errors
    ///
    /// When a file cannot be rewritten; it then keeps its contents.
    pub fn retain(&self, live: impl FnOnce() -> HashSet<Key>) -> Result<u64, Error> {
        let _files = self.lock_files();
        let (current, paths) = (self.current(), self.paths()?);
        if paths.is_empty() && current.is_none() {
            return Ok(0);
        }
        let live = &live();
        if let Some(table) = &current {
            table.announce_removal();
        }
        let mut dropped = 0;
        for path in paths {
            dropped += match &current {
                Some(table) if table.path() == path => table.retain(live)?,
                _ => file::retain(&path, live)?,
            };
        }
        Ok(dropped)
    }

    /// Deletes the files of all models except the one in use; does nothing if none is. Returns the number of files.
    ///
    /// # Errors
    ///
    /// When a file cannot be deleted.
    pub fn delete_others(&self) -> Result<u64, Error> {
        let _files = self.lock_files();
        let Some(current) = self.current() else { return Ok(0) };
        let mut gone = 0;
        for path in self.paths()?.iter().filter(|path| **path != current.path()) {
            fs::remove_file(path).map_err(io_error(path))?;
            gone += 1;
        }
        Ok(gone)
    }

    fn lock_files(&self) -> MutexGuard<'_, ()> {
        self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn set_current(&self, table: Option<Arc<Table>>) {
        *self.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = table;
    }

    /// Paths of the vector files. Deletes unfinished files; no other process writes in this directory.
    fn paths(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error(&self.dir))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error(&self.dir))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(durable::BEING_WRITTEN) {
                fs::remove_file(&path).map_err(io_error(&path))?;
            } else if name.ends_with(EXTENSION) && paths.len() < MAX_FILES {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

/// The part of a turn's text that its vector represents; `None` if it has no letter or digit.
pub fn passage(text: &str) -> Option<&str> {
    let text = text.trim();
    let end = text.char_indices().nth(PASSAGE_CHARS).map_or(text.len(), |(at, _)| at);
    Some(text[..end].trim_end()).filter(|text| text.chars().any(char::is_alphanumeric))
}

/// The key of a passage.
pub fn key(passage: &str) -> Key {
    first_word(&Sha256::digest(passage.as_bytes()))
}

fn first_word(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The file name, unique to the model and the requested number of components.
fn file_name(model: &Model) -> String {
    let asked = model.dimensions.map_or(String::new(), |dimensions| dimensions.to_string());
    let digest = Sha256::digest(format!("{}\n{asked}", model.name).as_bytes());
    format!("{:016x}.{EXTENSION}", first_word(&digest))
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Disk { path, source }
}
