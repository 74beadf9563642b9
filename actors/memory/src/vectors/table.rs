//! The vectors of the model in use: in memory to be read, in its file to be kept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};

use super::places::{self, Places};
use super::rows::{Rows, quantise};
use super::{Error, Key, MAX_BYTES, MAX_DIMENSIONS, Model, file};
use crate::snapshot::Snapshot;

/// Vectors of one model.
pub struct Table {
    model: Model,
    path: PathBuf,
    rows: RwLock<Rows>,
    writing: Mutex<Writing>,
    /// Where the vectors of each segment's documents are, as far as it was looked.
    places: Mutex<places::Known>,
}

/// Held by whoever changes the file.
struct Writing {
    /// Where the last whole frame ends; `None`: there is no file yet.
    end: Option<u64>,
    /// How often vectors were taken out.
    kept: u64,
}

impl Table {
    pub(super) fn open(path: &Path, model: &Model) -> Result<Self, Error> {
        let asked = model.dimensions;
        let found = file::read(path, Some(&model.name))?
            .filter(|found| asked.is_none_or(|asked| found.rows.dimensions() == asked));
        if let Some(found) = found.as_ref().filter(|found| found.lost > 0) {
            tracing::warn!(
                bytes = found.lost,
                vectors = found.rows.len(),
                "part of the vectors is not readable, and made again"
            );
        }
        let (rows, end) = found.map_or((Rows::default(), None), |found| (found.rows, Some(found.end)));
        Ok(Self {
            model: model.clone(),
            path: path.to_owned(),
            rows: RwLock::new(rows),
            writing: Mutex::new(Writing { end, kept: 0 }),
            places: Mutex::default(),
        })
    }

    /// What made them.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Their file, which is there once there is a vector.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows().len()
    }

    /// How many components each has; `None` while there is none.
    pub fn dimensions(&self) -> Option<usize> {
        Some(self.rows().dimensions()).filter(|dimensions| *dimensions > 0)
    }

    /// Bytes that they take in memory.
    pub fn bytes(&self) -> usize {
        self.rows().bytes()
    }

    /// Whether a text has one.
    pub fn holds(&self, key: Key) -> bool {
        self.rows().place(key).is_some()
    }

    /// How often vectors were taken out, up to now: what [`add`](Self::add) asks for.
    pub fn kept(&self) -> u64 {
        self.writing().kept
    }

    /// Adds vectors, durably. `kept` is what [`kept`](Self::kept) was before it was looked which texts are live: if vectors were
    /// taken out since then, nothing is added and the answer is `false`, for some of these texts may be gone. What has
    /// no direction is left out, and whoever has one already keeps it.
    ///
    /// # Errors
    ///
    /// When they have another length than those that are there, or cannot be written; then none is added.
    pub fn add(&self, given: &[(Key, Vec<f32>)], kept: u64) -> Result<bool, Error> {
        let mut writing = self.writing();
        if writing.kept != kept {
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
            None => file::write(&self.path, &self.model.name, &Rows::of(held))?,
        };
        writing.end = Some(end);
        for rows in new.chunks(file::FRAME_ROWS) {
            let frame = file::frame(rows.iter().map(|(key, worth, components)| (*key, *worth, components.as_slice())));
            end = file::append(&self.path, end, &frame)?;
            writing.end = Some(end);
            let mut all = self.rows.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            if all.dimensions() == 0 {
                *all = Rows::of(held);
            }
            rows.iter().for_each(|(key, worth, components)| all.push(*key, *worth, components));
        }
        Ok(true)
    }

    /// How many vectors are of none of these texts.
    pub fn dead(&self, live: &HashSet<Key>) -> usize {
        self.rows().dead(live)
    }

    /// Whoever has looked which texts are live looks again before anything is added.
    pub(super) fn taking_out(&self) {
        self.writing().kept += 1;
    }

    /// Takes out what is of none of these texts, from memory and file. How many vectors that were.
    pub(super) fn keep(&self, live: &HashSet<Key>) -> Result<u64, Error> {
        let mut writing = self.writing();
        let dead = self.dead(live);
        let torn = writing.end.is_some_and(|end| self.path.metadata().is_ok_and(|found| found.len() != end));
        if dead == 0 && !torn {
            return Ok(0);
        }
        let kept = self.rows().kept(live);
        writing.end = Some(file::write(&self.path, &self.model.name, &kept)?);
        *self.rows.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = kept;
        Ok(dead as u64)
    }

    /// Where the vectors of the snapshot's documents are, by segment in its order.
    pub(super) fn places(&self, snapshot: &Snapshot, rows: &Rows) -> Vec<Arc<Places>> {
        let mut known = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        places::of_segments(&mut known, snapshot, rows)
    }

    pub(super) fn rows(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
