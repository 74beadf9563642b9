//! What turns must and must not contain to be found. This only filters; it does not affect ranks.
//!
//! The index alone decides about single words, except words that it has of every turn's date or speaker. A turn with a
//! phrase must have its words in a row, stop words left out, which the index knows; then the turn's text decides. Texts
//! are read best turn first, and only as many as are needed.

use baton_ask::query::{MONTHS, Without};
use baton_conversation::record::Timestamp;
use tantivy::index::SegmentReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};

use super::Error;
use super::analyzer::Analyzer;
use super::phrase::Phrase;
use super::snapshot::{Segment, Snapshot};

/// Requirements of a query; by default none.
#[derive(Clone, Copy, Default)]
pub struct Requirements<'a> {
    /// Texts that a turn must contain word for word.
    pub phrases: &'a [String],
    /// Words and phrases that a turn must not contain.
    pub without: &'a [Without],
    /// Earliest time, inclusive. If set, turns without a time are left out.
    pub after: Option<Timestamp>,
    /// Latest time, exclusive; likewise.
    pub before: Option<Timestamp>,
}

/// The requirements as they are checked against the index.
#[derive(Default)]
pub(super) struct TurnFilter {
    phrases: Vec<Phrase>,
    /// Single words that must not occur, each with the field that has it.
    excluded: Vec<(Field, String)>,
    excluded_phrases: Vec<Phrase>,
    after: Option<i64>,
    before: Option<i64>,
    /// Of each segment the documents of sessions whose title and episode have the words of all phrases, ascending;
    /// `None` if there are no such words.
    episodes: Option<Vec<Vec<DocId>>>,
}

impl TurnFilter {
    pub(super) fn new(asked: &Requirements<'_>, snapshot: &Snapshot) -> Result<Self, Error> {
        let mut filter = Self {
            phrases: asked.phrases.iter().map(|text| Phrase::parse(text)).collect(),
            after: asked.after.map(|at| at.0),
            before: asked.before.map(|at| at.0),
            ..Self::default()
        };
        for without in asked.without {
            let (Without::Word(text) | Without::Phrase(text)) = without;
            let phrase = Phrase::parse(text);
            match (without, phrase.stems.as_slice(), phrase.stops.as_slice()) {
                (_, [], []) => {}
                (Without::Word(_), [stem], []) if index_decides(stem) => {
                    filter.excluded.push((snapshot.fields.body, stem.clone()));
                }
                (Without::Word(_), [], [stop]) => filter.excluded.push((snapshot.fields.stops, stop.clone())),
                _ => filter.excluded_phrases.push(phrase),
            }
        }
        filter.with_words_of(snapshot)
    }

    /// The requirement to contain a text word for word.
    pub(super) fn for_phrase(text: &str, snapshot: &Snapshot) -> Result<Self, Error> {
        Self { phrases: vec![Phrase::parse(text)], ..Self::default() }.with_words_of(snapshot)
    }

    /// Looks up where the words of the phrases are, so that few texts are read.
    fn with_words_of(self, snapshot: &Snapshot) -> Result<Self, Error> {
        Ok(Self { episodes: self.episodes(snapshot)?, ..self })
    }

    fn episodes(&self, snapshot: &Snapshot) -> Result<Option<Vec<Vec<DocId>>>, Error> {
        // Stop words are indexed only for turns.
        let words: Vec<_> =
            self.phrases.iter().flat_map(|phrase| &phrase.stems).map(|stem| (snapshot.fields.episode, stem)).collect();
        if words.is_empty() {
            return Ok(None);
        }
        let readers = snapshot.searcher.segment_readers().iter();
        readers.map(|reader| Ok(docs_with_all(reader, &words)?.unwrap_or_default())).collect::<Result<_, _>>().map(Some)
    }

    /// True if nothing is required.
    pub(super) fn is_empty(&self) -> bool {
        !self.needs_text() && self.excluded.is_empty() && !self.is_dated()
    }

    /// True if the text of a turn must be read to decide.
    pub(super) fn needs_text(&self) -> bool {
        !self.phrases.is_empty() || !self.excluded_phrases.is_empty()
    }

    /// The first stop word of each phrase that consists of stop words only.
    pub(super) fn stop_word_phrases(&self) -> impl Iterator<Item = &str> {
        let stops_only = self.phrases.iter().filter(|phrase| phrase.stems.is_empty());
        stops_only.filter_map(|phrase| phrase.stops.first()).map(String::as_str)
    }

    /// True if the texts together contain each required phrase and none of the excluded ones. The caller has checked
    /// their words already.
    pub(super) fn admits_text(&self, texts: &[&str], analyzer: &mut Analyzer) -> bool {
        let mut is_in = |phrase: &Phrase| texts.iter().any(|text| phrase.is_in(text, analyzer));
        self.phrases.iter().all(&mut is_in) && !self.excluded_phrases.iter().any(&mut is_in)
    }

    /// Checks the time, the words of phrases and the excluded words of a session found by its title and episode alone.
    /// Its phrases are checked in its text.
    pub(super) fn admits_episode(&self, snapshot: &Snapshot, address: DocAddress) -> Result<bool, Error> {
        let has_words = |segments: &Vec<Vec<DocId>>| {
            segments.get(address.segment_ord as usize).is_some_and(|docs| docs.binary_search(&address.doc_id).is_ok())
        };
        if !self.episodes.as_ref().is_none_or(has_words) {
            return Ok(false);
        }
        let segment = snapshot.segments.get(address.segment_ord as usize);
        let at = segment.and_then(|segment| segment.at.as_ref()?.first(address.doc_id));
        if !self.is_in_time(at) {
            return Ok(false);
        }
        let fields = &snapshot.fields;
        let index = snapshot.searcher.segment_reader(address.segment_ord).inverted_index(fields.episode)?;
        for (_, token) in &self.excluded {
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

    /// The filter for the turns of one segment.
    pub(super) fn for_segment<'a>(
        &'a self,
        snapshot: &Snapshot,
        reader: &SegmentReader,
        segment: &'a Segment,
    ) -> Result<SegmentFilter<'a>, Error> {
        let fields = &snapshot.fields;
        let mut required: Option<Vec<DocId>> = None;
        for phrase in &self.phrases {
            if !phrase.stems.is_empty() {
                required = Some(docs_with_sequence(reader, required, fields.body, &phrase.stems)?);
            }
            for stop in &phrase.stops {
                required = Some(docs_with_token(reader, required, fields.stops, stop)?);
            }
        }
        let mut excluded = Vec::new();
        for (field, token) in &self.excluded {
            excluded.append(&mut docs_with_token(reader, None, *field, token)?);
        }
        excluded.sort_unstable();
        excluded.dedup();
        Ok(SegmentFilter { filter: self, segment, required, excluded })
    }
}

/// Filters the turns of a segment by their words and their time.
pub(super) struct SegmentFilter<'a> {
    filter: &'a TurnFilter,
    segment: &'a Segment,
    /// Turns with the words of all phrases, ascending; `None` for all turns.
    required: Option<Vec<DocId>>,
    /// Turns with an excluded word, ascending.
    excluded: Vec<DocId>,
}

impl SegmentFilter<'_> {
    pub(super) fn admits(&self, doc: DocId) -> bool {
        self.required.as_ref().is_none_or(|required| required.binary_search(&doc).is_ok())
            && self.excluded.binary_search(&doc).is_err()
            && (!self.filter.is_dated()
                || self.filter.is_in_time(self.segment.at.as_ref().and_then(|at| at.first(doc))))
    }

    /// The turns with the words of all phrases, ascending: only these may pass. `None` if no phrase is required.
    pub(super) fn required(&self) -> Option<&[DocId]> {
        self.required.as_deref()
    }
}

/// True if a stem's postings are exactly the turns that say it. Bodies also contain each turn's date and role, so
/// numbers, months and roles are not decided by the index.
pub(super) fn index_decides(stem: &str) -> bool {
    let beside = Phrase::parse(&format!("user assistant thinking tool harness {}", MONTHS.join(" ")));
    !stem.bytes().all(|byte| byte.is_ascii_digit()) && !beside.stems.iter().any(|known| known == stem)
}

/// The documents that contain all tokens, each in its field, ascending. `None` if there are no tokens.
fn docs_with_all(reader: &SegmentReader, tokens: &[(Field, &String)]) -> Result<Option<Vec<DocId>>, Error> {
    let mut found = Vec::with_capacity(tokens.len());
    for (field, token) in tokens {
        let index = reader.inverted_index(*field)?;
        let Some(info) = index.get_term_info(&Term::from_field_text(*field, token))? else {
            return Ok(Some(Vec::new()));
        };
        found.push((index, info));
    }
    // Only the documents of the rarest one are collected; the others are looked for in these.
    found.sort_unstable_by_key(|(_, info)| info.doc_freq);
    let mut docs = None;
    for (index, info) in found {
        docs = Some(docs_with(index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?, docs));
    }
    Ok(docs)
}

/// Those of `docs`, or of all documents, that contain a token, ascending.
pub(super) fn docs_with_token(
    reader: &SegmentReader,
    docs: Option<Vec<DocId>>,
    field: Field,
    token: &str,
) -> Result<Vec<DocId>, Error> {
    let term = Term::from_field_text(field, token);
    let index = reader.inverted_index(field)?;
    let postings = index.read_postings(&term, IndexRecordOption::Basic)?;
    Ok(postings.map(|postings| docs_with(postings, docs)).unwrap_or_default())
}

/// Those of `docs`, or of all documents, that the postings have, ascending.
fn docs_with(mut postings: SegmentPostings, docs: Option<Vec<DocId>>) -> Vec<DocId> {
    if let Some(mut docs) = docs {
        docs.retain(|doc| {
            if postings.doc() < *doc {
                postings.seek(*doc);
            }
            postings.doc() == *doc
        });
        return docs;
    }
    let mut docs = Vec::with_capacity(postings.size_hint() as usize);
    while postings.doc() != TERMINATED {
        docs.push(postings.doc());
        postings.advance();
    }
    docs
}

/// Those of `docs`, or of all documents, that contain these stems in a row, ascending.
fn docs_with_sequence(
    reader: &SegmentReader,
    docs: Option<Vec<DocId>>,
    field: Field,
    stems: &[String],
) -> Result<Vec<DocId>, Error> {
    if let [stem] = stems {
        return docs_with_token(reader, docs, field, stem);
    }
    let index = reader.inverted_index(field)?;
    // Each word with its place in the phrase.
    let mut words = Vec::with_capacity(stems.len());
    for (place, stem) in (0..).zip(stems) {
        let term = Term::from_field_text(field, stem);
        let Some(postings) = index.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)? else {
            return Ok(Vec::new());
        };
        words.push((place, postings));
    }
    // The rarest leads.
    words.sort_by_key(|(_, postings)| postings.doc_freq());
    let (mut found, mut starts, mut next) = (Vec::new(), Vec::new(), Vec::new());
    let mut doc = 0;
    'documents: while doc != TERMINATED {
        // Advance until all postings are at the same document.
        for (_, postings) in &mut words {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() > doc {
                doc = postings.doc();
                continue 'documents;
            }
        }
        if docs.as_ref().is_none_or(|docs| docs.binary_search(&doc).is_ok()) {
            for (at, (place, postings)) in words.iter_mut().enumerate() {
                next.clear();
                postings.append_positions_with_offset(0, &mut next);
                // Positions where the phrase would start: shifted by the word's place in the phrase. Smaller positions
                // cannot start one, and would break the order.
                next.retain(|position| *position >= *place);
                next.iter_mut().for_each(|position| *position -= *place);
                match at {
                    0 => std::mem::swap(&mut starts, &mut next),
                    _ => starts.retain(|start| next.binary_search(start).is_ok()),
                }
            }
            if !starts.is_empty() {
                found.push(doc);
            }
            starts.clear();
        }
        doc += 1;
    }
    Ok(found)
}
