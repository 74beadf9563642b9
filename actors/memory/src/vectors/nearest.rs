//! A question's meaning, and the turns that are nearest to it, beside those that its words found.
//!
//! # Decisions
//!
//! - The best hit of a question gets 1 by either kind, weighted 0.8 for vectors. On no real model was a gain
//!   shown: the endpoint of the benchmark hashes words and says nothing about meaning.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use tantivy::schema::Value;
use tantivy::{DocAddress, Score, TantivyDocument};

use super::places::{NONE, Places};
use super::quantised;
use super::table::Table;
use crate::analyzer::Analyzer;
use crate::copies::Copies;
use crate::limits::{NEAREST_TURNS, PHRASE_TEXTS};
use crate::query::{Plan, Query};
use crate::required_terms::Demand;
use crate::snapshot::Snapshot;
use crate::turns;
use crate::turns::{Admission, Known, Scored};
use crate::{Error, score_weights};

/// Of the way from an average turn to the nearest one, how much a turn must have gone to be found for its meaning though its
/// words are found as well. Only what is said of it follows this, not its rank.
const CLOSE: Score = 0.5;

/// The vector of a question, with the vectors that it is compared with.
#[derive(Clone)]
pub struct Meaning {
    table: Arc<Table>,
    components: Vec<i16>,
    worth: f32,
}

impl Meaning {
    /// A question's vector as the endpoint gave it. `None` when it has another length than those in the table, no direction,
    /// or nothing to be compared with.
    pub fn new(table: Arc<Table>, vector: &[f32]) -> Option<Self> {
        if table.dimensions() != Some(vector.len()) {
            return None;
        }
        let (components, worth) = quantised::asked(vector)?;
        Some(Self { table, components, worth })
    }
}

/// How near a turn is, apart from its words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearness {
    /// Cosine by the best cosine; at least 0.
    share: Score,
    /// Whether it is much nearer than turns are.
    pub(crate) is_close: bool,
    /// Whether no word of the question is in it or beside it.
    pub(crate) is_alone: bool,
}

/// Turns of one session, found by their words, their meaning, or both.
#[derive(Default)]
pub(crate) struct Joined {
    /// Best first, by both.
    pub(crate) turns: Vec<Scored>,
    /// What the turns with the best words come to, as without vectors.
    pub(crate) best: Score,
    /// Its nearest turn's share of the nearest of all.
    pub(crate) meant: Score,
    pub(crate) near: BTreeMap<DocAddress, Nearness>,
}

/// All cosines of a question, by document.
struct Cosines {
    of: Vec<f32>,
    places: Vec<Arc<Places>>,
}

impl Cosines {
    fn read(meaning: &Meaning, snapshot: &Snapshot) -> Self {
        let rows = meaning.table.rows();
        let of = rows.cosines(&meaning.components, meaning.worth);
        let places = meaning.table.places(snapshot, &rows);
        Self { of, places }
    }

    fn at(&self, address: DocAddress) -> Option<f32> {
        let place = *self.places.get(address.segment_ord as usize)?.of.get(address.doc_id as usize)?;
        self.of.get(place as usize).copied()
    }

    fn average(&self) -> f32 {
        (self.of.iter().map(|cosine| f64::from(*cosine)).sum::<f64>() / self.of.len().max(1) as f64) as f32
    }
}

/// Joins the turns that words have found with those that are nearest to what is meant. `None` when nothing is near at all: words
/// alone decide then.
pub(crate) fn join(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    copies: &mut Copies<'_>,
    by_words: Vec<Scored>,
    counted: usize,
) -> Result<Option<BTreeMap<Box<str>, Joined>>, Error> {
    let Some(meaning) = query.meaning else { return Ok(None) };
    let cosines = Cosines::read(meaning, snapshot);
    let mut nearest = nearest(snapshot, query, &cosines)?;
    copies.leave_out_copied(&mut nearest)?;
    let known: BTreeSet<DocAddress> = by_words.iter().map(|turn| turn.address).collect();
    let mut others: Vec<DocAddress> =
        nearest.iter().map(|turn| turn.address).filter(|address| !known.contains(address)).collect();
    others.sort_unstable();
    let mut all = by_words;
    all.extend(turns::scores(snapshot, plan, &others)?);

    let best_cosine = all.iter().filter_map(|turn| cosines.at(turn.address)).fold(0.0, f32::max);
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
        let cosine = cosines.at(turn.address).unwrap_or(0.0).max(0.0);
        let share = cosine / best_cosine;
        joined.meant = joined.meant.max(share);
        let nearness = Nearness { share, is_close: cosine >= close && cosine > 0.0, is_alone: turn.score <= 0.0 };
        joined.near.insert(turn.address, nearness);
        joined.turns.push(turn);
    }
    for joined in sessions.values_mut() {
        for turn in &mut joined.turns {
            let share = joined.near.get(&turn.address).map_or(0.0, |near| near.share);
            turn.score = score_weights::turn(turn.score, best_words, share);
        }
        let ordinal = |turn: &Scored| {
            snapshot.segments.get(turn.address.segment_ord as usize)?.ordinal.first(turn.address.doc_id)
        };
        joined.turns.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| ordinal(a).cmp(&ordinal(b))));
    }
    Ok(Some(sessions))
}

/// The nearest turns that are as demanded, with their cosines; at most [`NEAREST_TURNS`].
fn nearest(snapshot: &Snapshot, query: &Query<'_>, cosines: &Cosines) -> Result<Vec<Scored>, Error> {
    let demand = Demand::read(query, snapshot)?;
    let known = Known::default();
    let limit = if demand.needs_text() { NEAREST_TURNS.max(PHRASE_TEXTS) } else { NEAREST_TURNS };
    let mut heap: BinaryHeap<Scored> = BinaryHeap::with_capacity(limit + 1);
    // What points away is not near, however few others there are.
    let mut threshold = 0.0;
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let gate = demand.gate(snapshot, reader, segment)?;
        let mut admission = Admission::new(segment, query, &gate, &known);
        let Some(places) = cosines.places.get(number as usize) else { continue };
        for (doc, place) in (0..).zip(&places.of).filter(|(_, place)| **place != NONE) {
            let score = cosines.of.get(*place as usize).copied().unwrap_or(0.0);
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
    if demand.needs_text() {
        let mut analyzer = Analyzer::default();
        let mut admitted = Vec::new();
        for turn in nearest {
            let document: TantivyDocument = snapshot.searcher.doc(turn.address)?;
            let text = document.get_first(snapshot.fields.text).and_then(|text| text.as_str()).unwrap_or_default();
            if demand.admits_text(&[text], &mut analyzer) {
                admitted.push(turn);
            }
        }
        admitted.truncate(NEAREST_TURNS);
        nearest = admitted;
    }
    Ok(nearest)
}
