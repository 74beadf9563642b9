//! Decides which mentions and assertions count, and reads their columns.

use std::cell::Cell;
use std::ops::ControlFlow;

use baton_graph::{Claim, Label, Relation};
use tantivy::columnar::Column;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};

use crate::Error;
use crate::snapshot::{GraphColumns, Segment, Snapshot};

/// Decides which documents of a snapshot count. Asks `exclude` at most once per session and segment.
pub(super) struct Admission<'a> {
    pub(super) snapshot: &'a Snapshot,
    exclude: &'a dyn Fn(&str) -> bool,
    pub(super) segments: Vec<SegmentAdmission<'a>>,
}

pub(super) struct SegmentAdmission<'a> {
    pub(super) segment: &'a Segment,
    /// Verdict by the number of the session in the segment; `None` until first needed.
    known: Box<[Cell<Option<bool>>]>,
}

impl<'a> Admission<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, exclude: &'a dyn Fn(&str) -> bool) -> Self {
        let known = |segment: &Segment| vec![Cell::new(None); segment.ids.len()].into_boxed_slice();
        let segments =
            snapshot.segments.iter().map(|segment| SegmentAdmission { segment, known: known(segment) }).collect();
        Self { snapshot, exclude, segments }
    }

    /// Returns true if the document's session is not excluded and its fact is not deleted.
    pub(super) fn admits(&self, SegmentAdmission { segment, known }: &SegmentAdmission<'_>, doc: DocId) -> bool {
        let gone = &self.snapshot.gone;
        let subject = || segment.graph.as_ref().and_then(|columns| columns.subject.first(doc));
        if !gone.is_empty() && subject().is_some_and(|subject| gone.contains(&subject)) {
            return false;
        }
        let Some(number) = segment.session.first(doc).map(|number| number as usize) else { return false };
        let (Some(id), Some(known)) = (segment.ids.get(number), known.get(number)) else { return false };
        known.get().unwrap_or_else(|| {
            let is_admitted = !(self.exclude)(id);
            known.set(Some(is_admitted));
            is_admitted
        })
    }

    /// Calls `each` with every admitted live document that has the term.
    pub(super) fn for_each(
        &self,
        term: &Term,
        mut each: impl FnMut(DocAddress, &'a Segment, &'a GraphColumns),
    ) -> Result<(), Error> {
        self.try_for_each(term, |address, segment, columns| {
            each(address, segment, columns);
            ControlFlow::Continue(())
        })
    }

    /// Like [`for_each`](Self::for_each), until `each` breaks.
    pub(super) fn try_for_each(
        &self,
        term: &Term,
        mut each: impl FnMut(DocAddress, &'a Segment, &'a GraphColumns) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        for (number, (reader, admitted)) in
            (0..).zip(self.snapshot.searcher.segment_readers().iter().zip(&self.segments))
        {
            let Some(columns) = &admitted.segment.graph else { continue };
            let index = reader.inverted_index(term.field())?;
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !reader.is_deleted(doc)
                    && self.admits(admitted, doc)
                    && each(DocAddress::new(number, doc), admitted.segment, columns).is_break()
                {
                    return Ok(());
                }
                postings.advance();
            }
        }
        Ok(())
    }
}

pub(super) fn first<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Option<Column<T>>,
    doc: DocId,
) -> Option<T> {
    column.as_ref().and_then(|column| column.first(doc))
}

impl GraphColumns {
    /// Label of a mention.
    pub(crate) fn label(&self, doc: DocId) -> Option<Label> {
        let number = first(&self.label, doc)?;
        Label::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Relation of an assertion.
    pub(super) fn relation(&self, doc: DocId) -> Option<Relation> {
        let number = first(&self.relation, doc)?;
        Relation::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// Claims in a column of alternating slots and values.
pub(super) fn claims(column: &Option<Column<u64>>, doc: DocId) -> Vec<Claim> {
    let numbers: Vec<u64> = column.iter().flat_map(|column| column.values_for_doc(doc)).collect();
    numbers.chunks_exact(2).map(|pair| Claim { slot: pair[0], value: pair[1] }).collect()
}
