//! Members put together: which entities and facts fit a question, and what the members of one say together.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::{Claim, Label, Relation, valued_fact_uuid};
use tantivy::columnar::Column;
use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{DocAddress, DocId, DocSet, Score, TERMINATED, TantivyDocument, Term};
use uuid::Uuid;

use super::GraphQuery;
use super::center::Near;
use crate::limits::GRAPH_GROUPS;
use crate::schema::kind;
use crate::searcher::text;
use crate::snapshot::{GraphColumns, Segment, Snapshot};
use crate::{Error, query, turns};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    Nodes,
    Facts,
}

/// A group on its way to its rank.
struct Found {
    score: Score,
    /// Members found.
    support: u64,
    seen: i64,
    since: Option<i64>,
}

/// Counts of one kind of documents alone: the others have not its field.
struct Counts<'a>(&'a Snapshot, u64);

impl Bm25StatisticsProvider for Counts<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.0.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.1)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.0.searcher.doc_freq(term)?.min(self.1))
    }
}

/// The keys of what fits a question, best first; all of it, so that any page can be cut out.
pub(super) fn ranked(snapshot: &Snapshot, kin: Kin, query: &GraphQuery<'_>, near: &Near) -> Result<Vec<u64>, Error> {
    let (field, all, number) = match kin {
        Kin::Nodes => (snapshot.fields.entity, snapshot.mentions, kind::MENTION),
        Kin::Facts => (snapshot.fields.fact, snapshot.assertions, kind::ASSERTION),
    };
    let words = query::words(query.text, field, all, snapshot)?;
    let listing = words.is_none();
    let weight: Box<dyn Weight> = match words {
        Some(wanted) if wanted.is_empty() => return Ok(Vec::new()),
        Some(wanted) => turns::any_of(snapshot, &wanted, &[field], &Counts(snapshot, all))?,
        None => {
            let every = TermQuery::new(Term::from_field_u64(snapshot.fields.kind, number), IndexRecordOption::Basic);
            every.weight(EnableScoring::disabled_from_searcher(&snapshot.searcher))?
        }
    };
    let mut groups: BTreeMap<u64, Found> = BTreeMap::new();
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let Some(columns) = &segment.graph else { continue };
        let mut sessions = Admitted::new(snapshot, segment, query.exclude);
        weight.for_each(reader, &mut |doc, score| {
            let wanted = match kin {
                Kin::Nodes => {
                    query.labels.is_empty() || columns.label(doc).is_some_and(|label| query.labels.contains(&label))
                }
                Kin::Facts => query.sieve.admits(columns, doc),
            };
            let Some(subject) = columns.subject.first(doc).filter(|_| wanted) else { return };
            if reader.is_deleted(doc) || !sessions.admits(doc) {
                return;
            }
            let seen = first(&columns.seen, doc).unwrap_or(i64::MIN);
            let since = first(&columns.since, doc);
            let score = if listing { 0.0 } else { score };
            let room = groups.len() < GRAPH_GROUPS;
            match groups.entry(subject) {
                Entry::Occupied(mut known) => {
                    let found = known.get_mut();
                    found.score = found.score.max(score);
                    found.support += 1;
                    found.seen = found.seen.max(seen);
                    found.since = [found.since, since].into_iter().flatten().min();
                }
                Entry::Vacant(vacant) if room => {
                    vacant.insert(Found { score, support: 1, seen, since });
                }
                Entry::Vacant(_) => {}
            }
        })?;
    }
    let began = |found: &Found| kin == Kin::Nodes || query.sieve.valid.holds(found.since.map(Timestamp));
    let mut ranked: Vec<(u64, Found)> = groups.into_iter().filter(|(_, found)| began(found)).collect();
    ranked.sort_by(|(a, one), (b, other)| {
        near.rank(*a).cmp(&near.rank(*b)).then_with(|| other.score.total_cmp(&one.score)).then_with(|| {
            (Reverse(one.support), Reverse(one.seen), a).cmp(&(Reverse(other.support), Reverse(other.seen), b))
        })
    });
    Ok(ranked.into_iter().map(|(subject, _)| subject).collect())
}

/// Whether the sessions of a segment's documents count, asked once for each, and no fact that nobody is told of.
pub(super) struct Admitted<'a> {
    gone: &'a BTreeSet<u64>,
    segment: &'a Segment,
    exclude: &'a dyn Fn(&str) -> bool,
    known: Vec<Option<bool>>,
}

impl<'a> Admitted<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, segment: &'a Segment, exclude: &'a dyn Fn(&str) -> bool) -> Self {
        Self { gone: &snapshot.gone, segment, exclude, known: vec![None; segment.ids.len()] }
    }

    pub(super) fn admits(&mut self, doc: DocId) -> bool {
        let subject = || self.segment.graph.as_ref().and_then(|columns| columns.subject.first(doc));
        if !self.gone.is_empty() && subject().is_some_and(|subject| self.gone.contains(&subject)) {
            return false;
        }
        let Some(number) = self.segment.session.first(doc).map(|number| number as usize) else { return false };
        let (Some(id), Some(known)) = (self.segment.ids.get(number), self.known.get_mut(number)) else { return false };
        *known.get_or_insert_with(|| !(self.exclude)(id))
    }
}

pub(super) fn first<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Option<Column<T>>,
    doc: DocId,
) -> Option<T> {
    column.as_ref().and_then(|column| column.first(doc))
}

impl GraphColumns {
    /// Of a mention: what it is.
    pub(crate) fn label(&self, doc: DocId) -> Option<Label> {
        let number = first(&self.label, doc)?;
        Label::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Of an assertion: the relation.
    pub(super) fn relation(&self, doc: DocId) -> Option<Relation> {
        let number = first(&self.relation, doc)?;
        Relation::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// The claims in a column of slots and values.
pub(super) fn claims(column: &Option<Column<u64>>, doc: DocId) -> Vec<Claim> {
    let numbers: Vec<u64> = column.iter().flat_map(|column| column.values_for_doc(doc)).collect();
    numbers.chunks_exact(2).map(|pair| Claim { slot: pair[0], value: pair[1] }).collect()
}

/// Calls `each` with every admitted live document that has a number in a field.
pub(super) fn for_each(
    snapshot: &Snapshot,
    term: &Term,
    exclude: &dyn Fn(&str) -> bool,
    mut each: impl FnMut(DocAddress, &Segment, &GraphColumns),
) -> Result<(), Error> {
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let Some(columns) = &segment.graph else { continue };
        let index = reader.inverted_index(term.field())?;
        let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
        let mut sessions = Admitted::new(snapshot, segment, exclude);
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            if !reader.is_deleted(doc) && sessions.admits(doc) {
                each(DocAddress::new(number, doc), segment, columns);
            }
            postings.advance();
        }
    }
    Ok(())
}

/// All members of one entity or fact.
#[derive(Default)]
pub(super) struct Group {
    /// Of an entity.
    pub(super) label: Option<Label>,
    pub(super) group_id: String,
    pub(super) created: Option<Timestamp>,
    pub(super) since: Option<Timestamp>,
    pub(super) seen: Option<Timestamp>,
    pub(super) count: u64,
    /// Of a fact: when it was said last.
    pub(super) last: Option<Timestamp>,
    /// Of a fact: what it rests on by any of its sessions.
    pub(super) rests: Vec<Claim>,
    /// Latest first; one session has one.
    pub(super) members: Vec<(Reverse<i64>, Box<str>, DocAddress)>,
}

/// What a member stores.
pub(super) struct Member {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) source: Uuid,
    pub(super) target: Uuid,
    pub(super) value: String,
    pub(super) episode: Uuid,
    /// Whether a model says so, and no rule.
    pub(super) by_model: bool,
    session: Option<SessionId>,
    line: u64,
}

/// Everything of one key.
pub(super) fn read(snapshot: &Snapshot, subject: u64, exclude: &dyn Fn(&str) -> bool) -> Result<Group, Error> {
    let mut group = Group::default();
    let term = Term::from_field_u64(snapshot.fields.subject, subject);
    for_each(snapshot, &term, exclude, |address, segment, columns| {
        let doc = address.doc_id;
        if let Some(place) = segment.place.first(doc).and_then(|number| segment.places.get(number as usize))
            && group.group_id.is_empty()
        {
            group.group_id = place.group.to_string();
        }
        let earlier = |known: Option<Timestamp>, column| match (known, first(column, doc).map(Timestamp)) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        group.created = earlier(group.created, &columns.created);
        group.since = earlier(group.since, &columns.since);
        let seen = first(&columns.seen, doc);
        group.seen = group.seen.max(seen.map(Timestamp));
        group.label = group.label.or_else(|| columns.label(doc));
        group.last = group.last.max(first(&columns.last, doc).map(Timestamp));
        group.rests.extend(claims(&columns.rests, doc));
        group.count = group.count.saturating_add(first(&columns.count, doc).unwrap_or(0));
        let session = segment.id_of(doc).unwrap_or_default();
        group.members.push((Reverse(seen.unwrap_or(i64::MIN)), session.into(), address));
    })?;
    group.rests.sort_unstable();
    group.rests.dedup();
    group.members.sort_by(|(seen, session, _), (other_seen, other, _)| (seen, session).cmp(&(other_seen, other)));
    Ok(group)
}

impl Group {
    /// What the latest members store.
    pub(super) fn latest(&self, snapshot: &Snapshot, most: usize) -> Result<Vec<Member>, Error> {
        self.members.iter().take(most).map(|(_, session, address)| member(snapshot, session, *address)).collect()
    }
}

/// What an entity is called; empty when no admitted session has it.
pub(super) fn name(snapshot: &Snapshot, subject: u64, exclude: &dyn Fn(&str) -> bool) -> Result<String, Error> {
    let mut found = None;
    let term = Term::from_field_u64(snapshot.fields.subject, subject);
    for_each(snapshot, &term, exclude, |address, _, columns| {
        if found.is_none() && columns.label(address.doc_id).is_some() {
            found = Some(address);
        }
    })?;
    let Some(address) = found else { return Ok(String::new()) };
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    Ok(text(&document, snapshot.fields.title).to_owned())
}

/// The text that a document stores.
pub(super) fn stored_text(snapshot: &Snapshot, address: DocAddress) -> Result<String, Error> {
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    Ok(text(&document, snapshot.fields.text).to_owned())
}

fn member(snapshot: &Snapshot, session: &str, address: DocAddress) -> Result<Member, Error> {
    let fields = &snapshot.fields;
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    let ends = document.get_first(fields.ends).and_then(|value| value.as_bytes()).unwrap_or_default();
    let end = |at: usize| ends.get(at..at + 16).and_then(|end| Uuid::from_slice(end).ok()).unwrap_or_default();
    Ok(Member {
        title: text(&document, fields.title).to_owned(),
        text: text(&document, fields.text).to_owned(),
        source: end(0),
        target: end(16),
        value: text(&document, fields.value).to_owned(),
        episode: text(&document, fields.uuid).parse().unwrap_or_default(),
        by_model: document.get_first(fields.by_model).is_some(),
        session: SessionId::new(session),
        line: document.get_first(fields.line).and_then(|value| value.as_u64()).unwrap_or(0),
    })
}

impl Member {
    /// Of a fact: its uuid.
    pub(super) fn fact(&self, group: &str) -> Uuid {
        valued_fact_uuid(group, &self.title, self.source, self.target, &self.value)
    }

    /// The session, and the transcript line in it.
    pub(super) fn place(self) -> Option<(SessionId, u64)> {
        self.session.map(|session| (session, self.line))
    }
}
