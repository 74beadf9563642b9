//! What sessions tried and how it went: one more document for each session that tried anything. It is found by the
//! commands that were run, the files that were touched and the words of its failures, and is replaced together with the
//! session's entities and facts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::schema::outcomes::{Outcomes, decode_but_calls, decode_commands, encode};
use baton_outcomes::{Witness, errors_text, search_keys};
use tantivy::columnar::Column;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use super::document::Drafter;
use super::limits::FAILURE_TERMS;
use super::schema::{Fields, column, kind, text};
use super::snapshot::{GroupAndProject, Snapshot};
use super::{Entry, Error, Searcher, query};

/// Selects sessions.
#[derive(Clone, Copy, Debug)]
pub enum Selector<'a> {
    /// Sessions with one of these keys; see [`search_keys`].
    Keys(&'a [String]),
    /// Sessions with a failure that has words of this text; those with the rarest words if there are too many.
    Failure(&'a str),
    /// All sessions.
    All,
    /// All sessions with their commands, retries and sequences alone.
    Commands,
}

/// A query for the outcomes of sessions.
#[derive(Clone, Copy)]
pub struct WitnessQuery<'a> {
    /// Which sessions to read.
    pub by: Selector<'a>,
    /// Restricts them to this group, this project, or projects below this directory.
    pub project: Option<&'a str>,
    /// True for ids of sessions to leave out.
    pub exclude: &'a dyn Fn(&str) -> bool,
    /// Maximum number of sessions to read.
    pub limit: usize,
}

/// Outcomes of the selected sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witnesses {
    /// Newest first.
    pub found: Vec<Witness>,
    /// Number of selected sessions beyond the limit, which were not read.
    pub more: usize,
}

/// The document of an entry's outcomes; `None` if nothing was tried.
pub(super) fn document(
    drafter: &mut Drafter,
    fields: &Fields,
    entry: &Entry<'_>,
    place: &str,
) -> Option<TantivyDocument> {
    let outcomes = entry.outcomes;
    if *outcomes == (Outcomes { v: outcomes.v, ..Outcomes::default() }) {
        return None;
    }
    let mut document = TantivyDocument::new();
    document.add_text(fields.session, entry.session.as_str());
    document.add_text(fields.place, place);
    document.add_u64(fields.generation, u64::from(entry.generation));
    document.add_u64(fields.ordinal, 0);
    document.add_text(fields.graph_of, entry.session.as_str());
    document.add_u64(fields.kind, kind::OUTCOMES);
    document.add_text(fields.title, entry.title);
    document.add_text(fields.uuid, entry.episode_uuid.to_string());
    if let Some(at) = entry.ended_at {
        document.add_i64(fields.seen, at.0);
    }
    for key in search_keys(outcomes) {
        document.add_text(fields.tried, key);
    }
    document.add_text(fields.failed, drafter.tokens(&[&errors_text(outcomes)]));
    document.add_text(fields.outcomes, encode(outcomes));
    Some(document)
}

/// A document that may be read.
struct Candidate {
    score: f32,
    seen: i64,
    session: Box<str>,
    address: DocAddress,
}

impl Searcher {
    /// Outcomes of the selected sessions, newest first. Reads at most `limit` documents.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn witnesses(&self, asked: &WitnessQuery<'_>) -> Result<Witnesses, Error> {
        let snapshot = self.snapshot();
        let mut candidates = candidates(&snapshot, asked)?;
        let newest = |one: &Candidate, other: &Candidate| {
            (Reverse(one.seen), &one.session).cmp(&(Reverse(other.seen), &other.session))
        };
        candidates.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| newest(one, other)));
        let more = candidates.len().saturating_sub(asked.limit);
        candidates.truncate(asked.limit);
        candidates.sort_by(newest);
        let decode: fn(&str) -> Option<(Outcomes, &str)> = match asked.by {
            Selector::Commands => decode_commands,
            _ => decode_but_calls,
        };
        let mut found = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            found.extend(witness(&snapshot, &candidate, decode)?);
        }
        Ok(Witnesses { found, more })
    }
}

fn candidates(snapshot: &Snapshot, asked: &WitnessQuery<'_>) -> Result<Vec<Candidate>, Error> {
    let fields = &snapshot.fields;
    let terms: Vec<(Term, f32)> = match asked.by {
        Selector::Keys(keys) => keys.iter().map(|key| (Term::from_field_text(fields.tried, key), 0.0)).collect(),
        Selector::All | Selector::Commands => vec![(Term::from_field_u64(fields.kind, kind::OUTCOMES), 0.0)],
        Selector::Failure(text) => {
            let wanted = query::words(text, fields.failed, snapshot.outcomes, snapshot)?.unwrap_or_default();
            let term = |wanted: query::Wanted| (Term::from_field_text(fields.failed, &wanted.token), wanted.weight);
            wanted.into_iter().take(FAILURE_TERMS).map(term).collect()
        }
    };
    let mut found = Vec::new();
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let mut scores: BTreeMap<u32, f32> = BTreeMap::new();
        for (term, weight) in &terms {
            let index = reader.inverted_index(term.field())?;
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                if !reader.is_deleted(postings.doc()) {
                    *scores.entry(postings.doc()).or_default() += weight;
                }
                postings.advance();
            }
        }
        if scores.is_empty() {
            continue;
        }
        let seen: Option<Column<i64>> = reader.fast_fields().column_opt(column::SEEN)?;
        let is_in = |place: &GroupAndProject| asked.project.is_none_or(|project| place.is_in(project));
        let places: Vec<bool> = segment.places.iter().map(is_in).collect();
        let is_in = |doc| {
            let place = segment.place.first(doc).and_then(|place| places.get(place as usize));
            place.map_or(asked.project.is_none(), |is_in| *is_in)
        };
        for (doc, score) in scores {
            let Some(session) = segment.id_of(doc).filter(|id| is_in(doc) && !(asked.exclude)(id)) else { continue };
            found.push(Candidate {
                score,
                seen: seen.as_ref().and_then(|seen| seen.first(doc)).unwrap_or(i64::MIN),
                session: session.into(),
                address: DocAddress::new(number, doc),
            });
        }
    }
    Ok(found)
}

/// Decodes a document. `None` if its outcomes have another version.
fn witness(
    snapshot: &Snapshot,
    candidate: &Candidate,
    decode: fn(&str) -> Option<(Outcomes, &str)>,
) -> Result<Option<Witness>, Error> {
    let document: TantivyDocument = snapshot.searcher.doc(candidate.address)?;
    let Some((outcomes, calls)) = decode(text(&document, snapshot.fields.outcomes)) else { return Ok(None) };
    let segment = snapshot.segments.get(candidate.address.segment_ord as usize);
    let place = segment.and_then(|segment| {
        let number = segment.place.first(candidate.address.doc_id)?;
        segment.places.get(number as usize)
    });
    Ok(SessionId::new(&candidate.session).map(|session| Witness {
        session: session.to_string(),
        project: place.and_then(|place| place.project.as_deref()).map(str::to_owned),
        title: text(&document, snapshot.fields.title).to_owned(),
        at: (candidate.seen > i64::MIN).then_some(Timestamp(candidate.seen)),
        outcomes,
        calls: calls.to_owned(),
    }))
}
