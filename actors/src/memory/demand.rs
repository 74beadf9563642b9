//! What a turn must have, and must not have, to be found; its rank is another matter.
//!
//! Single words are told by the index alone. It has positions only for whole sessions, so a phrase needs its words in a
//! row somewhere in the session and all of them in the turn; then the turn's text decides. Texts are read best turn first,
//! and only as many as are needed.

use std::collections::BTreeSet;

use baton_events::query::Without;
use baton_events::record::Timestamp;
use tantivy::index::SegmentReader;
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, TantivyDocument, Term};

use super::Error;
use super::analyzer::Analyzer;
use super::limits::PHRASE_SESSIONS;
use super::query::Query;
use super::sequence::Phrase;
use super::snapshot::{Segment, Snapshot};

/// What turns must and must not have; by default nothing.
#[derive(Clone, Copy, Default)]
pub struct Demands<'a> {
    /// Texts that must stand in it word for word.
    pub phrases: &'a [String],
    /// What must not stand in it.
    pub without: &'a [Without],
    /// At or after this moment; turns without a time do not count then.
    pub after: Option<Timestamp>,
    /// Before this moment, likewise.
    pub before: Option<Timestamp>,
}

/// The same, as the index is asked for it.
#[derive(Default)]
pub(super) struct Demand {
    phrases: Vec<Phrase>,
    /// Single words, by the field that has them.
    barred: Vec<(Field, String)>,
    barred_phrases: Vec<Phrase>,
    after: Option<i64>,
    before: Option<i64>,
    /// The sessions that have the words of all phrases in a row; none: not looked for.
    sessions: Option<BTreeSet<Box<str>>>,
}

impl Demand {
    pub(super) fn read(query: &Query<'_>, snapshot: &Snapshot) -> Result<Self, Error> {
        let asked = &query.demands;
        let mut demand = Self {
            phrases: asked.phrases.iter().map(|text| Phrase::read(text)).collect(),
            after: asked.after.map(|at| at.0),
            before: asked.before.map(|at| at.0),
            ..Self::default()
        };
        for without in asked.without {
            let (Without::Word(text) | Without::Phrase(text)) = without;
            let phrase = Phrase::read(text);
            match (without, phrase.stems.as_slice(), phrase.stops.as_slice()) {
                (_, [], []) => {}
                (Without::Word(_), [stem], []) => demand.barred.push((snapshot.fields.body, stem.clone())),
                (Without::Word(_), [], [stop]) => demand.barred.push((snapshot.fields.stops, stop.clone())),
                _ => demand.barred_phrases.push(phrase),
            }
        }
        demand.sessions = demand.sessions(snapshot)?;
        Ok(demand)
    }

    /// Whether a turn is found only after its text was read.
    pub(super) fn needs_text(&self) -> bool {
        !self.phrases.is_empty() || !self.barred_phrases.is_empty()
    }

    /// Whether a turn of this text, already let in by its words, is found.
    pub(super) fn admits_text(&self, text: &str, analyzer: &mut Analyzer) -> bool {
        self.phrases.iter().all(|phrase| phrase.is_in(text, analyzer))
            && !self.barred_phrases.iter().any(|phrase| phrase.is_in(text, analyzer))
    }

    /// Whether a session that is found by its title and episode alone has and lacks what turns must.
    pub(super) fn admits_episode(
        &self,
        snapshot: &Snapshot,
        address: DocAddress,
        analyzer: &mut Analyzer,
    ) -> Result<bool, Error> {
        if self.phrases.is_empty() && self.barred.is_empty() && self.barred_phrases.is_empty() && !self.is_dated() {
            return Ok(true);
        }
        let fields = &snapshot.fields;
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        let of = |field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let (title, text) = (of(fields.title), of(fields.text));
        let at = document.get_first(fields.at).and_then(|value| value.as_i64());
        let mut is_in = |phrase: &Phrase| phrase.is_in(title, analyzer) || phrase.is_in(text, analyzer);
        let has_all = self.phrases.iter().all(&mut is_in);
        let has_barred = self.barred_phrases.iter().any(&mut is_in);
        if !has_all || has_barred || !self.is_in_time(at) {
            return Ok(false);
        }
        let index = snapshot.searcher.segment_reader(address.segment_ord).inverted_index(fields.episode)?;
        for (_, token) in &self.barred {
            let term = Term::from_field_text(fields.episode, token);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            if postings.doc() <= address.doc_id && postings.seek(address.doc_id) == address.doc_id {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_dated(&self) -> bool {
        self.after.is_some() || self.before.is_some()
    }

    fn is_in_time(&self, at: Option<i64>) -> bool {
        !self.is_dated()
            || at.is_some_and(|at| {
                self.after.is_none_or(|after| at >= after) && self.before.is_none_or(|before| at < before)
            })
    }

    /// The sessions that have the words of every phrase of several words in a row; none when no phrase has several, or when
    /// too many sessions would have to be looked at.
    fn sessions(&self, snapshot: &Snapshot) -> Result<Option<BTreeSet<Box<str>>>, Error> {
        let mut all: Option<BTreeSet<Box<str>>> = None;
        for phrase in self.phrases.iter().filter(|phrase| phrase.stems.len() > 1) {
            let Some(sessions) = in_a_row(snapshot, &phrase.stems)? else { continue };
            all = Some(match all {
                None => sessions,
                Some(known) => known.into_iter().filter(|id| sessions.contains(id)).collect(),
            });
        }
        Ok(all)
    }

    /// What decides about the turns of one segment.
    pub(super) fn gate<'a>(
        &'a self,
        snapshot: &Snapshot,
        reader: &SegmentReader,
        segment: &'a Segment,
    ) -> Result<Gate<'a>, Error> {
        let fields = &snapshot.fields;
        let mut required: Option<Vec<DocId>> = None;
        for phrase in &self.phrases {
            let stems = phrase.stems.iter().map(|stem| (fields.body, stem));
            for (field, token) in stems.chain(phrase.stops.iter().map(|stop| (fields.stops, stop))) {
                required = Some(narrowed(reader, required, field, token)?);
            }
        }
        let mut barred = Vec::new();
        for (field, token) in &self.barred {
            barred.append(&mut narrowed(reader, None, *field, token)?);
        }
        barred.sort_unstable();
        barred.dedup();
        Ok(Gate { demand: self, segment, required, barred })
    }
}

/// Which turns of a segment are let in by their words and their time.
pub(super) struct Gate<'a> {
    demand: &'a Demand,
    segment: &'a Segment,
    /// Those that have all words of all phrases, ascending; none: all.
    required: Option<Vec<DocId>>,
    /// Those that have a word that they must not have, ascending.
    barred: Vec<DocId>,
}

impl Gate<'_> {
    /// The turns that alone may be let in, if they are known to be few.
    pub(super) fn few(&self, most: usize) -> Option<&[DocId]> {
        self.required.as_deref().filter(|required| required.len() <= most)
    }

    pub(super) fn admits(&self, doc: DocId) -> bool {
        self.required.as_ref().is_none_or(|required| required.binary_search(&doc).is_ok())
            && self.barred.binary_search(&doc).is_err()
            && (!self.demand.is_dated()
                || self.demand.is_in_time(self.segment.at.as_ref().and_then(|at| at.first(doc))))
    }

    /// Whether the turns of a session may be let in.
    pub(super) fn admits_session(&self, id: &str) -> bool {
        self.demand.sessions.as_ref().is_none_or(|sessions| sessions.contains(id))
    }
}

/// Those of `docs`, or of all documents, that have a token, ascending.
pub(super) fn narrowed(
    reader: &SegmentReader,
    docs: Option<Vec<DocId>>,
    field: Field,
    token: &str,
) -> Result<Vec<DocId>, Error> {
    let term = Term::from_field_text(field, token);
    let index = reader.inverted_index(field)?;
    let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { return Ok(Vec::new()) };
    if let Some(mut docs) = docs {
        docs.retain(|doc| {
            if postings.doc() < *doc {
                postings.seek(*doc);
            }
            postings.doc() == *doc
        });
        return Ok(docs);
    }
    let mut docs = Vec::with_capacity(postings.size_hint() as usize);
    while postings.doc() != TERMINATED {
        docs.push(postings.doc());
        postings.advance();
    }
    Ok(docs)
}

/// The sessions whose words have these stems in a row. None when even the rarest of them is in too many sessions.
fn in_a_row(snapshot: &Snapshot, stems: &[String]) -> Result<Option<BTreeSet<Box<str>>>, Error> {
    let field = snapshot.fields.words;
    let terms: Vec<Term> = stems.iter().map(|stem| Term::from_field_text(field, stem)).collect();
    let mut rarest = u64::MAX;
    for term in &terms {
        rarest = rarest.min(snapshot.searcher.doc_freq(term)?);
    }
    if rarest > PHRASE_SESSIONS {
        return Ok(None);
    }
    let mut sessions = BTreeSet::new();
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let index = reader.inverted_index(field)?;
        let mut words = Vec::with_capacity(terms.len());
        for term in &terms {
            words.extend(index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?);
        }
        if words.len() < terms.len() {
            continue;
        }
        let (mut starts, mut next) = (Vec::new(), Vec::new());
        let mut doc = 0;
        'documents: while doc != TERMINATED {
            // Until all are at one document.
            for postings in &mut words {
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                if postings.doc() > doc {
                    doc = postings.doc();
                    continue 'documents;
                }
            }
            if !reader.is_deleted(doc) {
                for (at, postings) in words.iter_mut().enumerate() {
                    next.clear();
                    postings.append_positions_with_offset(0, &mut next);
                    // The position of the first word from which on all so far stand in a row.
                    next.iter_mut().for_each(|position| *position = position.wrapping_sub(at as u32));
                    match at {
                        0 => std::mem::swap(&mut starts, &mut next),
                        _ => starts.retain(|start| next.binary_search(start).is_ok()),
                    }
                }
                if !starts.is_empty() {
                    sessions.extend(segment.id_of(doc).map(Box::from));
                }
                starts.clear();
            }
            doc += 1;
        }
    }
    Ok(Some(sessions))
}
