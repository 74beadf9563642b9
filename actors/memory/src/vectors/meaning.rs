//! The vector of a query, and its cosine with the vector of every document.

use std::sync::Arc;

use tantivy::{DocAddress, DocId};

use super::places::{NONE, Places};
use super::rows::quantise_query;
use super::table::Table;
use crate::snapshot::Snapshot;

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
