//! Ranks the entities or facts that match a query.

use std::cmp::{Ordering, Reverse};
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};

use baton_conversation::record::Timestamp;
use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query as _, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Score, Term};

use super::GraphQuery;
use super::admission::{Admission, first};
use super::center::Near;
use crate::limits::GRAPH_GROUPS;
use crate::schema::kind;
use crate::snapshot::{GraphColumns, Snapshot};
use crate::{Error, query, turns};

/// Kind of group to rank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nodes,
    Facts,
}

/// A matching document.
struct Hit {
    segment: usize,
    doc: DocId,
    score: Score,
    /// Index of the previous hit of the same group.
    before: Option<u32>,
}

/// A group with its sort key, best last.
#[derive(Clone, Copy, PartialEq)]
struct Rank {
    nearness: Reverse<u8>,
    score: Score,
    /// Number of matching members.
    support: u64,
    seen: i64,
    subject: Reverse<u64>,
    /// False while members of excluded sessions may count. The group may then rank too high, but never too low.
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

/// Statistics over the documents of one kind; other kinds lack its field.
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

/// Returns the keys of at most `most` matching entities or facts, best first.
pub(super) fn ranked(
    admission: &Admission<'_>,
    wanted: Kind,
    query: &GraphQuery<'_>,
    near: &Near,
    most: usize,
) -> Result<Vec<u64>, Error> {
    let snapshot = admission.snapshot;
    let (field, all, number) = match wanted {
        Kind::Nodes => (snapshot.fields.entity, snapshot.mentions, kind::MENTION),
        Kind::Facts => (snapshot.fields.fact, snapshot.assertions, kind::ASSERTION),
    };
    let words = query::words(query.text, field, all, snapshot)?;
    let listing = words.is_none();
    let weight: Box<dyn Weight> = match words {
        Some(wanted) if wanted.is_empty() => return Ok(Vec::new()),
        Some(wanted) => turns::any_of(snapshot, &wanted, field, &Counts(snapshot, all))?,
        None => {
            let every = TermQuery::new(Term::from_field_u64(snapshot.fields.kind, number), IndexRecordOption::Basic);
            every.weight(EnableScoring::disabled_from_searcher(&snapshot.searcher))?
        }
    };
    let mut hits: Vec<Hit> = Vec::new();
    // Rank of each group if no session were excluded, and the index of its last hit.
    let mut groups: HashMap<u64, (Rank, u32)> = HashMap::new();
    for (number, (reader, segment)) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).enumerate() {
        let Some(columns) = &segment.graph else { continue };
        weight.for_each(reader, &mut |doc, score| {
            let is_wanted = match wanted {
                Kind::Nodes => {
                    query.labels.is_empty() || columns.label(doc).is_some_and(|label| query.labels.contains(&label))
                }
                Kind::Facts => query.sieve.admits(columns, doc),
            };
            let Some(subject) = columns.subject.first(doc).filter(|_| is_wanted) else { return };
            if reader.is_deleted(doc) || snapshot.gone.contains(&subject) {
                return;
            }
            let score = if listing { 0.0 } else { score };
            let Ok(index) = u32::try_from(hits.len()) else { return };
            // Once half the room is taken, excluded sessions get no more of it.
            let may_be_excluded = groups.len() < GRAPH_GROUPS / 2;
            let has_room = groups.len() < GRAPH_GROUPS;
            let before = match groups.entry(subject) {
                Entry::Occupied(mut known) => {
                    let (rank, last) = known.get_mut();
                    rank.add(columns, doc, score);
                    Some(std::mem::replace(last, index))
                }
                Entry::Vacant(vacant)
                    if may_be_excluded || has_room && admission.admits(&admission.segments[number], doc) =>
                {
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
    // Asking whether a session is excluded is expensive, so only members of the top groups are checked.
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
        let began = wanted == Kind::Nodes || query.sieve.valid.holds(since.map(Timestamp));
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
