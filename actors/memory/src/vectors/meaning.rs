//! The vector of a query, and its cosine with the vector of every document.

use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::index::SegmentId;
use tantivy::{DocAddress, DocId};

use super::Key;
use super::rows::{Rows, quantise_query};
use super::table::Table;
use crate::snapshot::{Segment, Snapshot};

/// The vector of a query, with the table that it is compared with.
#[derive(Clone)]
pub struct Meaning {
    table: Arc<Table>,
    components: Vec<i16>,
    worth: f32,
}

impl Meaning {
    /// Takes a query's vector as the endpoint returned it. `None` if its length differs from the table's, if it has no
    /// direction, or if the table is empty.
    pub fn new(table: Arc<Table>, vector: &[f32]) -> Option<Self> {
        if table.dimensions() != Some(vector.len()) {
            return None;
        }
        let (components, worth) = quantise_query(vector)?;
        Some(Self { table, components, worth })
    }
}

/// Cosines of a query's vector with those of all documents.
pub(crate) struct Cosines {
    by_place: Vec<f32>,
    places: Vec<Arc<Places>>,
}

impl Cosines {
    pub(crate) fn compute(meaning: &Meaning, snapshot: &Snapshot) -> Self {
        let rows = meaning.table.rows();
        let by_place = rows.cosines(&meaning.components, meaning.worth);
        let places = meaning.table.places(snapshot, &rows);
        Self { by_place, places }
    }

    pub(crate) fn of(&self, address: DocAddress) -> Option<f32> {
        let place = *self.places.get(address.segment_ord as usize)?.rows.get(address.doc_id as usize)?;
        self.by_place.get(place as usize).copied()
    }

    /// The documents of a segment that have a vector, ascending, each with its cosine.
    pub(crate) fn of_segment(&self, number: u32) -> impl Iterator<Item = (DocId, f32)> {
        let places = self.places.get(number as usize).map_or(&[][..], |places| places.rows.as_slice());
        let with_vector = (0..).zip(places).filter(|(_, place)| **place != NONE);
        with_vector.map(|(doc, place)| (doc, self.by_place.get(*place as usize).copied().unwrap_or(0.0)))
    }

    pub(crate) fn average(&self) -> f32 {
        (self.by_place.iter().map(|cosine| f64::from(*cosine)).sum::<f64>() / self.by_place.len().max(1) as f64) as f32
    }
}

/// Marks a document without a vector.
const NONE: u32 = u32::MAX;

/// For each document of a segment the index of its vector in the rows, or [`NONE`].
#[derive(Clone)]
pub(super) struct Places {
    epoch: u64,
    /// Number of rows examined so far.
    examined: usize,
    rows: Vec<u32>,
}

/// Places found so far, by segment.
pub(super) type KnownPlaces = BTreeMap<SegmentId, Arc<Places>>;

/// The places of the snapshot's segments, in order. For known segments only new vectors are looked up.
pub(super) fn places_in(known: &mut KnownPlaces, snapshot: &Snapshot, rows: &Rows) -> Vec<Arc<Places>> {
    let mut found = BTreeMap::new();
    let mut in_order = Vec::with_capacity(snapshot.segments.len());
    for (segment, reader) in snapshot.segments.iter().zip(snapshot.searcher.segment_readers()) {
        let before = known.remove(&segment.id).filter(|places| places.epoch == rows.epoch);
        let mut places = before.unwrap_or_else(|| {
            Arc::new(Places { epoch: rows.epoch, examined: 0, rows: vec![NONE; reader.max_doc() as usize] })
        });
        if places.examined < rows.len() {
            let changed = Arc::make_mut(&mut places);
            changed.examined = rows.len();
            for (doc, place) in (0..).zip(&mut changed.rows).filter(|(_, place)| **place == NONE) {
                *place = content(segment, doc).and_then(|key| rows.place(key)).unwrap_or(NONE);
            }
        }
        in_order.push(places.clone());
        found.insert(segment.id, places);
    }
    *known = found;
    in_order
}

/// The key of a document's text; `None` unless it is a turn that says something.
pub(super) fn content(segment: &Segment, doc: u32) -> Option<Key> {
    segment.content.as_ref()?.first(doc)
}
