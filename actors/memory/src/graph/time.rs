//! Facts in time: when one ceased to hold, and which are asked for.

use baton_conversation::record::Timestamp;
use baton_graph::{End, Relation, Settled, end};
use tantivy::{DocId, Term};

use super::Fact;
use super::group::{Admission, Group, claims, first};
use crate::Error;
use crate::snapshot::GraphColumns;

/// A stretch of time, both ends included; without an end it goes on for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// From then on.
    pub after: Option<Timestamp>,
    /// Until then.
    pub before: Option<Timestamp>,
}

impl Window {
    /// Whether it leaves anything out.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// Whether a moment lies in it. What has no time lies in none but the open one.
    pub fn holds(&self, at: Option<Timestamp>) -> bool {
        let Some(at) = at else { return self.is_open() };
        self.after.is_none_or(|after| after <= at) && self.before.is_none_or(|before| at <= before)
    }
}

/// Which facts are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sieve<'a> {
    /// Of these relations, or called by one of `names`; without either: all.
    pub relations: &'a [Relation],
    /// Names that somebody gave relations, in any case.
    pub names: &'a [String],
    /// Those that began to hold then.
    pub valid: Window,
    /// Those that ceased to hold then. One that still holds has not.
    pub invalid: Window,
}

impl Sieve<'_> {
    /// Whether a document may be of such a fact, by its columns alone.
    pub(super) fn admits(&self, columns: &GraphColumns, doc: DocId) -> bool {
        let kind = || columns.relation(doc);
        let named = !self.names.is_empty() && kind() == Some(Relation::Told);
        let any = self.relations.is_empty() && self.names.is_empty();
        let rests = || columns.rests.as_ref().is_some_and(|rests| rests.first(doc).is_some());
        (any || named || kind().is_some_and(|relation| self.relations.contains(&relation)))
            && (self.invalid.is_open() || rests())
    }

    /// Whether a fact has to be read to know whether it is asked for.
    pub(super) fn reads(&self) -> bool {
        !self.invalid.is_open() || !self.valid.is_open() || !self.names.is_empty()
    }

    /// Whether a fact is asked for.
    pub fn keeps(&self, fact: &Fact) -> bool {
        let any = self.relations.is_empty() && self.names.is_empty();
        let kind = any
            || (fact.relation != Relation::Told && self.relations.contains(&fact.relation))
            || self.names.iter().any(|name| name.eq_ignore_ascii_case(&fact.name));
        kind && self.valid.holds(fact.valid_at) && self.invalid.holds(fact.invalid_at)
    }
}

/// When a fact ceased to hold: by the earliest of what contradicts it, from all that admitted sessions say. Looks up what
/// settles its slots, which few assertions do.
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
        ends.extend(end(subject, group.last, group.created, *claim, settled.into_iter()));
    }
    Ok(ends.into_iter().min_by_key(|end| (end.invalid_at, end.by)))
}
