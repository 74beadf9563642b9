//! Maps the documents of a segment to their vectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::index::SegmentId;

use super::Key;
use super::rows::Rows;
use crate::snapshot::{Segment, Snapshot};

/// Marks a document without a vector.
pub(super) const NONE: u32 = u32::MAX;

/// For each document of a segment the index of its vector in the rows, or [`NONE`].
#[derive(Clone)]
pub(super) struct Places {
    epoch: u64,
    /// Number of rows examined so far.
    examined: usize,
    pub(super) rows: Vec<u32>,
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
