//! What turns must and must not contain to be found. This only filters; it does not affect ranks.
//!
//! The index alone decides about single words, except words that it has of every turn's date or speaker. It has
//! positions only for whole sessions. So a turn with a phrase must have all its words, and its session must have them
//! in a row; then the turn's text decides. Texts are read best turn first, and only as many as are needed.

use std::collections::BTreeSet;

use baton_ask::query::{MONTHS, Without};
use baton_conversation::record::Timestamp;
use tantivy::index::{InvertedIndexReader, SegmentReader};
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};

use super::Error;
use super::analyzer::Analyzer;
use super::limits::PHRASE_SESSIONS;
use super::phrase::Phrase;
use super::pretokenized::CUT;
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
    /// The sessions that have the words of all phrases in a row; `None` if that was not determined.
    sessions: Option<BTreeSet<Box<str>>>,
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
        Ok(Self { sessions: self.sessions(snapshot)?, episodes: self.episodes(snapshot)?, ..self })
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

    /// The sessions that have the words of every multi-word phrase in a row. `None` if there is no such phrase or if
    /// too many sessions would have to be examined.
    fn sessions(&self, snapshot: &Snapshot) -> Result<Option<BTreeSet<Box<str>>>, Error> {
        let mut all: Option<BTreeSet<Box<str>>> = None;
        for phrase in self.phrases.iter().filter(|phrase| phrase.stems.len() > 1) {
            let Some(sessions) = sessions_with_sequence(snapshot, &phrase.stems)? else { continue };
            all = Some(match all {
                None => sessions,
                Some(known) => known.into_iter().filter(|id| sessions.contains(id)).collect(),
            });
        }
        Ok(all)
    }

    /// The filter for the turns of one segment.
    pub(super) fn for_segment<'a>(
        &'a self,
        snapshot: &Snapshot,
        reader: &SegmentReader,
        segment: &'a Segment,
    ) -> Result<SegmentFilter<'a>, Error> {
        let fields = &snapshot.fields;
        let stems = self.phrases.iter().flat_map(|phrase| &phrase.stems).map(|stem| (fields.body, stem));
        let stops = self.phrases.iter().flat_map(|phrase| &phrase.stops).map(|stop| (fields.stops, stop));
        let required = docs_with_all(reader, &stems.chain(stops).collect::<Vec<_>>())?;
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
    /// Turns with all words of all phrases, ascending; `None` for all turns.
    required: Option<Vec<DocId>>,
    /// Turns with an excluded word, ascending.
    excluded: Vec<DocId>,
}

impl SegmentFilter<'_> {
    /// The only turns that may pass, if they are known and at most `most`.
    pub(super) fn few(&self, most: usize) -> Option<&[DocId]> {
        self.required.as_deref().filter(|required| required.len() <= most)
    }

    pub(super) fn admits(&self, doc: DocId) -> bool {
        self.required.as_ref().is_none_or(|required| required.binary_search(&doc).is_ok())
            && self.excluded.binary_search(&doc).is_err()
            && (!self.filter.is_dated()
                || self.filter.is_in_time(self.segment.at.as_ref().and_then(|at| at.first(doc))))
    }

    /// Turns with all words of all phrases, ascending; empty if no phrase is required.
    pub(super) fn required(&self) -> &[DocId] {
        self.required.as_deref().unwrap_or_default()
    }

    /// True if turns of the session may pass.
    pub(super) fn admits_session(&self, id: &str) -> bool {
        self.filter.sessions.as_ref().is_none_or(|sessions| sessions.contains(id))
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

/// Sessions whose words contain these stems in a row, and sessions of which only the first words are indexed. `None` if
/// even the rarest stem is in more than [`PHRASE_SESSIONS`] sessions.
fn sessions_with_sequence(snapshot: &Snapshot, stems: &[String]) -> Result<Option<BTreeSet<Box<str>>>, Error> {
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
        for_each_cut(&index, field, |doc| sessions.extend(segment.id_of(doc).map(Box::from)))?;
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
            // Advance until all postings are at the same document.
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
                    // Positions where the phrase would start: shifted by the word's index in the phrase. Smaller
                    // positions cannot start one, and would break the order.
                    next.retain(|position| *position >= at as u32);
                    next.iter_mut().for_each(|position| *position -= at as u32);
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

/// Calls `each` with the documents of sessions whose words were cut.
fn for_each_cut(index: &InvertedIndexReader, words: Field, mut each: impl FnMut(DocId)) -> Result<(), Error> {
    let Some(mut cut) = index.read_postings(&Term::from_field_text(words, CUT), IndexRecordOption::Basic)? else {
        return Ok(());
    };
    while cut.doc() != TERMINATED {
        each(cut.doc());
        cut.advance();
    }
    Ok(())
}
