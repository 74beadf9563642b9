//! Vectors in memory, stored in blocks, so that adding one never moves the others. Quantised: each component is a byte,
//! relative to the largest; the vector has length 1.

use std::collections::{HashMap, HashSet};

use super::Key;

/// Number of vectors in a block.
const BLOCK: usize = 4096;
/// Largest component of a stored vector.
const LARGEST: f32 = 127.0;
/// Largest component of a query's vector, which is finer. A product of [`super::MAX_DIMENSIONS`] components still fits
/// into 32 bits.
const LARGEST_QUERY: f32 = 1023.0;
/// Lengths are rounded up to a multiple of this, so that products have no remainder.
const LANES: usize = 16;

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
            let worth = quantise_into(vector, &mut components)?;
            Some((*key, worth, components))
        })
        .collect()
}

/// Length of a stored vector, in bytes.
pub(super) fn width(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// Appends a vector's components to `out`, padded with zeros, and returns the value of one unit. `None` for a vector
/// without direction (all zeros, or not finite); then nothing is appended.
fn quantise_into(vector: &[f32], out: &mut Vec<i8>) -> Option<f32> {
    let (factor, worth) = scale(vector, LARGEST)?;
    out.extend(vector.iter().map(|component| (component * factor).round() as i8));
    out.resize(out.len() + width(vector.len()) - vector.len(), 0);
    Some(worth)
}

/// Quantises a query's vector.
pub(super) fn quantise_query(vector: &[f32]) -> Option<(Vec<i16>, f32)> {
    let (factor, worth) = scale(vector, LARGEST_QUERY)?;
    let mut components: Vec<i16> = vector.iter().map(|component| (component * factor).round() as i16).collect();
    components.resize(width(vector.len()), 0);
    Some((components, worth))
}

/// The factor that scales the greatest component to `largest`, and the value of one unit in a vector of length 1.
fn scale(vector: &[f32], largest: f32) -> Option<(f32, f32)> {
    let most = vector.iter().fold(0.0_f32, |most, component| most.max(component.abs()));
    if !most.is_finite() || most < f32::MIN_POSITIVE || vector.iter().any(|component| !component.is_finite()) {
        return None;
    }
    // Divides first: squares of the largest floats would overflow.
    let length = vector.iter().map(|component| (component / most).powi(2)).sum::<f32>().sqrt();
    let factor = largest / most;
    factor.is_finite().then_some((factor, 1.0 / (largest * length)))
}

/// Dot product of a stored vector and a query's vector.
fn product(row: &[i8], asked: &[i16]) -> i32 {
    // Fixed-size arrays let the compiler vectorise the loop.
    let (rows, asked) = (row.as_chunks::<LANES>().0, asked.as_chunks::<LANES>().0);
    let some = |(row, asked): (&[i8; LANES], &[i16; LANES])| -> i32 {
        row.iter().zip(asked).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum()
    };
    rows.iter().zip(asked).map(some).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &[f32], other: &[f32]) -> f32 {
        let mut row = Vec::new();
        let worth = quantise_into(one, &mut row).unwrap();
        let (asked, asked_worth) = quantise_query(other).unwrap();
        assert_eq!((row.len(), asked.len()), (width(one.len()), width(other.len())));
        product(&row, &asked) as f32 * worth * asked_worth
    }

    #[test]
    fn angles_are_kept() {
        let check = |one: &[f32], other: &[f32]| {
            let length = |vector: &[f32]| vector.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
            let product: f64 = one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let expected = product / length(one) / length(other);
            assert!((f64::from(cosine(one, other)) - expected).abs() < 0.01, "{one:?} {other:?}");
        };
        check(&[1.0], &[1.0]);
        check(&[1.0, 0.0], &[0.0, 1.0]);
        check(&[3.0, -4.0, 0.5], &[-3.0, 4.0, 0.1]);
        check(&[1e-30, 2e-30], &[2e30, 1e30]);
        let wave = |step: f32| (0..384).map(|at| (at as f32 * step).sin()).collect::<Vec<f32>>();
        check(&wave(0.3), &wave(0.31));
        check(&wave(0.3), &wave(0.7));
    }

    #[test]
    fn what_has_no_direction_is_no_vector() {
        for vector in [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![1.0, f32::INFINITY], vec![1e-44]] {
            let mut row = Vec::new();
            assert_eq!((quantise_into(&vector, &mut row), row.len()), (None, 0), "{vector:?}");
            assert_eq!(quantise_query(&vector), None);
        }
    }

    #[test]
    fn the_longest_vectors_do_not_overflow() {
        let ones = vec![1.0; super::super::MAX_DIMENSIONS];
        assert!((cosine(&ones, &ones) - 1.0).abs() < 0.01);
    }
}
