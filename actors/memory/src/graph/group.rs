//! Members put together: which entities and facts fit a question, and what the members of one say together.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;

use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::{Claim, Label, Relation, valued_fact_uuid};
use tantivy::columnar::Column;
use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{DocAddress, DocId, DocSet, Score, TERMINATED, TantivyDocument, Term};
use uuid::Uuid;

use super::GraphQuery;
use super::center::Near;
use crate::limits::{GRAPH_GROUPS, GROUP_EPISODES};
use crate::schema::{kind, text};
use crate::snapshot::{GraphColumns, Segment, Snapshot};
use crate::{Error, query, turns};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    Nodes,
    Facts,
}

/// A matching document.
struct Hit {
    segment: usize,
    doc: DocId,
    score: Score,
    /// The index of the hit before it of the same group.
    before: Option<u32>,
}

/// A group with what orders it: the greatest first.
#[derive(Clone, Copy, PartialEq)]
struct Rank {
    nearness: Reverse<u8>,
    score: Score,
    /// How many of its members match.
    support: u64,
    seen: i64,
    subject: Reverse<u64>,
    /// False while members of excluded sessions may count, so that it may come too early but never too late.
    is_exact: bool,
}

impl Eq for Rank {}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = |rank: &Self| (rank.support, rank.seen, rank.subject, rank.is_exact);
        (self.nearness.cmp(&other.nearness))
            .then_with(|| self.score.total_cmp(&other.score))
            .then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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

/// The keys of the entities or facts that match a query, best first; at most `most`.
pub(super) fn ranked(
    admission: &Admission<'_>,
    kin: Kin,
    query: &GraphQuery<'_>,
    near: &Near,
    most: usize,
) -> Result<Vec<u64>, Error> {
    let snapshot = admission.snapshot;
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
    let mut hits: Vec<Hit> = Vec::new();
    // The rank of each group were no session excluded, and its last hit.
    let mut groups: HashMap<u64, (Rank, u32)> = HashMap::new();
    for (number, (reader, segment)) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).enumerate() {
        let Some(columns) = &segment.graph else { continue };
        weight.for_each(reader, &mut |doc, score| {
            let wanted = match kin {
                Kin::Nodes => {
                    query.labels.is_empty() || columns.label(doc).is_some_and(|label| query.labels.contains(&label))
                }
                Kin::Facts => query.sieve.admits(columns, doc),
            };
            let Some(subject) = columns.subject.first(doc).filter(|_| wanted) else { return };
            if reader.is_deleted(doc) || snapshot.gone.contains(&subject) {
                return;
            }
            let score = if listing { 0.0 } else { score };
            let Ok(index) = u32::try_from(hits.len()) else { return };
            let has_room = groups.len() < GRAPH_GROUPS;
            let before = match groups.entry(subject) {
                Entry::Occupied(mut known) => {
                    let (rank, last) = known.get_mut();
                    rank.add(columns, doc, score);
                    Some(std::mem::replace(last, index))
                }
                Entry::Vacant(vacant) if has_room => {
                    let mut rank = Rank::new(subject, near);
                    rank.add(columns, doc, score);
                    vacant.insert((rank, index));
                    None
                }
                Entry::Vacant(_) => return,
            };
            hits.push(Hit { segment: number, doc, score, before });
        })?;
    }
    // Whether a session is excluded costs much to ask, so only those of the groups that come first are asked for.
    let exact = |subject: u64| {
        let (mut rank, mut since) = (Rank::new(subject, near), None);
        let mut next = groups.get(&subject).map(|(_, last)| *last);
        while let Some(hit) = next.and_then(|index| hits.get(index as usize)) {
            next = hit.before;
            let segment = &admission.segments[hit.segment];
            if let Some(columns) = segment.segment.graph.as_ref().filter(|_| admission.admits(segment, hit.doc)) {
                rank.add(columns, hit.doc, hit.score);
                since = [since, first(&columns.since, hit.doc)].into_iter().flatten().min();
            }
        }
        let began = kin == Kin::Nodes || query.sieve.valid.holds(since.map(Timestamp));
        (rank.support > 0 && began).then_some(Rank { is_exact: true, ..rank })
    };
    let mut queue: BinaryHeap<Rank> = groups.values().map(|(rank, _)| *rank).collect();
    let mut ranked = Vec::new();
    while let Some(rank) = queue.pop().filter(|_| ranked.len() < most) {
        match rank.is_exact {
            true => ranked.push(rank.subject.0),
            false => queue.extend(exact(rank.subject.0)),
        }
    }
    Ok(ranked)
}

impl Rank {
    fn new(subject: u64, near: &Near) -> Self {
        let nearness = Reverse(near.rank(subject));
        Self { nearness, score: 0.0, support: 0, seen: i64::MIN, subject: Reverse(subject), is_exact: false }
    }

    fn add(&mut self, columns: &GraphColumns, doc: DocId, score: Score) {
        self.score = self.score.max(score);
        self.support += 1;
        self.seen = self.seen.max(first(&columns.seen, doc).unwrap_or(i64::MIN));
    }
}

/// Which documents of a snapshot count: `exclude` is asked at most once for each session of a segment.
pub(super) struct Admission<'a> {
    pub(super) snapshot: &'a Snapshot,
    exclude: &'a dyn Fn(&str) -> bool,
    segments: Vec<SegmentAdmission<'a>>,
}

struct SegmentAdmission<'a> {
    segment: &'a Segment,
    /// By the number of the session in the segment; `None` until it is asked for.
    known: Box<[Cell<Option<bool>>]>,
}

impl<'a> Admission<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, exclude: &'a dyn Fn(&str) -> bool) -> Self {
        let known = |segment: &Segment| vec![Cell::new(None); segment.ids.len()].into_boxed_slice();
        let segments =
            snapshot.segments.iter().map(|segment| SegmentAdmission { segment, known: known(segment) }).collect();
        Self { snapshot, exclude, segments }
    }

    /// True if the document's session is not excluded and its fact is not deleted.
    fn admits(&self, SegmentAdmission { segment, known }: &SegmentAdmission<'_>, doc: DocId) -> bool {
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
    fn try_for_each(
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

/// All members of one entity or fact.
#[derive(Default)]
pub(super) struct Group<'a> {
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
    /// How many sessions have it; each has one member.
    pub(super) sessions: u64,
    /// Of these the latest, the latest first; at most [`GROUP_EPISODES`].
    members: Vec<(Reverse<i64>, &'a str, DocAddress)>,
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
pub(super) fn read<'a>(admission: &Admission<'a>, subject: u64) -> Result<Group<'a>, Error> {
    let mut group = Group::default();
    let term = Term::from_field_u64(admission.snapshot.fields.subject, subject);
    admission.for_each(&term, |address, segment, columns| {
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
        group.members.push((Reverse(seen.unwrap_or(i64::MIN)), session, address));
    })?;
    group.rests.sort_unstable();
    group.rests.dedup();
    group.sessions = group.members.len() as u64;
    if group.members.len() > GROUP_EPISODES {
        group.members.select_nth_unstable(GROUP_EPISODES);
        group.members.truncate(GROUP_EPISODES);
    }
    group.members.sort_unstable();
    Ok(group)
}

impl Group<'_> {
    /// What the latest members store.
    pub(super) fn latest(&self, snapshot: &Snapshot, most: usize) -> Result<Vec<Member>, Error> {
        self.members.iter().take(most).map(|(_, session, address)| member(snapshot, session, *address)).collect()
    }
}

/// What an entity is called; empty when no admitted session has it.
pub(super) fn name(admission: &Admission<'_>, subject: u64) -> Result<String, Error> {
    let snapshot = admission.snapshot;
    let term = Term::from_field_u64(snapshot.fields.subject, subject);
    let mut found = None;
    admission.try_for_each(&term, |address, _, columns| match columns.label(address.doc_id) {
        Some(_) => {
            found = Some(address);
            ControlFlow::Break(())
        }
        None => ControlFlow::Continue(()),
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
