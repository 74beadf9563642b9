//! Vectors in memory, stored in blocks, so that adding one never moves the others.

use std::collections::{HashMap, HashSet};

use super::Key;
use super::quantised::{self, product, width};

/// Number of vectors in a block.
const BLOCK: usize = 4096;

/// All vectors of one model.
#[derive(Default)]
pub(super) struct Rows {
    /// Bytes per vector; 0 while there is none.
    width: usize,
    dimensions: usize,
    blocks: Vec<Vec<i8>>,
    /// Value of one unit of a component, for each vector.
    worths: Vec<f32>,
    keys: Vec<Key>,
    by_key: HashMap<Key, u32>,
    /// Incremented whenever vectors change their places.
    pub(super) epoch: u64,
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { width: width(dimensions), dimensions, ..Self::default() }
    }

    /// Components per vector; 0 while not known.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.len() * (self.width + size_of::<Key>() + size_of::<f32>())
    }

    /// Index of a text's vector.
    pub(super) fn place(&self, key: Key) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Keys of the vectors from index `from` on.
    pub(super) fn keys_from(&self, from: usize) -> &[Key] {
        self.keys.get(from..).unwrap_or_default()
    }

    /// Adds a quantised vector, unless its text has one.
    pub(super) fn push(&mut self, key: Key, worth: f32, components: &[i8]) {
        debug_assert_eq!(components.len(), self.width);
        let Ok(place) = u32::try_from(self.keys.len()) else { return };
        if components.len() != self.width || self.by_key.contains_key(&key) {
            return;
        }
        if self.keys.len().is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK * self.width));
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.extend_from_slice(components);
        self.worths.push(worth);
        self.keys.push(key);
        self.by_key.insert(key, place);
    }

    /// The vector at an index.
    pub(super) fn row(&self, place: usize) -> Option<(Key, f32, &[i8])> {
        let block = self.blocks.get(place / BLOCK)?;
        let from = place % BLOCK * self.width;
        Some((*self.keys.get(place)?, *self.worths.get(place)?, block.get(from..from + self.width)?))
    }

    /// Number of vectors of texts that are not in `live`.
    pub(super) fn count_dead(&self, live: &HashSet<Key>) -> usize {
        self.keys.iter().filter(|key| !live.contains(key)).count()
    }

    /// A copy with only the vectors of texts in `live`, at new indexes.
    pub(super) fn retained(&self, live: &HashSet<Key>) -> Self {
        let mut retained = Self { epoch: self.epoch + 1, ..Self::new(self.dimensions) };
        for (key, worth, components) in (0..self.len()).filter_map(|place| self.row(place)) {
            if live.contains(&key) {
                retained.push(key, worth, components);
            }
        }
        retained
    }

    /// Cosine of each vector with a query's. Reads every byte once, in order.
    pub(super) fn cosines(&self, asked: &[i16], asked_worth: f32) -> Vec<f32> {
        let mut cosines = Vec::with_capacity(self.len());
        if self.width == 0 || asked.len() != self.width {
            return cosines;
        }
        for (block, worths) in self.blocks.iter().zip(self.worths.chunks(BLOCK)) {
            let products = block.chunks_exact(self.width).map(|row| product(row, asked));
            cosines.extend(products.zip(worths).map(|(product, worth)| product as f32 * worth * asked_worth));
        }
        cosines
    }
}

/// Quantises vectors from the endpoint; those without direction are left out.
pub(super) fn quantise(given: &[(Key, Vec<f32>)]) -> Vec<(Key, f32, Vec<i8>)> {
    given
        .iter()
        .filter_map(|(key, vector)| {
            let mut components = Vec::with_capacity(width(vector.len()));
            let worth = quantised::quantise_into(vector, &mut components)?;
            Some((*key, worth, components))
        })
        .collect()
}
