//! Entities and facts close to one entity.

use std::collections::BTreeMap;

use baton_graph::{Label, Relation};
use tantivy::{DocAddress, Term};

use super::admission::{Admission, first};
use crate::Error;
use crate::limits::GRAPH_GROUPS;

/// Distance of entities or facts from the center; everything else is farther.
#[derive(Default)]
pub(super) struct Near(BTreeMap<u64, u8>);

impl Near {
    pub(super) fn rank(&self, subject: u64) -> u8 {
        self.0.get(&subject).copied().unwrap_or(u8::MAX)
    }

    fn add(&mut self, subject: u64, rank: u8) {
        if self.0.len() < GRAPH_GROUPS {
            self.0.entry(subject).or_insert(rank);
        }
    }
}

/// A fact tied to the center, with the keys of its source and target.
struct Tie {
    fact: u64,
    ends: [Option<u64>; 2],
}

/// The center at distance 0, entities that share a fact with it at 1.
pub(super) fn nodes(admission: &Admission<'_>, center: u64) -> Result<Near, Error> {
    let mut near = Near::default();
    near.add(center, 0);
    ties(admission, center, |tie| tie.ends.into_iter().flatten().for_each(|end| near.add(end, 1)))?;
    Ok(near)
}

/// The facts that begin or end at the center, at distance 0.
pub(super) fn facts(admission: &Admission<'_>, center: u64) -> Result<Near, Error> {
    let mut near = Near::default();
    ties(admission, center, |tie| near.add(tie.fact, 0))?;
    Ok(near)
}

/// The most informative fact about an entity, by its relation; of several the latest.
pub(super) fn telling(admission: &Admission<'_>, node: u64) -> Result<Option<DocAddress>, Error> {
    let fields = &admission.snapshot.fields;
    let mut best = None;
    for term in [Term::from_field_u64(fields.source, node), Term::from_field_u64(fields.target, node)] {
        admission.for_each(&term, |address, segment, columns| {
            let doc = address.doc_id;
            let weight = match columns.relation(doc) {
                Some(Relation::Decided | Relation::Prefers | Relation::Custom) => 4,
                Some(Relation::ResolvedBy | Relation::Renamed | Relation::Deleted) => 3,
                Some(Relation::FailedWith | Relation::Committed) => 2,
                Some(Relation::Modified | Relation::AddedPackage | Relation::RemovedPackage) => 1,
                _ => 0,
            };
            let at = first(&columns.last, doc).or_else(|| first(&columns.since, doc));
            let found = (weight, at, segment.id_of(doc), columns.subject.first(doc));
            if best.as_ref().is_none_or(|(known, _)| *known < found) {
                best = Some((found, address));
            }
        })?;
    }
    Ok(best.map(|(_, address)| address))
}

/// Calls `each` for every fact that begins or ends at the center and, if the center is a session, every fact that the
/// session supports.
fn ties(admission: &Admission<'_>, center: u64, mut each: impl FnMut(Tie)) -> Result<(), Error> {
    let fields = &admission.snapshot.fields;
    let mut terms = vec![Term::from_field_u64(fields.source, center), Term::from_field_u64(fields.target, center)];
    admission.for_each(&Term::from_field_u64(fields.subject, center), |address, segment, columns| {
        if columns.label(address.doc_id) == Some(Label::Session)
            && let Some(session) = segment.id_of(address.doc_id)
        {
            terms.push(Term::from_field_text(fields.graph_of, session));
        }
    })?;
    for term in terms {
        admission.for_each(&term, |address, _, columns| {
            let ends = [first(&columns.source, address.doc_id), first(&columns.target, address.doc_id)];
            if let (Some(fact), true) = (columns.subject.first(address.doc_id), ends[0].is_some()) {
                each(Tie { fact, ends });
            }
        })?;
    }
    Ok(())
}
