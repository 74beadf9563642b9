//! Joins the turns nearest to a query's vector with those found by words.
//!
//! # Decisions
//!
//! - The best hit gets 1 by words and 1 by vectors; vectors weigh 0.8. No gain was shown with a real model: the
//!   benchmark's endpoint hashes words and says nothing about meaning.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use tantivy::{DocAddress, Score, TantivyDocument};

use super::analyzer::Analyzer;
use super::copied_records::CopiedRecords;
use super::limits::{NEAREST_TURNS, PHRASE_TEXTS};
use super::query::Query;
use super::required_terms::TurnFilter;
use super::schema::text;
use super::snapshot::Snapshot;
use super::turn_scores::TurnScores;
use super::turns::{Admission, Known, Scored};
use super::vectors::Cosines;
use super::{Error, score_weights};

/// A turn that is also found by its words is reported as found by its vector if its cosine is at least this far between
/// the average and the best cosine. Affects the reported reasons only, not the rank.
const CLOSE: Score = 0.5;

/// Similarity of a turn to the query's vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearness {
    /// Cosine relative to the best cosine; at least 0.
    share: Score,
    /// True if it is much nearer than the average turn.
    pub(super) is_close: bool,
    /// True if neither the turn nor its neighbours contain a word of the query.
    pub(super) only_by_vector: bool,
}

/// Turns of one session found by words, by vector, or both.
#[derive(Default)]
pub(super) struct Joined {
    /// Best first, by words and vector together.
    pub(super) turns: Vec<Scored>,
    /// Sum of the best scores by words, as without vectors.
    pub(super) best: Score,
    /// Its nearest turn's cosine relative to the best of all.
    pub(super) similarity: Score,
    pub(super) near: BTreeMap<DocAddress, Nearness>,
}

/// Joins turns found by words with those nearest to the query's vector. `None` if no cosine is positive; words alone
/// decide then.
pub(super) fn join(
    snapshot: &Snapshot,
    query: &Query<'_>,
    scores: &TurnScores<'_>,
    copies: &mut CopiedRecords<'_>,
    by_words: Vec<Scored>,
    counted: usize,
) -> Result<Option<BTreeMap<Box<str>, Joined>>, Error> {
    let Some(meaning) = query.meaning else { return Ok(None) };
    let cosines = Cosines::compute(meaning, snapshot);
    let mut nearest = nearest(snapshot, query, &cosines)?;
    copies.remove_copied(&mut nearest)?;
    let known: BTreeSet<DocAddress> = by_words.iter().map(|turn| turn.address).collect();
    let others = nearest.iter().map(|turn| turn.address).filter(|address| !known.contains(address));
    let mut all = by_words;
    all.extend(others.map(|address| Scored { score: scores.of(address), address }));

    let best_cosine = all.iter().filter_map(|turn| cosines.of(turn.address)).fold(0.0, f32::max);
    if best_cosine <= 0.0 {
        return Ok(None);
    }
    let best_words = all.iter().map(|turn| turn.score).fold(0.0, Score::max);
    let close = cosines.average() + CLOSE * (best_cosine - cosines.average());
    let mut sessions: BTreeMap<Box<str>, Joined> = BTreeMap::new();
    all.sort_unstable();
    for turn in all {
        let segment = snapshot.segments.get(turn.address.segment_ord as usize);
        let Some(id) = segment.and_then(|segment| segment.id_of(turn.address.doc_id)) else { continue };
        let joined = sessions.entry(id.into()).or_default();
        if joined.turns.len() < counted {
            joined.best += turn.score;
        }
        let cosine = cosines.of(turn.address).unwrap_or(0.0).max(0.0);
        let share = cosine / best_cosine;
        joined.similarity = joined.similarity.max(share);
        let nearness = Nearness { share, is_close: cosine >= close && cosine > 0.0, only_by_vector: turn.score <= 0.0 };
        joined.near.insert(turn.address, nearness);
        joined.turns.push(turn);
    }
    for joined in sessions.values_mut() {
        for turn in &mut joined.turns {
            let share = joined.near.get(&turn.address).map_or(0.0, |near| near.share);
            turn.score = score_weights::turn_score(turn.score, best_words, share);
        }
        let ordinal = |turn: &Scored| {
            snapshot.segments.get(turn.address.segment_ord as usize)?.ordinal.first(turn.address.doc_id)
        };
        joined.turns.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| ordinal(a).cmp(&ordinal(b))));
    }
    Ok(Some(sessions))
}

/// The nearest turns that meet the requirements, with their cosines; at most [`NEAREST_TURNS`].
fn nearest(snapshot: &Snapshot, query: &Query<'_>, cosines: &Cosines) -> Result<Vec<Scored>, Error> {
    let filter = TurnFilter::new(&query.requirements, snapshot)?;
    let known = Known::default();
    let limit = if filter.needs_text() { NEAREST_TURNS.max(PHRASE_TEXTS) } else { NEAREST_TURNS };
    let mut heap: BinaryHeap<Scored> = BinaryHeap::with_capacity(limit + 1);
    // Turns with a negative cosine are not near, however few others there are.
    let mut threshold = 0.0;
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let segment_filter = filter.for_segment(snapshot, reader, segment)?;
        let mut admission = Admission::new(segment, query, &segment_filter, &known);
        for (doc, score) in cosines.of_segment(number) {
            if score > threshold && !reader.is_deleted(doc) && admission.admits(doc) {
                heap.push(Scored { score, address: DocAddress::new(number, doc) });
                if heap.len() > limit {
                    heap.pop();
                    threshold = heap.peek().map_or(threshold, |worst| worst.score);
                }
            }
        }
    }
    let mut nearest = heap.into_sorted_vec();
    if filter.needs_text() {
        let mut analyzer = Analyzer::default();
        let mut admitted = Vec::new();
        for turn in nearest {
            let document: TantivyDocument = snapshot.searcher.doc(turn.address)?;
            if filter.admits_text(&[text(&document, snapshot.fields.text)], &mut analyzer) {
                admitted.push(turn);
            }
        }
        admitted.truncate(NEAREST_TURNS);
        nearest = admitted;
    }
    Ok(nearest)
}
