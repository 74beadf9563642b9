//! The vectors of the model in use: in memory for reading, and in their file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};

use super::places::{KnownPlaces, Places, places_in};
use super::rows::{Rows, quantise};
use super::{Error, Key, MAX_BYTES, MAX_DIMENSIONS, Model, file};
use crate::snapshot::Snapshot;

/// Vectors of one model.
pub struct Table {
    model: Model,
    path: PathBuf,
    rows: RwLock<Rows>,
    writing: Mutex<Writing>,
    /// Cached places of the documents of each segment.
    places: Mutex<KnownPlaces>,
}

/// Held while the file changes.
struct Writing {
    /// End of the last intact frame; `None` if there is no file yet.
    end: Option<u64>,
    /// Number of times vectors were removed.
    removals: u64,
}

impl Table {
    pub(super) fn open(path: &Path, model: &Model) -> Result<Self, Error> {
        let is_of_it = |found: &file::Found| {
            found.model == model.name && model.dimensions.is_none_or(|asked| found.rows.dimensions() == asked)
        };
        let found = file::read(path)?.filter(is_of_it);
        if let Some(found) = found.as_ref().filter(|found| found.lost > 0) {
            tracing::warn!(
                bytes = found.lost,
                vectors = found.rows.len(),
                "part of the stored vectors is unreadable and will be computed again"
            );
        }
        let (rows, end) = found.map_or((Rows::default(), None), |found| (found.rows, Some(found.end)));
        Ok(Self {
            model: model.clone(),
            path: path.to_owned(),
            rows: RwLock::new(rows),
            writing: Mutex::new(Writing { end, removals: 0 }),
            places: Mutex::default(),
        })
    }

    /// The model that computed the vectors.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Path of their file, which exists once there is a vector.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of vectors.
    pub fn count(&self) -> usize {
        self.rows().len()
    }

    /// Components per vector; `None` while there is no vector.
    pub fn dimensions(&self) -> Option<usize> {
        Some(self.rows().dimensions()).filter(|dimensions| *dimensions > 0)
    }

    /// Bytes that the vectors take in memory.
    pub fn bytes(&self) -> usize {
        self.rows().bytes()
    }

    /// True if a text has a vector.
    pub fn holds(&self, key: Key) -> bool {
        self.rows().place(key).is_some()
    }

    /// Number of times vectors were removed so far, to pass to [`add`](Self::add).
    pub fn removals(&self) -> u64 {
        self.writing().removals
    }

    /// Adds vectors durably. `removals` is the value of [`removals`](Self::removals) from before the caller determined
    /// which texts are live. If vectors were removed since, returns `false` and adds nothing, as some of the texts may
    /// be gone. Vectors without direction are left out; texts that have a vector keep it.
    ///
    /// # Errors
    ///
    /// When a vector's length differs from the stored ones, when the limit is reached, or when the file cannot be
    /// written. After the last, vectors of frames already written stay.
    pub fn add(&self, given: &[(Key, Vec<f32>)], removals: u64) -> Result<bool, Error> {
        let mut writing = self.writing();
        if writing.removals != removals {
            return Ok(false);
        }
        let Some(length) = given.first().map(|(_, vector)| vector.len()) else { return Ok(true) };
        let held = self.dimensions().or(self.model.dimensions).unwrap_or(length);
        if let Some(other) = given.iter().map(|(_, vector)| vector.len()).find(|it| *it != held || *it > MAX_DIMENSIONS)
        {
            return Err(Error::Dimensions { held, given: other });
        }
        let mut new = quantise(given);
        new.retain(|(key, ..)| !self.holds(*key));
        if self.bytes() + new.len() * (held + 32) > MAX_BYTES {
            return Err(Error::Full);
        }
        let mut end = match writing.end {
            Some(end) => end,
            None => file::write(&self.path, &self.model.name, &Rows::new(held))?,
        };
        writing.end = Some(end);
        for rows in new.chunks(file::FRAME_ROWS) {
            let frame = file::frame(rows.iter().map(|(key, worth, components)| (*key, *worth, components.as_slice())));
            end = file::append(&self.path, end, &frame)?;
            writing.end = Some(end);
            let mut all = self.rows.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            if all.dimensions() == 0 {
                *all = Rows::new(held);
            }
            rows.iter().for_each(|(key, worth, components)| all.push(*key, *worth, components));
        }
        Ok(true)
    }

    /// Number of vectors of texts that are not in `live`.
    pub fn count_dead(&self, live: &HashSet<Key>) -> usize {
        self.rows().count_dead(live)
    }

    /// Announces a removal: callers that determined live texts before must do so again.
    pub(super) fn announce_removal(&self) {
        self.writing().removals += 1;
    }

    /// Removes vectors of texts that are not in `live` from memory and file; returns their number.
    pub(super) fn retain(&self, live: &HashSet<Key>) -> Result<u64, Error> {
        let mut writing = self.writing();
        let dead = self.count_dead(live);
        let torn = writing.end.is_some_and(|end| self.path.metadata().is_ok_and(|found| found.len() != end));
        if dead == 0 && !torn {
            return Ok(0);
        }
        let kept = self.rows().retained(live);
        writing.end = Some(file::write(&self.path, &self.model.name, &kept)?);
        *self.rows.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = kept;
        Ok(dead as u64)
    }

    /// Places of the vectors of the snapshot's documents, by segment in the snapshot's order.
    pub(super) fn places(&self, snapshot: &Snapshot, rows: &Rows) -> Vec<Arc<Places>> {
        let mut known = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        places_in(&mut known, snapshot, rows)
    }

    pub(super) fn rows(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
