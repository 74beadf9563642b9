//! Sessions that say a word or phrase, for exclusion from a list made by filters alone.

use baton_ask::query::Without;
use tantivy::index::SegmentReader;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};

use super::entity_filter::{SessionIds, SessionMatches};
use super::phrase::Phrase;
use super::required_terms::{TurnFilter, docs_with_token, index_decides};
use super::schema::kind;
use super::snapshot::Snapshot;
use super::texts::Texts;
use super::{Error, Searcher};

impl Searcher {
    /// Sessions that say something in a turn, their title or their episode: a word in any of its forms, a phrase word
    /// for word. Partial if the reading budget of a query is not enough.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions_saying(&self, what: &Without) -> Result<SessionMatches, Error> {
        let snapshot = self.snapshot();
        let fields = &snapshot.fields;
        let (Without::Word(text) | Without::Phrase(text)) = what;
        let phrase = Phrase::parse(text);
        let mut found = SessionMatches::default();
        match (what, phrase.stems.as_slice(), phrase.stops.as_slice()) {
            (_, [], []) => {}
            (Without::Word(_), [stem], []) if index_decides(stem) => {
                for field in [fields.body, fields.episode] {
                    add_with_token(&snapshot, field, stem, &mut found.sessions)?;
                }
            }
            (Without::Word(_), [], [stop]) => {
                add_with_token(&snapshot, fields.stops, stop, &mut found.sessions)?;
                let filter = TurnFilter::for_phrase(text, &snapshot)?;
                add_by_episode(&snapshot, &filter, &phrase, &mut Texts::default(), &mut found)?;
            }
            _ => add_with_phrase(&snapshot, text, &phrase, &mut found)?,
        }
        Ok(found)
    }
}

/// Adds the sessions of all documents that contain a token.
fn add_with_token(snapshot: &Snapshot, field: Field, token: &str, sessions: &mut SessionIds) -> Result<(), Error> {
    let term = Term::from_field_text(field, token);
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let Some(mut postings) = reader.inverted_index(field)?.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        let mut seen = vec![false; segment.ids.len()];
        while postings.doc() != TERMINATED {
            let session = segment.session.first(postings.doc()).map(|number| number as usize);
            if let Some(seen) = session.and_then(|number| seen.get_mut(number))
                && !*seen
                && !reader.is_deleted(postings.doc())
            {
                *seen = true;
                sessions.extend(segment.id_of(postings.doc()).map(Box::from));
            }
            postings.advance();
        }
    }
    Ok(())
}

/// Adds the sessions that contain a text word for word.
fn add_with_phrase(snapshot: &Snapshot, text: &str, phrase: &Phrase, found: &mut SessionMatches) -> Result<(), Error> {
    let filter = TurnFilter::for_phrase(text, snapshot)?;
    let mut texts = Texts::default();
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let segment_filter = filter.for_segment(snapshot, reader, segment)?;
        for doc in segment_filter.required().unwrap_or_default() {
            let Some(id) = segment.id_of(*doc).filter(|_| !reader.is_deleted(*doc)) else { continue };
            if found.sessions.contains(id) {
                continue;
            }
            let says = texts.admits(&filter, snapshot, DocAddress::new(number, *doc))?;
            if !record_result(found, id, says) {
                return Ok(());
            }
        }
    }
    add_by_episode(snapshot, &filter, phrase, &mut texts, found)
}

/// Adds the sessions whose title or episode contains it.
fn add_by_episode(
    snapshot: &Snapshot,
    filter: &TurnFilter,
    phrase: &Phrase,
    texts: &mut Texts,
    found: &mut SessionMatches,
) -> Result<(), Error> {
    let fields = &snapshot.fields;
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let mut docs = docs_with_term(reader, &Term::from_field_u64(fields.kind, kind::SESSION))?;
        // Stop words are indexed only for turns.
        for stem in &phrase.stems {
            docs = docs_with_token(reader, Some(docs), fields.episode, stem)?;
        }
        for doc in docs {
            let Some(id) = segment.id_of(doc).filter(|_| !reader.is_deleted(doc)) else { continue };
            if found.sessions.contains(id) {
                continue;
            }
            let says = texts.admits_episode(filter, snapshot, DocAddress::new(number, doc))?;
            if !record_result(found, id, says) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Records the result for a session; false if the budget is spent.
fn record_result(found: &mut SessionMatches, id: &str, says: Option<bool>) -> bool {
    match says {
        Some(true) => {
            found.sessions.insert(id.into());
        }
        Some(false) => {}
        None => found.is_partial = true,
    }
    says.is_some()
}

/// The documents that contain a term, ascending.
fn docs_with_term(reader: &SegmentReader, term: &Term) -> Result<Vec<DocId>, Error> {
    let index = reader.inverted_index(term.field())?;
    let mut docs = Vec::new();
    if let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? {
        while postings.doc() != TERMINATED {
            docs.push(postings.doc());
            postings.advance();
        }
    }
    Ok(docs)
}
