//! Single facts and entities, and everything that given sessions say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::Label;
use tantivy::Term;
use uuid::Uuid;

use super::admission::{Admission, first};
use super::{Fact, Node, group, key};
use crate::{Error, Searcher};

/// Maximum number of sessions that [`Searcher::supporters`] returns.
const MOST_SUPPORTERS: usize = 500;

/// Entities and facts of some sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionGraph {
    /// Entities that they mention, most supported first.
    pub nodes: Vec<Node>,
    /// Facts that they support, latest first.
    pub facts: Vec<Fact>,
    /// True if a limit cut the lists.
    pub more: bool,
}

/// The facts that begin or end at an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactsAt {
    /// Those that began by the time in question, the latest first.
    pub facts: Vec<Fact>,
    /// Number of those beyond the limit, which were not read.
    pub more: usize,
    /// When any of them began.
    pub began: BTreeSet<Timestamp>,
}

impl Searcher {
    /// The facts that begin or end at an entity and began by a time or at an unknown one, at most `most`.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn facts_at(
        &self,
        node: Uuid,
        until: Timestamp,
        exclude: &dyn Fn(&str) -> bool,
        most: usize,
    ) -> Result<FactsAt, Error> {
        let snapshot = self.snapshot();
        let (admission, fields) = (Admission::new(&snapshot, exclude), &snapshot.fields);
        // Of each fact when it began and when it was last said.
        let mut ties: BTreeMap<u64, (Option<i64>, Option<i64>)> = BTreeMap::new();
        for field in [fields.source, fields.target] {
            admission.for_each(&Term::from_field_u64(field, key(node)), |address, _, columns| {
                let doc = address.doc_id;
                let Some(subject) = columns.subject.first(doc).filter(|_| columns.label(doc).is_none()) else { return };
                let (since, last) = ties.entry(subject).or_default();
                *since = [*since, first(&columns.since, doc)].into_iter().flatten().min();
                *last = (*last).max(first(&columns.last, doc));
            })?;
        }
        let began = ties.values().filter_map(|(since, _)| since.map(Timestamp)).collect();
        let mut by_then: Vec<(u64, Option<i64>)> = ties
            .into_iter()
            .filter(|(_, (since, _))| since.is_none_or(|since| since <= until.0))
            .map(|(subject, (since, last))| (subject, last.max(since)))
            .collect();
        by_then.sort_unstable_by_key(|(subject, last)| (Reverse(*last), *subject));
        let mut found = FactsAt { more: by_then.len().saturating_sub(most), began, ..FactsAt::default() };
        for (subject, _) in by_then.into_iter().take(most) {
            found.facts.extend(super::fact(&admission, subject)?);
        }
        Ok(found)
    }

    /// The kind of an entity, if a session that is not excluded mentions it.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn label(&self, node: Uuid, exclude: &dyn Fn(&str) -> bool) -> Result<Option<Label>, Error> {
        let snapshot = self.snapshot();
        Ok(group::read(&Admission::new(&snapshot, exclude), key(node))?.label)
    }

    /// Hides these facts from all queries, whichever sessions support them.
    pub fn without_facts(self, facts: impl IntoIterator<Item = Uuid>) -> Self {
        self.without_subjects(facts.into_iter().map(key).collect())
    }

    /// The fact with this uuid, if a session that is not excluded supports it.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn fact(&self, uuid: Uuid, exclude: &dyn Fn(&str) -> bool) -> Result<Option<Fact>, Error> {
        let snapshot = self.snapshot();
        let found = super::fact(&Admission::new(&snapshot, exclude), key(uuid))?;
        Ok(found.filter(|fact| fact.uuid == uuid))
    }

    /// The sessions that support a fact; at most 500.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn supporters(&self, uuid: Uuid, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<SessionId>, Error> {
        let snapshot = self.snapshot();
        let admission = Admission::new(&snapshot, exclude);
        let mut found = BTreeSet::new();
        let term = Term::from_field_u64(snapshot.fields.subject, key(uuid));
        admission.for_each(&term, |address, segment, columns| {
            let id = segment.id_of(address.doc_id).filter(|_| columns.label(address.doc_id).is_none());
            if found.len() < MOST_SUPPORTERS {
                found.extend(id.and_then(SessionId::new));
            }
        })?;
        Ok(found.into_iter().collect())
    }

    /// The entity with this uuid, if a session that is not excluded mentions it.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn node(&self, uuid: Uuid, exclude: &dyn Fn(&str) -> bool) -> Result<Option<Node>, Error> {
        let snapshot = self.snapshot();
        let found = super::node(&Admission::new(&snapshot, exclude), key(uuid))?;
        Ok(found.filter(|node| node.uuid == uuid))
    }

    /// The entities and facts of these sessions, each with what all sessions say of it; at most `most` of either.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn graph_of_sessions(
        &self,
        sessions: &[SessionId],
        exclude: &dyn Fn(&str) -> bool,
        most: usize,
    ) -> Result<SessionGraph, Error> {
        let snapshot = self.snapshot();
        let admission = Admission::new(&snapshot, exclude);
        let (mut of_nodes, mut of_facts) = (BTreeSet::new(), BTreeSet::new());
        for session in sessions {
            let term = Term::from_field_text(snapshot.fields.graph_of, session.as_str());
            admission.for_each(&term, |address, _, columns| {
                let Some(subject) = columns.subject.first(address.doc_id) else { return };
                match columns.label(address.doc_id) {
                    Some(_) => of_nodes.insert(subject),
                    None => of_facts.insert(subject),
                };
            })?;
        }
        let mut found_graph =
            SessionGraph { more: of_nodes.len() > most || of_facts.len() > most, ..SessionGraph::default() };
        // If there are too many, the first by key, an arbitrary choice; a session has a few hundred at most.
        for subject in of_nodes.into_iter().take(most) {
            found_graph.nodes.extend(super::node(&admission, subject)?);
        }
        for subject in of_facts.into_iter().take(most) {
            found_graph.facts.extend(super::fact(&admission, subject)?);
        }
        found_graph.nodes.sort_by(|a, b| (b.sessions, b.count, &a.name).cmp(&(a.sessions, a.count, &b.name)));
        found_graph.facts.sort_by(|a, b| (b.valid_at, a.uuid).cmp(&(a.valid_at, b.uuid)));
        Ok(found_graph)
    }
}
