//! The best turns: BM25 over a turn's body, and over its context, which is the body with its neighbours; every word is
//! optional.
//!
//! The context is not in the index. Its frequencies are those of the body's postings, joined by
//! [slot](super::turn_table): a turn's own, and those of the two turns on each side, of which each counts as at most 45
//! tokens.
//!
//! # Decisions
//!
//! - All postings of a word are read, with some nanoseconds each; block pruning prunes nothing where words are common.
//!   What a word adds is bounded by the number of turns, however many of its postings have neighbours.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use tantivy::postings::Postings;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, Score, TERMINATED, Term};

use super::query::{Plan, Query, Wanted};
use super::required_terms::{SegmentFilter, TurnFilter};
use super::snapshot::{Segment, Snapshot};
use super::texts::Texts;
use super::turn_table::{K1, NEIGHBOURS, TurnTable, idf};
use super::{Error, limits};

/// A turn with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) score: Score,
    pub(super) address: DocAddress,
}

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scored {
    /// The greatest is the worst, which a heap removes first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.address.cmp(&other.address))
    }
}

/// What later passes of a query must not find again, and its budget of texts.
#[derive(Default)]
pub(super) struct Known {
    pub(super) sessions: BTreeSet<Box<str>>,
    /// Turns whose text was read and rejected.
    pub(super) turns: BTreeSet<DocAddress>,
    pub(super) texts: Texts,
}

/// The best turns.
pub(super) struct Best {
    /// Best first.
    pub(super) turns: Vec<Scored>,
    /// True if there may be others.
    pub(super) more: bool,
}

/// The scores of all turns for one query.
pub(super) struct TurnScores<'a> {
    snapshot: &'a Snapshot,
    table: &'a TurnTable,
    /// By slot; 0 for turns without any of the words.
    scores: Vec<Score>,
    /// True if the commonest words were left out, because together they are in too many turns.
    pub(super) is_bounded: bool,
}

impl<'a> TurnScores<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, plan: &Plan, filter: &TurnFilter) -> Result<Self, Error> {
        let fields = &snapshot.fields;
        let table = snapshot.turn_table();
        let mut scores = Self { snapshot, table, scores: vec![0.0; table.lengths.len()], is_bounded: false };
        let mut wanted: Vec<_> = plan.wanted.iter().collect();
        wanted.sort_by_key(|wanted| wanted.frequency);
        let mut left = limits::QUERY_POSTINGS;
        let mut context = Context { frequencies: vec![0.0; table.lengths.len()], touched: Vec::new() };
        for (number, wanted) in wanted.into_iter().enumerate() {
            if wanted.frequency > left && number > 0 {
                scores.is_bounded = true;
                break;
            }
            left = left.saturating_sub(wanted.frequency);
            let field = if plan.stops_only { fields.stops } else { fields.body };
            let found = scores.occurrences(field, &wanted.token)?;
            scores.add(&found, wanted.boost);
            if !plan.stops_only {
                scores.add_context(&found, wanted.boost, &mut context);
            }
        }
        // A turn may contain nothing of the query but a phrase of stop words.
        for stop in filter.stop_word_phrases() {
            let found = scores.occurrences(fields.stops, stop)?;
            scores.add(&found, 1.0);
        }
        Ok(scores)
    }

    /// Slots of the live turns with a token, ascending, and how often each has it.
    fn occurrences(&self, field: Field, token: &str) -> Result<Vec<(u32, u32)>, Error> {
        let term = Term::from_field_text(field, token);
        let mut found: Vec<(u32, u32)> = Vec::new();
        for (reader, runs) in self.snapshot.searcher.segment_readers().iter().zip(&self.table.by_segment) {
            let index = reader.inverted_index(field)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)? else { continue };
            found.reserve(postings.size_hint() as usize);
            let mut runs = runs.iter();
            let Some(mut run) = runs.next() else { continue };
            let mut doc = postings.doc();
            'postings: while doc != TERMINATED {
                while run.doc + run.count <= doc {
                    let Some(next) = runs.next() else { break 'postings };
                    run = next;
                }
                if doc >= run.doc {
                    found.push((run.slot + (doc - run.doc), postings.term_freq()));
                }
                doc = postings.advance();
            }
        }
        if !found.is_sorted_by_key(|(slot, _)| *slot) {
            // Made of a few ascending runs, which this sort merges.
            found.sort_by_key(|(slot, _)| *slot);
        }
        Ok(found)
    }

    /// Adds the scores of bodies.
    fn add(&mut self, found: &[(u32, u32)], boost: Score) {
        let weight = boost * (1.0 + K1) * idf(found.len() as u64, self.table.turns);
        for (slot, frequency) in found {
            let (slot, frequency) = (*slot as usize, *frequency as Score);
            self.scores[slot] += weight * frequency / (frequency + self.table.length_norm(slot));
        }
    }

    /// Adds the scores of contexts.
    fn add_context(&mut self, found: &[(u32, u32)], boost: Score, context: &mut Context) {
        let table = self.table;
        context.take(table, found);
        let weight = boost * (1.0 + K1) * idf(context.touched.len() as u64, table.turns);
        for slot in context.touched.drain(..) {
            let slot = slot as usize;
            let frequency = std::mem::take(&mut context.frequencies[slot]);
            self.scores[slot] += weight * frequency / (frequency + table.window_norm(slot));
        }
    }

    /// The score of a turn.
    pub(super) fn of(&self, address: DocAddress) -> Score {
        self.table.slot(address).map_or(0.0, |slot| self.scores[slot as usize])
    }

    /// The best `limit` turns that meet the requirements, without known ones. If their texts must be read, they are
    /// read best first until enough were accepted or the budget of [`Texts`] is spent.
    pub(super) fn best(
        &self,
        query: &Query<'_>,
        filter: &TurnFilter,
        known: &mut Known,
        limit: usize,
    ) -> Result<Best, Error> {
        if !filter.needs_text() {
            let turns = self.select(query, filter, known, limit)?;
            return Ok(Best { more: turns.len() == limit, turns });
        }
        let mut admitted: Vec<Scored> = Vec::new();
        let mut read: BTreeSet<DocAddress> = BTreeSet::new();
        for taken in [limit.max(limits::PHRASE_TEXTS), limits::PHRASE_CANDIDATES] {
            let turns = self.select(query, filter, known, taken)?;
            let is_all = turns.len() < taken;
            for turn in turns {
                // The second pass finds the turns accepted in the first again.
                if read.contains(&turn.address) {
                    continue;
                }
                match known.texts.admits(filter, self.snapshot, turn.address)? {
                    Some(true) => {
                        read.insert(turn.address);
                        admitted.push(turn);
                    }
                    Some(false) => {
                        known.turns.insert(turn.address);
                    }
                    None => return Ok(Best { turns: admitted, more: false }),
                }
                if admitted.len() == limit {
                    return Ok(Best { turns: admitted, more: true });
                }
            }
            if is_all {
                return Ok(Best { turns: admitted, more: false });
            }
        }
        known.texts.is_cut = true;
        Ok(Best { turns: admitted, more: false })
    }

    /// The best turns that pass the filter, as far as the index alone decides.
    fn select(
        &self,
        query: &Query<'_>,
        filter: &TurnFilter,
        known: &Known,
        limit: usize,
    ) -> Result<Vec<Scored>, Error> {
        let readers = self.snapshot.searcher.segment_readers();
        let mut filters = Vec::with_capacity(readers.len());
        for (reader, segment) in readers.iter().zip(&self.snapshot.segments) {
            filters.push((segment, filter.for_segment(self.snapshot, reader, segment)?));
        }
        let mut admissions: Vec<Admission<'_>> =
            filters.iter().map(|(segment, filter)| Admission::new(segment, query, filter, known)).collect();
        let mut best = Heap::new(limit);
        let mut offer = |score: Score, address: DocAddress| {
            if score > best.threshold
                && !known.turns.contains(&address)
                && admissions[address.segment_ord as usize].admits(address.doc_id)
            {
                best.push(Scored { score, address });
            }
        };
        for run in &self.table.by_slot {
            match filters[run.segment as usize].1.required() {
                None => {
                    let scores = &self.scores[run.slot as usize..][..run.count as usize];
                    for (slot, score) in (run.slot..).zip(scores) {
                        offer(*score, run.address(slot));
                    }
                }
                // Only these may pass.
                Some(required) => {
                    let from = required.partition_point(|doc| *doc < run.doc);
                    for doc in required[from..].iter().take_while(|doc| **doc < run.doc + run.count) {
                        let slot = run.slot + (doc - run.doc);
                        offer(self.scores[slot as usize], run.address(slot));
                    }
                }
            }
        }
        Ok(best.into_sorted())
    }
}

/// The frequencies of one token in contexts.
struct Context {
    /// By slot; all 0 between two tokens.
    frequencies: Vec<Score>,
    /// The turns with a frequency.
    touched: Vec<u32>,
}

impl Context {
    fn take(&mut self, table: &TurnTable, found: &[(u32, u32)]) {
        let mut from = 0;
        for (slot, frequency) in found {
            let (first, here, end) = (*slot - NEIGHBOURS as u32, *slot as usize, *slot + NEIGHBOURS as u32 + 1);
            let (own, near) = (*frequency as Score, *frequency as Score * table.as_neighbour(here));
            for frequency in &mut self.frequencies[first as usize..end as usize] {
                *frequency += near;
            }
            self.frequencies[here] += own - near;
            for touched in from.max(first)..end {
                match table.lengths[touched as usize] {
                    0 => {}
                    _ => self.touched.push(touched),
                }
            }
            from = end;
        }
        // Empty slots beside a session's first and last turn got frequencies too.
        for (slot, _) in found {
            for slot in slot - NEIGHBOURS as u32..=slot + NEIGHBOURS as u32 {
                if table.lengths[slot as usize] == 0 {
                    self.frequencies[slot as usize] = 0.0;
                }
            }
        }
    }
}

/// The best of what is offered.
struct Heap {
    kept: BinaryHeap<Scored>,
    limit: usize,
    /// A score must be greater to be kept.
    threshold: Score,
}

impl Heap {
    fn new(limit: usize) -> Self {
        Self { kept: BinaryHeap::with_capacity(limit.min(limits::BEST_TURNS) + 1), limit, threshold: 0.0 }
    }

    fn push(&mut self, scored: Scored) {
        self.kept.push(scored);
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
        if self.kept.len() == self.limit {
            self.threshold = self.kept.peek().map_or(self.threshold, |worst| worst.score);
        }
    }

    /// Best first.
    fn into_sorted(self) -> Vec<Scored> {
        self.kept.into_sorted_vec()
    }
}

/// The best sessions by title and episode text that meet the requirements, best first, without `known` ones.
pub(super) fn best_episodes(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    filter: &TurnFilter,
    known: &mut Known,
) -> Result<Vec<Scored>, Error> {
    let weight = any_of(snapshot, &plan.episode, snapshot.fields.episode, &snapshot.searcher)?;
    // For sessions, required phrases are checked in their texts, not by the index.
    let limit = query.sessions.min(limits::MAX_SESSIONS);
    let taken = if filter.is_empty() { limit } else { limit.max(limits::EPISODES_LOOKED) };
    let mut best = Heap::new(taken);
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let no_filter = TurnFilter::default();
        let segment_filter = no_filter.for_segment(snapshot, reader, segment)?;
        let mut admission = Admission::new(segment, query, &segment_filter, known);
        weight.for_each(reader, &mut |doc, score| {
            if score > best.threshold && !reader.is_deleted(doc) && admission.admits(doc) {
                best.push(Scored { score, address: DocAddress::new(number, doc) });
            }
        })?;
    }
    let found = best.into_sorted();
    let is_all = found.len() < taken;
    let mut admitted = Vec::new();
    for found in found {
        match known.texts.admits_episode(filter, snapshot, found.address)? {
            Some(true) => admitted.push(found),
            Some(false) => {}
            None => return Ok(admitted),
        }
        if admitted.len() == limit {
            return Ok(admitted);
        }
    }
    known.texts.is_cut |= !is_all;
    Ok(admitted)
}

/// Matches documents that contain any of the wanted tokens in a field.
pub(super) fn any_of(
    snapshot: &Snapshot,
    wanted: &[Wanted],
    field: Field,
    counts: &dyn Bm25StatisticsProvider,
) -> Result<Box<dyn Weight>, Error> {
    let query = |wanted: &Wanted| -> Box<dyn tantivy::query::Query> {
        let term = Term::from_field_text(field, &wanted.token);
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        if wanted.boost < 1.0 { Box::new(BoostQuery::new(query, wanted.boost)) } else { query }
    };
    let any = BooleanQuery::union(wanted.iter().map(query).collect());
    Ok(any.weight(EnableScoring::enabled_from_statistics_provider(counts, &snapshot.searcher))?)
}

/// Decides whether documents of a segment may be found; evaluated once per session and place.
pub(super) struct Admission<'a> {
    segment: &'a Arc<Segment>,
    query: &'a Query<'a>,
    segment_filter: &'a SegmentFilter<'a>,
    known: &'a Known,
    sessions: Vec<Option<bool>>,
    places: Vec<Option<bool>>,
}

impl<'a> Admission<'a> {
    pub(super) fn new(
        segment: &'a Arc<Segment>,
        query: &'a Query<'a>,
        segment_filter: &'a SegmentFilter<'a>,
        known: &'a Known,
    ) -> Self {
        let places = if query.project.is_some() { segment.places.len() } else { 0 };
        Self {
            segment,
            query,
            segment_filter,
            known,
            sessions: vec![None; segment.ids.len()],
            places: vec![None; places],
        }
    }

    pub(super) fn admits(&mut self, doc: u32) -> bool {
        self.segment_filter.admits(doc) && self.admits_place(doc) && self.admits_session(doc)
    }

    fn admits_place(&mut self, doc: u32) -> bool {
        let Some(wanted) = self.query.project else { return true };
        let Some(number) = self.segment.place.first(doc).map(|number| number as usize) else { return false };
        let (Some(place), Some(known)) = (self.segment.places.get(number), self.places.get_mut(number)) else {
            return false;
        };
        *known.get_or_insert_with(|| place.is_in(wanted))
    }

    fn admits_session(&mut self, doc: u32) -> bool {
        let Some(number) = self.segment.session.first(doc).map(|number| number as usize) else { return false };
        let (Some(id), Some(known)) = (self.segment.ids.get(number), self.sessions.get_mut(number)) else {
            return false;
        };
        *known.get_or_insert_with(|| !self.known.sessions.contains(&**id) && !(self.query.exclude)(id))
    }
}
