//! Vectors of what was said, one for each different text of a turn, as a model behind an endpoint makes them.
//!
//! They are paid for. So they lie in a folder of their own beside the memory, one file for each model, and a memory that
//! is built anew finds them there: a vector belongs to its text, whoever said it. A turn's document carries the key of its
//! text, and that is all that ties the two together.
//!
//! Promises: what [`Table::add`] has returned from survives a power cut; a torn or damaged part of a file costs the
//! vectors in it and no other; [`Vectors::keep`] leaves nothing in any file of a text that is not live; a question reads
//! vectors while others are added. All components are bytes: the angle between two vectors is off by less than a hundredth.
//!
//! # Hazards
//!
//! - A vector leaves the files when no stored turn has its text any more, judged by a memory that has the whole
//!   log. All vectors are held in memory, about 40 MB for 100,000 of 384 numbers; filling stops at 1 GB.

mod file;
mod meaning;
mod missing;
mod places;
mod quantised;
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

/// Characters of a turn that its vector is of: what a small model reads. Most turns are shorter.
pub const PASSAGE_CHARS: usize = 2_000;
/// Most components of a vector.
pub const MAX_DIMENSIONS: usize = 16_384;
/// Longest name of a model, in bytes.
const MODEL_BYTES: usize = 512;
/// Bytes of vectors that are held: 2.7 million of 384 components.
const MAX_BYTES: usize = 1 << 30;
/// Files of models that are looked at: nobody tries out more.
const MAX_FILES: usize = 64;
/// How the name of a file of vectors ends.
const EXTENSION: &str = "vectors";

/// What tells a text from all others, whoever says it.
pub type Key = u64;

/// What makes vectors; those of two models have nothing to do with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name, as the endpoint knows it.
    pub name: String,
    /// How many components were asked for; none: as many as it makes.
    pub dimensions: Option<usize>,
}

/// Why vectors could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The endpoint makes vectors of another length than those that are there.
    #[error("the endpoint gives {given} numbers for a text, and {held} before")]
    Dimensions {
        /// Before.
        held: usize,
        /// Now.
        given: usize,
    },
    /// There is no room for more.
    #[error("{} MB of vectors are held, and no more than that", MAX_BYTES >> 20)]
    Full,
    /// The model cannot be called so.
    #[error("the model's name is empty or longer than {MODEL_BYTES} bytes")]
    Name,
}

/// The folder of vectors. One owner of the home opens it; any thread may use it.
pub struct Vectors {
    dir: PathBuf,
    /// Those that are in use.
    current: RwLock<Option<Arc<Table>>>,
    /// Held by whoever changes which files there are.
    files: Mutex<()>,
}

impl Vectors {
    /// The vectors in `dir`, which need not be there. Nothing is read.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), current: RwLock::default(), files: Mutex::default() }
    }

    /// Those in use, if any are.
    pub fn current(&self) -> Option<Arc<Table>> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Uses the vectors of a model, or none. Reads its file, which is created if need be.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or created; none are in use then.
    pub fn select(&self, model: Option<&Model>) -> Result<Option<Arc<Table>>, Error> {
        let _files = self.files();
        let current = self.current();
        if let (Some(table), Some(model)) = (&current, model)
            && table.model() == model
        {
            return Ok(current);
        }
        self.put(None);
        let Some(model) = model else { return Ok(None) };
        if model.name.is_empty() || model.name.len() > MODEL_BYTES {
            return Err(Error::Name);
        }
        durable::create_private_folder(&self.dir).map_err(refused(&self.dir))?;
        let table = Arc::new(Table::open(&self.dir.join(file_name(model)), model)?);
        self.put(Some(table.clone()));
        Ok(Some(table))
    }

    /// Takes out of every file what is of no live text, which are asked for only where there are vectors. Nothing is written
    /// where nothing is to be taken out.
    ///
    /// # Errors
    ///
    /// When a file cannot be written anew: it holds what it held.
    pub fn keep(&self, live: impl FnOnce() -> HashSet<Key>) -> Result<u64, Error> {
        let _files = self.files();
        let (current, paths) = (self.current(), self.paths()?);
        if paths.is_empty() && current.is_none() {
            return Ok(0);
        }
        let live = &live();
        if let Some(table) = &current {
            table.taking_out();
        }
        let mut dropped = 0;
        for path in paths {
            dropped += match &current {
                Some(table) if table.path() == path => table.keep(live)?,
                _ => file::keep(&path, live)?,
            };
        }
        Ok(dropped)
    }

    /// Deletes the files of all models but the one in use; nothing where none is.
    ///
    /// # Errors
    ///
    /// When a file cannot be deleted.
    pub fn leave_others(&self) -> Result<u64, Error> {
        let _files = self.files();
        let Some(current) = self.current() else { return Ok(0) };
        let mut gone = 0;
        for path in self.paths()?.iter().filter(|path| **path != current.path()) {
            fs::remove_file(path).map_err(refused(path))?;
            gone += 1;
        }
        Ok(gone)
    }

    fn files(&self) -> MutexGuard<'_, ()> {
        self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn put(&self, table: Option<Arc<Table>>) {
        *self.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = table;
    }

    /// Files of vectors; also those that nobody has finished writing are no others' in this folder, and go.
    fn paths(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(refused(&self.dir))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(refused(&self.dir))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(durable::BEING_WRITTEN) {
                fs::remove_file(&path).map_err(refused(&path))?;
            } else if name.ends_with(EXTENSION) && paths.len() < MAX_FILES {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

/// The part of a turn's text that its vector is of; none where there is nothing to say.
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

/// One name for each model and number of components.
fn file_name(model: &Model) -> String {
    let asked = model.dimensions.map_or(String::new(), |dimensions| dimensions.to_string());
    let digest = Sha256::digest(format!("{}\n{asked}", model.name).as_bytes());
    format!("{:016x}.{EXTENSION}", first_word(&digest))
}

fn refused(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Disk { path, source }
}
