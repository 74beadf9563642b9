//! Facts in time: when a fact ceased to hold, and filters by time.

use baton_conversation::record::Timestamp;
use baton_graph::{End, Relation, Settled, claim_end};
use tantivy::{DocId, Term};

use super::Fact;
use super::admission::{Admission, claims, first};
use super::group::Group;
use crate::Error;
use crate::snapshot::GraphColumns;

/// A period of time, both ends inclusive; a missing end is unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Start of the period.
    pub after: Option<Timestamp>,
    /// End of the period.
    pub before: Option<Timestamp>,
}

impl Window {
    /// True if it is unbounded at both ends.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// True if a time lies in the period. A missing time lies only in the unbounded one.
    pub fn holds(&self, at: Option<Timestamp>) -> bool {
        let Some(at) = at else { return self.is_open() };
        self.after.is_none_or(|after| after <= at) && self.before.is_none_or(|before| at <= before)
    }
}

/// A filter for facts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sieve<'a> {
    /// Only facts of these relations or with one of `names`; all facts if both are empty.
    pub relations: &'a [Relation],
    /// Names given to custom relations, case-insensitive.
    pub names: &'a [String],
    /// Only facts that began to hold in this period.
    pub valid: Window,
    /// Only facts that ceased to hold in this period; facts that still hold do not match a bounded one.
    pub invalid: Window,
}

impl Sieve<'_> {
    /// Preliminary check of an assertion by its columns alone.
    pub(super) fn admits(&self, columns: &GraphColumns, doc: DocId) -> bool {
        let kind = || columns.relation(doc);
        let named = !self.names.is_empty() && kind() == Some(Relation::Custom);
        let any = self.relations.is_empty() && self.names.is_empty();
        let rests = || columns.rests.as_ref().is_some_and(|rests| rests.first(doc).is_some());
        (any || named || kind().is_some_and(|relation| self.relations.contains(&relation)))
            && (self.invalid.is_open() || rests())
    }

    /// True if the whole fact must be read to decide.
    pub(super) fn reads(&self) -> bool {
        !self.invalid.is_open() || !self.valid.is_open() || !self.names.is_empty()
    }

    /// True if a fact passes the filter.
    pub fn keeps(&self, fact: &Fact) -> bool {
        let any = self.relations.is_empty() && self.names.is_empty();
        let kind = any
            || (fact.relation != Relation::Custom && self.relations.contains(&fact.relation))
            || self.names.iter().any(|name| name.eq_ignore_ascii_case(&fact.name));
        kind && self.valid.holds(fact.valid_at) && self.invalid.holds(fact.invalid_at)
    }
}

/// When a fact ceased to hold: at the earliest contradicting fact, by what all admitted sessions say. Looks up the
/// assertions that settle one of its slots, which are few.
pub(super) fn ended(admission: &Admission<'_>, subject: u64, group: &Group<'_>) -> Result<Option<End>, Error> {
    let mut ends = Vec::new();
    for claim in &group.rests {
        let mut settled: Vec<Settled> = Vec::new();
        let term = Term::from_field_u64(admission.snapshot.fields.settles, claim.slot);
        admission.for_each(&term, |address, _, columns| {
            let doc = address.doc_id;
            let Some(fact) = columns.subject.first(doc) else { return };
            let [since, last, recorded] =
                [&columns.since, &columns.last, &columns.created].map(|column| first(column, doc).map(Timestamp));
            let all = claims(&columns.settles, doc).into_iter();
            settled.extend(all.map(|claim| Settled { claim, fact, since, last, recorded }));
        })?;
        ends.extend(claim_end(subject, group.last, group.created, *claim, settled.into_iter()));
    }
    Ok(ends.into_iter().min_by_key(|end| (end.invalid_at, end.by)))
}
