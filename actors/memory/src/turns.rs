//! The best turns and episodes that meet the requirements of a query.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Score, Term};

use super::query::{Plan, Query, Wanted};
use super::required_terms::{SegmentFilter, TurnFilter};
use super::snapshot::{Segment, Snapshot};
use super::texts::Texts;
use super::turn_scores::TurnScores;
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

impl TurnScores<'_> {
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
            best.threshold
        };
        if filters.iter().all(|(_, filter)| filter.required().is_none()) {
            self.for_each(offer);
            return Ok(best.into_sorted());
        }
        // Only these may pass.
        for run in &self.table.by_slot {
            let required = filters[run.segment as usize].1.required().unwrap_or_default();
            let from = required.partition_point(|doc| *doc < run.doc);
            for doc in required[from..].iter().take_while(|doc| **doc < run.doc + run.count) {
                let slot = run.slot + (doc - run.doc);
                offer(self.at(slot), run.address(slot));
            }
        }
        Ok(best.into_sorted())
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
