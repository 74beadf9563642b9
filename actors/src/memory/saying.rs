//! The sessions that say something: those that are left out of a list that only filters make.

use baton_events::query::Without;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, TERMINATED, Term};

use super::demand::{Demand, is_told_by_index, narrowed};
use super::having::{Having, Sessions};
use super::sequence::Phrase;
use super::snapshot::Snapshot;
use super::texts::Texts;
use super::{Error, Searcher};

impl Searcher {
    /// The sessions in which this is said, in a turn, in their title or in their episode: a word in any of its forms, a
    /// phrase word for word. Partial where more would have to be read than one question may.
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
            (Without::Word(_), [], [stop]) => with_token(&snapshot, fields.stops, stop, &mut said.sessions)?,
            _ => word_for_word(&snapshot, text, &phrase, &mut said)?,
        }
        Ok(said)
    }
}

/// Adds the sessions of all documents that have a token.
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

/// Adds the sessions that say a text word for word.
fn word_for_word(snapshot: &Snapshot, text: &str, phrase: &Phrase, said: &mut Having) -> Result<(), Error> {
    let demand = Demand::of_phrase(text, snapshot)?;
    let mut texts = Texts::default();
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        let gate = demand.gate(snapshot, reader, segment)?;
        let mut told = None;
        for stem in &phrase.stems {
            told = Some(narrowed(reader, told, snapshot.fields.episode, stem)?);
        }
        let turns = gate.required().iter().map(|doc| (*doc, true));
        let sessions = told.unwrap_or_default().into_iter().map(|doc| (doc, false));
        for (doc, is_turn) in turns.chain(sessions) {
            let Some(id) = segment.id_of(doc).filter(|_| !reader.is_deleted(doc)) else { continue };
            if said.sessions.contains(id) || is_turn && !gate.admits_session(id) {
                continue;
            }
            let address = DocAddress::new(number, doc);
            let says = match is_turn {
                true => texts.admits(&demand, snapshot, address)?,
                false => texts.admits_episode(&demand, snapshot, address)?,
            };
            match says {
                Some(true) => {
                    said.sessions.insert(id.into());
                }
                Some(false) => {}
                None => {
                    said.is_partial = true;
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
