//! The best turns: BM25 over body and context; every word is optional.
//!
//! # Decisions
//!
//! - Turns are scored word by word. Block pruning is used only if one rare word decides, since it prunes nothing where
//!   words are common (100,000 generated texts: two words 9.7 to 2.6 ms, five 23.2 to 7.1 ms).

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, Score, Term};

use super::query::{Plan, Query, Wanted};
use super::required_terms::{SegmentFilter, TurnFilter};
use super::snapshot::{Segment, Snapshot};
use super::texts::Texts;
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

/// Statistics of turns alone; no other documents have body or context.
struct TurnCounts<'a>(&'a Snapshot);

impl Bm25StatisticsProvider for TurnCounts<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.0.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.0.turns)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.0.searcher.doc_freq(term)?.min(self.0.turns))
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

/// The best `limit` turns that meet the requirements, without known ones. If their texts must be read, they are read
/// best first until enough were accepted or the budget of [`Texts`] is spent.
pub(super) fn best(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    filter: &TurnFilter,
    known: &mut Known,
    limit: usize,
) -> Result<Best, Error> {
    let fields = &snapshot.fields;
    let searched = if plan.stops_only { vec![fields.stops] } else { vec![fields.body, fields.context] };
    let mut terms = terms_of(&plan.wanted, &searched);
    // A turn may contain nothing of the query but a phrase of stop words.
    terms.extend(filter.stop_word_phrases().map(|stop| (Term::from_field_text(fields.stops, stop), 1.0)));
    let weight = weight_of(snapshot, terms, &TurnCounts(snapshot))?;
    if !filter.needs_text() {
        let turns = collect(snapshot, query, filter, known, &*weight, Walk::of(&plan.wanted, limit), limit)?;
        return Ok(Best { more: turns.len() == limit, turns });
    }
    let mut admitted: Vec<Scored> = Vec::new();
    let mut read: BTreeSet<DocAddress> = BTreeSet::new();
    for taken in [limit.max(limits::PHRASE_TEXTS), limits::PHRASE_CANDIDATES] {
        let turns = collect(snapshot, query, filter, known, &*weight, Walk::of(&plan.wanted, taken), taken)?;
        let is_all = turns.len() < taken;
        for turn in turns {
            // The second pass finds the turns accepted in the first again.
            if read.contains(&turn.address) {
                continue;
            }
            match known.texts.admits(filter, snapshot, turn.address)? {
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

/// The best sessions by title and episode text that meet the requirements, best first, without `known` ones.
pub(super) fn best_episodes(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    filter: &TurnFilter,
    known: &mut Known,
) -> Result<Vec<Scored>, Error> {
    let weight = any_of(snapshot, &plan.episode, &[snapshot.fields.episode], &snapshot.searcher)?;
    // For sessions, required phrases are checked in their texts, not by the index.
    let limit = query.sessions.min(limits::MAX_SESSIONS);
    let taken = if filter.is_empty() { limit } else { limit.max(limits::EPISODES_LOOKED) };
    let walk = Walk::of(&plan.episode, taken);
    let found = collect(snapshot, query, &TurnFilter::default(), known, &*weight, walk, taken)?;
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

/// Matches documents that contain any of the wanted tokens in any of the fields.
pub(super) fn any_of(
    snapshot: &Snapshot,
    wanted: &[Wanted],
    fields: &[Field],
    counts: &dyn Bm25StatisticsProvider,
) -> Result<Box<dyn Weight>, Error> {
    weight_of(snapshot, terms_of(wanted, fields), counts)
}

/// The wanted tokens in each of the fields, with the factor on their score.
fn terms_of(wanted: &[Wanted], fields: &[Field]) -> Vec<(Term, Score)> {
    let in_all = |wanted: &'_ Wanted| -> Vec<_> {
        fields.iter().map(|field| (Term::from_field_text(*field, &wanted.token), wanted.boost)).collect()
    };
    wanted.iter().flat_map(in_all).collect()
}

fn weight_of(
    snapshot: &Snapshot,
    terms: Vec<(Term, Score)>,
    counts: &dyn Bm25StatisticsProvider,
) -> Result<Box<dyn Weight>, Error> {
    let query = |(term, boost): (Term, Score)| -> Box<dyn tantivy::query::Query> {
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        if boost < 1.0 { Box::new(BoostQuery::new(query, boost)) } else { query }
    };
    let any = BooleanQuery::union(terms.into_iter().map(query).collect());
    Ok(any.weight(EnableScoring::enabled_from_statistics_provider(counts, &snapshot.searcher))?)
}

/// BM25 scores of given turns, which must be ascending; 0 for turns without any of the words.
pub(super) fn scores(snapshot: &Snapshot, plan: &Plan, turns: &[DocAddress]) -> Result<Vec<Scored>, Error> {
    let mut scored: Vec<Scored> = turns.iter().map(|address| Scored { score: 0.0, address: *address }).collect();
    if plan.wanted.is_empty() {
        return Ok(scored);
    }
    let fields = &snapshot.fields;
    let searched = if plan.stops_only { vec![fields.stops] } else { vec![fields.body, fields.context] };
    let weight = any_of(snapshot, &plan.wanted, &searched, &TurnCounts(snapshot))?;
    for turns in scored.chunk_by_mut(|one, other| one.address.segment_ord == other.address.segment_ord) {
        let Some(segment) = turns.first().map(|turn| turn.address.segment_ord) else { continue };
        let mut scorer = weight.scorer(snapshot.searcher.segment_reader(segment), 1.0)?;
        for turn in turns {
            if scorer.doc() < turn.address.doc_id {
                scorer.seek(turn.address.doc_id);
            }
            if scorer.doc() == turn.address.doc_id {
                turn.score = scorer.score();
            }
        }
    }
    Ok(scored)
}

/// How matching documents are traversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// Word by word, over all documents that contain any: some nanoseconds per document.
    Whole,
    /// Document by document, skipping those that cannot be among the best: ten times that per document not skipped.
    Pruned,
}

impl Walk {
    /// Pruning pays only if one word is rare, weighs more than twice all others together, and alone fills the answer.
    fn of(wanted: &[Wanted], limit: usize) -> Self {
        /// Weight of a word that is in one of twelve documents.
        const RARE: Score = 2.5;
        let all: Score = wanted.iter().map(|wanted| wanted.weight).sum();
        let Some(telling) = wanted.iter().max_by(|one, other| one.weight.total_cmp(&other.weight)) else {
            return Self::Whole;
        };
        let decides = telling.weight > RARE.max(2.0 * (all - telling.weight)) && telling.frequency >= limit as u64;
        if decides && wanted.len() > 1 { Self::Pruned } else { Self::Whole }
    }
}

fn collect(
    snapshot: &Snapshot,
    query: &Query<'_>,
    filter: &TurnFilter,
    known: &Known,
    weight: &dyn Weight,
    by: Walk,
    limit: usize,
) -> Result<Vec<Scored>, Error> {
    let mut heap: BinaryHeap<Scored> = BinaryHeap::with_capacity(limit + 1);
    let mut threshold = Score::MIN;
    let readers = snapshot.searcher.segment_readers();
    // Largest segments first: their results raise the threshold for the others.
    let mut order: Vec<usize> = (0..readers.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(readers[*number].max_doc()));
    for number in order {
        let (reader, segment) = (&readers[number], &snapshot.segments[number]);
        let segment_filter = filter.for_segment(snapshot, reader, segment)?;
        let mut admitted = Admission::new(segment, query, &segment_filter, known);
        let least = threshold;
        let mut take = |doc: DocId, score: Score| {
            let address = DocAddress::new(number as u32, doc);
            if !reader.is_deleted(doc) && !known.turns.contains(&address) && admitted.admits(doc) {
                heap.push(Scored { score, address });
                if heap.len() > limit {
                    heap.pop();
                }
                if heap.len() == limit {
                    threshold = heap.peek().map_or(threshold, |worst| worst.score);
                }
            }
            threshold
        };
        match segment_filter.few(limits::PHRASE_TURNS) {
            None if by == Walk::Pruned => weight.for_each_pruning(least, reader, &mut take)?,
            None => {
                let mut least = least;
                weight.for_each(reader, &mut |doc, score| {
                    if score > least {
                        least = take(doc, score);
                    }
                })?;
            }
            // If only a few documents may pass, only these are scored.
            Some(few) => {
                let mut scorer = weight.scorer(reader, 1.0)?;
                for doc in few {
                    if scorer.doc() < *doc {
                        scorer.seek(*doc);
                    }
                    if scorer.doc() == *doc {
                        take(*doc, scorer.score());
                    }
                }
            }
        }
    }
    Ok(heap.into_sorted_vec())
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
        *known.get_or_insert_with(|| {
            !self.known.sessions.contains(id) && self.segment_filter.admits_session(id) && !(self.query.exclude)(id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_word_decides_is_pruned() {
        let check = |words: &[(f32, u64)], expected: Walk| {
            let wanted: Vec<Wanted> = words
                .iter()
                .map(|&(weight, frequency)| Wanted { token: String::new(), weight, frequency, boost: 1.0 })
                .collect();
            assert_eq!(Walk::of(&wanted, 200), expected, "{words:?}");
        };
        check(&[], Walk::Whole);
        check(&[(0.3, 70_000)], Walk::Whole);
        check(&[(6.0, 244)], Walk::Whole);
        check(&[(0.1, 90_000), (0.4, 60_000)], Walk::Whole);
        check(&[(3.8, 2_353), (4.3, 1_358)], Walk::Whole);
        check(&[(0.3, 70_000), (0.4, 60_000), (0.5, 50_000)], Walk::Whole);
        check(&[(6.0, 244), (0.3, 70_000), (0.4, 60_000)], Walk::Pruned);
        check(&[(7.0, 199), (0.3, 70_000), (0.4, 60_000)], Walk::Whole);
    }
}
