//! The scores of all turns for one query: BM25 over a turn's body, and over its context, which is the body with its
//! neighbours; every word is optional.
//!
//! The context is not in the index. Its frequencies are those of the body's postings, joined by
//! [slot](super::turn_table): a turn's own, and those of the two turns on each side, of which each counts as at most 45
//! tokens.
//!
//! # Decisions
//!
//! - All postings of a word are read, with some nanoseconds each; block pruning prunes nothing where words are common.
//!   Slots are scored in blocks, of which the compiler makes vector instructions: a common word costs hardly more than
//!   as many slots.

use std::sync::PoisonError;

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocAddress, Score};

use super::query::{Plan, Wanted};
use super::required_terms::TurnFilter;
use super::scratch::{BLOCK, NEIGHBOURS, Scratch, WINDOW, in_block, in_block_mut, slots, window};
use super::snapshot::Snapshot;
use super::term_postings::TermPostings;
use super::turn_table::{K1, LiveRun, Norm, TurnTable, as_neighbour, idf};
use super::{Error, limits};

/// The scores of all turns for one query.
pub(super) struct TurnScores<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) table: &'a TurnTable,
    scratch: Scratch,
    /// True if the commonest words were left out, because together they are in too many turns.
    pub(super) is_bounded: bool,
}

impl<'a> TurnScores<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, plan: &Plan, filter: &TurnFilter) -> Result<Self, Error> {
        let table = snapshot.turn_table();
        let spare = table.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let scratch = spare.unwrap_or_else(|| Scratch::new(table.lengths.len()));
        let mut scores = Self { snapshot, table, scratch, is_bounded: false };
        let mut wanted: Vec<_> = plan.wanted.iter().collect();
        wanted.sort_by_key(|wanted| wanted.postings.frequency());
        let mut left = limits::QUERY_POSTINGS;
        for (number, Wanted { postings, boost, .. }) in wanted.into_iter().enumerate() {
            if postings.frequency() > left && number > 0 {
                scores.is_bounded = true;
                break;
            }
            left = left.saturating_sub(postings.frequency());
            scores.add(postings, *boost, !plan.stops_only)?;
        }
        // A turn may contain nothing of the query but a phrase of stop words.
        for stop in filter.stop_word_phrases() {
            scores.add(&TermPostings::find(snapshot, snapshot.fields.stops, stop)?, 1.0, false)?;
        }
        Ok(scores)
    }

    /// Adds the scores of one token.
    fn add(&mut self, token: &TermPostings, boost: Score, with_contexts: bool) -> Result<(), Error> {
        let mut postings = Vec::with_capacity(self.table.by_segment.len());
        for (segment, runs) in (0..).zip(&self.table.by_segment) {
            postings.extend(token.blocks(self.snapshot, segment)?.map(|postings| (&runs[..], postings)));
        }
        let (table, scratch) = (self.table, &mut self.scratch);
        let weight = |turns| boost * (1.0 + K1) * idf(turns, table.turns);
        let bodies = postings.into_iter().map(|(runs, postings)| scratch.note(runs, postings)).sum();
        let contexts = if with_contexts { scratch.join_contexts(table) } else { 0 };
        scratch.score(table, weight(bodies), weight(contexts));
        Ok(())
    }

    /// The score of a turn.
    pub(super) fn of(&self, address: DocAddress) -> Score {
        self.table.slot(address).map_or(0.0, |slot| self.at(slot))
    }

    /// The score of the turn in a slot.
    pub(super) fn at(&self, slot: u32) -> Score {
        self.scratch.scores[slot as usize]
    }

    /// Calls `offer` with each turn that has a score, by slot. It returns the score that later ones must exceed.
    pub(super) fn for_each(&self, mut offer: impl FnMut(Score, DocAddress) -> Score) {
        let (mut runs, mut threshold) = (self.table.by_slot.iter().peekable(), 0.0);
        for block in self.scratch.scored.iter() {
            let scores: &[Score; BLOCK] = in_block(&self.scratch.scores, block);
            if scores.iter().copied().fold(0.0, Score::max) <= threshold {
                continue;
            }
            for (slot, score) in (slots(block).start as u32..).zip(scores) {
                while runs.next_if(|run| run.end() <= slot).is_some() {}
                if let Some(run) = runs.peek().filter(|run| run.slot <= slot && *score > threshold) {
                    threshold = offer(*score, run.address(slot));
                }
            }
        }
    }
}

impl Drop for TurnScores<'_> {
    fn drop(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if scratch.clear() {
            *self.table.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(scratch);
        }
    }
}

impl Scratch {
    /// Notes how often turns have a token. Returns the number of live ones that have it.
    fn note(&mut self, runs: &[LiveRun], mut postings: BlockSegmentPostings) -> u64 {
        let (mut noted, mut runs) = (0, runs.iter());
        let Some(mut run) = runs.next() else { return noted };
        while postings.block_len() > 0 {
            for (doc, frequency) in postings.docs().iter().zip(postings.freqs()) {
                while run.doc + run.count <= *doc {
                    let Some(next) = runs.next() else { return noted };
                    run = next;
                }
                if run.doc <= *doc {
                    let slot = (run.slot + (*doc - run.doc)) as usize;
                    self.touched.add(slot.saturating_sub(2 * NEIGHBOURS) / BLOCK);
                    self.touched.add(slot / BLOCK);
                    self.frequencies[slot] = *frequency as Score;
                    noted += 1;
                }
            }
            postings.advance();
        }
        noted
    }

    /// Computes the frequencies in contexts. Returns the number of turns whose context has the token.
    fn join_contexts(&mut self, table: &TurnTable) -> u64 {
        let mut turns = 0;
        for block in self.touched.iter() {
            let lengths: &[u16; WINDOW] = window(&table.lengths, block);
            let own: &[Score; WINDOW] = window(&self.frequencies, block);
            let (mut near, mut contexts) = ([0.0; WINDOW], [0.0; BLOCK]);
            for at in 0..WINDOW {
                near[at] = own[at] * as_neighbour(lengths[at]);
            }
            let mut count = 0;
            for at in 0..BLOCK {
                let context = near[at] + near[at + 1] + own[at + 2] + near[at + 3] + near[at + 4];
                // An empty slot beside a session's first or last turn has no context.
                contexts[at] = if lengths[at + 2] == 0 { 0.0 } else { context };
                count += u32::from(contexts[at] > 0.0);
            }
            turns += u64::from(count);
            self.contexts.push(contexts);
        }
        turns
    }

    /// Adds the scores of the noted token with the weights of bodies and contexts, and forgets it.
    fn score(&mut self, table: &TurnTable, body: Score, context: Score) {
        let Self { scores, frequencies, contexts, touched, scored } = self;
        for (at, block) in touched.iter().enumerate() {
            let scores: &mut [Score; BLOCK] = in_block_mut(scores, block);
            add_block(scores, in_block(frequencies, block), in_block(&table.lengths, block), table.length_norm, body);
            if let Some(contexts) = contexts.get(at) {
                add_block(scores, contexts, in_block(&table.windows, block), table.window_norm, context);
            }
            in_block_mut(frequencies, block).fill(0.0);
        }
        contexts.clear();
        touched.move_into(scored);
    }
}

/// Adds the scores of the turns in a block.
fn add_block(
    scores: &mut [Score; BLOCK],
    frequencies: &[Score; BLOCK],
    lengths: &[u16; BLOCK],
    norm: Norm,
    weight: Score,
) {
    for at in 0..BLOCK {
        let frequency = frequencies[at];
        scores[at] += weight * frequency / (frequency + norm.of(Score::from(lengths[at])));
    }
}
