//! Sessions that say a word or phrase, for exclusion from a list made by filters alone.

use baton_ask::query::Without;
use tantivy::index::SegmentReader;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};

use super::entity_filter::{Having, Sessions};
use super::required_terms::{Demand, is_told_by_index, narrowed};
use super::schema::kind;
use super::sequence::Phrase;
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
    pub fn saying(&self, what: &Without) -> Result<Having, Error> {
        let snapshot = self.snapshot();
        let fields = &snapshot.fields;
        let (Without::Word(text) | Without::Phrase(text)) = what;
        let phrase = Phrase::read(text);
        let mut said = Having::default();
        match (what, phrase.stems.as_slice(), phrase.stops.as_slice()) {
            (_, [], []) => {}
            (Without::Word(_), [stem], []) if is_told_by_index(stem) => {
                for field in [fields.body, fields.words, fields.episode] {
                    with_token(&snapshot, field, stem, &mut said.sessions)?;
                }
            }
            (Without::Word(_), [], [stop]) => {
                with_token(&snapshot, fields.stops, stop, &mut said.sessions)?;
                let demand = Demand::of_phrase(text, &snapshot)?;
                in_episodes(&snapshot, &demand, &phrase, &mut Texts::default(), &mut said)?;
            }
            _ => word_for_word(&snapshot, text, &phrase, &mut said)?,
        }
        Ok(said)
    }
}

/// Adds the sessions of all documents that contain a token.
fn with_token(snapshot: &Snapshot, field: Field, token: &str, sessions: &mut Sessions) -> Result<(), Error> {
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
fn word_for_word(snapshot: &Snapshot, text: &str, phrase: &Phrase, said: &mut Having) -> Result<(), Error> {
    let demand = Demand::of_phrase(text, snapshot)?;
    let mut texts = Texts::default();
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let gate = demand.gate(snapshot, reader, segment)?;
        for doc in gate.required() {
            let Some(id) = segment.id_of(*doc).filter(|_| !reader.is_deleted(*doc)) else { continue };
            if said.sessions.contains(id) || !gate.admits_session(id) {
                continue;
            }
            let says = texts.admits(&demand, snapshot, DocAddress::new(number, *doc))?;
            if !take(said, id, says) {
                return Ok(());
            }
        }
    }
    in_episodes(snapshot, &demand, phrase, &mut texts, said)
}

/// Adds the sessions whose title or episode contains it.
fn in_episodes(
    snapshot: &Snapshot,
    demand: &Demand,
    phrase: &Phrase,
    texts: &mut Texts,
    said: &mut Having,
) -> Result<(), Error> {
    let fields = &snapshot.fields;
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let mut docs = with_term(reader, &Term::from_field_u64(fields.kind, kind::SESSION))?;
        // Stop words are indexed only for turns.
        for stem in &phrase.stems {
            docs = narrowed(reader, Some(docs), fields.episode, stem)?;
        }
        for doc in docs {
            let Some(id) = segment.id_of(doc).filter(|_| !reader.is_deleted(doc)) else { continue };
            if said.sessions.contains(id) {
                continue;
            }
            let says = texts.admits_episode(demand, snapshot, DocAddress::new(number, doc))?;
            if !take(said, id, says) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Records the result for a session; false if the budget is spent.
fn take(said: &mut Having, id: &str, says: Option<bool>) -> bool {
    match says {
        Some(true) => {
            said.sessions.insert(id.into());
        }
        Some(false) => {}
        None => said.is_partial = true,
    }
    says.is_some()
}

/// The documents that contain a term, ascending.
fn with_term(reader: &SegmentReader, term: &Term) -> Result<Vec<DocId>, Error> {
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
