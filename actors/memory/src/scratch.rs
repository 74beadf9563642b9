//! The arrays that a query fills with the scores of all turns, kept for the next one.
//!
//! They are indexed by [slot](super::turn_table), in blocks of [`BLOCK`] slots: [`NEIGHBOURS`] empty slots, all blocks,
//! and [`NEIGHBOURS`] empty slots.

use std::ops::Range;

use tantivy::Score;

/// Number of turns on each side that belong to a turn's context.
pub(super) const NEIGHBOURS: usize = 2;
/// Slots that are scored together.
pub(super) const BLOCK: usize = 16;
/// Slots of a block with their neighbours.
pub(super) const WINDOW: usize = BLOCK + 2 * NEIGHBOURS;

/// Arrays for the scores of one query. All values are 0 while no query uses it.
#[derive(Default)]
pub(super) struct Scratch {
    /// By slot.
    pub(super) scores: Vec<Score>,
    /// Frequencies of one token, by slot.
    pub(super) frequencies: Vec<Score>,
    /// Its frequencies in contexts, by touched block.
    pub(super) contexts: Vec<[Score; BLOCK]>,
    /// Blocks in which a context has the token.
    pub(super) touched: Blocks,
    /// Blocks with scores.
    pub(super) scored: Blocks,
}

impl Scratch {
    /// For a table of so many slots.
    pub(super) fn new(slots: usize) -> Self {
        let blocks = (slots - 2 * NEIGHBOURS) / BLOCK;
        Self {
            scores: vec![0.0; slots],
            frequencies: vec![0.0; slots],
            contexts: Vec::new(),
            touched: Blocks::new(blocks),
            scored: Blocks::new(blocks),
        }
    }

    /// Forgets the scores. False if a query broke while it noted a token.
    pub(super) fn clear(&mut self) -> bool {
        let Self { scores, scored, .. } = self;
        scored.iter().for_each(|block| in_block_mut(scores, block).fill(0.0));
        scored.0.fill(0);
        self.touched.iter().next().is_none()
    }
}

/// A set of blocks.
#[derive(Default)]
pub(super) struct Blocks(Vec<u64>);

impl Blocks {
    fn new(blocks: usize) -> Self {
        Self(vec![0; blocks.div_ceil(64)])
    }

    pub(super) fn add(&mut self, block: usize) {
        self.0[block / 64] |= 1 << (block % 64);
    }

    /// Moves all into another set.
    pub(super) fn move_into(&mut self, other: &mut Self) {
        self.0.iter_mut().zip(&mut other.0).for_each(|(from, into)| *into |= std::mem::take(from));
    }

    /// Ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// The slots of a block.
pub(super) fn slots(block: usize) -> Range<usize> {
    let first = NEIGHBOURS + block * BLOCK;
    first..first + BLOCK
}

/// The slots of a block with their neighbours.
pub(super) fn window<T>(by_slot: &[T], block: usize) -> &[T; WINDOW] {
    let window = by_slot[block * BLOCK..].first_chunk();
    window.expect("a table ends with the neighbours of its last block")
}

pub(super) fn in_block<T>(by_slot: &[T], block: usize) -> &[T; BLOCK] {
    by_slot[slots(block)].first_chunk().expect("a table consists of whole blocks")
}

pub(super) fn in_block_mut<T>(by_slot: &mut [T], block: usize) -> &mut [T; BLOCK] {
    by_slot[slots(block)].first_chunk_mut().expect("a table consists of whole blocks")
}
