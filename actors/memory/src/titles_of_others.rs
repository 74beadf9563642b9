//! Titles that transcripts give to other sessions. Old versions of Claude Code wrote a session's title into the next
//! transcript of its project, with the id of a record of the titled session. The title is resolved at query time, so it
//! does not matter which of the two is indexed first, and a title disappears with the transcript that gives it.
//!
//! # Decisions
//!
//! - A transcript without a conversation gives no title; a title's words do not find the session.

use std::collections::VecDeque;

use baton_conversation::filter::one_line;
use baton_conversation::hash::Mark;
use baton_conversation::item::{Body, Item, Meta, TitleSource};
use baton_conversation::record::SessionId;
use baton_conversation::record_identity::record_mark;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use super::schema::{Fields, text};
use super::snapshot::{Segment, Snapshot};
use super::{Error, Searcher};

/// Maximum number of titles kept from one transcript, the last ones; they name earlier sessions of its project.
const MAX_GIVEN: usize = 128;
/// Maximum number of records without a turn kept for one session, the last ones; titles refer to one of the last.
const MAX_SILENT: usize = 256;
/// Longest title, in characters.
const TITLE_CHARS: usize = 120;
/// Separates titles in the stored field; no title contains it.
const BORDER: char = '\n';

/// What a conversation says about titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Titles {
    /// True if the transcript gives its own session a title, which takes precedence.
    own: bool,
    /// Keys of records, each with the title of the session that holds it.
    given: VecDeque<(u64, String)>,
    /// Keys of records without a turn; a title may refer to this session by one of them.
    silent: VecDeque<u64>,
    /// Key of the last record, if it is a result without a turn so far.
    last: Option<u64>,
}

impl Titles {
    /// Records the next item of the conversation. Memory use is bounded.
    pub fn note(&mut self, item: &Item) {
        let Some(Mark(key)) = record_mark(item) else { return };
        match &item.body {
            Body::Meta(Meta::Title { source: TitleSource::Summary, text }) => {
                let title = one_line(text, TITLE_CHARS);
                self.given.retain(|(known, _)| *known != key);
                push(&mut self.given, Some((key, title)).filter(|(_, title)| !title.is_empty()), MAX_GIVEN);
            }
            Body::Notice { .. } | Body::Media { .. } | Body::Summary { .. } => {
                self.last = None;
                let is_new = self.silent.back() != Some(&key);
                push(&mut self.silent, is_new.then_some(key), MAX_SILENT);
            }
            // Most results are part of the turn of their call. A title refers to a result only if it is the last
            // record.
            Body::Result(_) => self.last = Some(key),
            Body::Prompt { .. } => push(&mut self.silent, self.last.take(), MAX_SILENT),
            Body::Meta(_) => {}
            _ => self.last = None,
        }
    }

    /// Sets whether the transcript gives its own session a title.
    pub fn with_own(self, own: bool) -> Self {
        Self { own, ..self }
    }

    /// Adds the fields of titles to the session's document.
    pub(super) fn write(&self, fields: &Fields, document: &mut TantivyDocument) {
        if self.own {
            document.add_u64(fields.titled, 1);
        }
        for (key, _) in &self.given {
            document.add_u64(fields.leaf, *key);
        }
        if !self.given.is_empty() {
            let titles: Vec<&str> = self.given.iter().map(|(_, title)| title.as_str()).collect();
            document.add_text(fields.given, titles.join(&BORDER.to_string()));
        }
        for key in self.silent.iter().chain(&self.last) {
            document.add_u64(fields.silent, *key);
        }
    }
}

fn push<T>(list: &mut VecDeque<T>, entry: Option<T>, most: usize) {
    list.extend(entry);
    while list.len() > most {
        list.pop_front();
    }
}

/// A title given by another session, ordered by preference: last activity and id of the giving session, index among its
/// titles, and address of its document. The greatest wins.
type Naming<'a> = (i64, &'a str, u32, DocAddress);

impl Searcher {
    /// The title under which a session is indexed; `None` if it is not indexed or has none.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn indexed_title(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let snapshot = self.snapshot();
        let Some(address) = snapshot.session(session.as_str())? else { return Ok(None) };
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        Ok(Some(text(&document, snapshot.fields.title).to_owned()).filter(|title| !title.is_empty()))
    }

    /// The title that another session's transcript gives to a session without its own: at most 120 characters on one
    /// line. Titles from hidden sessions do not count. Only indexed sessions are known. Looks up every record of the
    /// session if any session gives titles at all.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn title_of(&self, session: &SessionId, hidden: &dyn Fn(&str) -> bool) -> Result<Option<String>, Error> {
        let snapshot = self.snapshot();
        let Some((_, _, number, address)) = snapshot.naming_title(session.as_str(), hidden)? else { return Ok(None) };
        let own = match snapshot.session(session.as_str())? {
            Some(address) => {
                snapshot.searcher.doc::<TantivyDocument>(address)?.get_first(snapshot.fields.titled).is_some()
            }
            None => return Ok(None),
        };
        if own {
            return Ok(None);
        }
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        Ok(text(&document, snapshot.fields.given).split(BORDER).nth(number as usize).map(str::to_owned))
    }
}

impl Snapshot {
    fn naming_title(&self, session: &str, hidden: &dyn Fn(&str) -> bool) -> Result<Option<Naming<'_>>, Error> {
        let naming: Vec<(u32, &Segment)> = (0..)
            .zip(&self.segments)
            .map(|(number, segment)| (number, &**segment))
            .filter(|(_, segment)| !segment.titles.leaves.is_empty())
            .collect();
        let mut best: Option<Naming<'_>> = None;
        if naming.is_empty() {
            return Ok(best);
        }
        let readers = self.searcher.segment_readers();
        let mut look = |key: u64| {
            for (number, segment) in &naming {
                for (doc, which) in segment.titles.titles_for(key) {
                    let is_gone = readers.get(*number as usize).is_none_or(|reader| reader.is_deleted(doc));
                    let Some(giver) = segment.id_of(doc).filter(|id| !is_gone && *id != session) else { continue };
                    let at = segment.at.as_ref().and_then(|at| at.first(doc)).unwrap_or(i64::MIN);
                    let found = (at, giver, which, DocAddress::new(*number, doc));
                    if best.is_none_or(|best| best < found) && !hidden(giver) {
                        best = Some(found);
                    }
                }
            }
        };
        let term = Term::from_field_text(self.fields.session, session);
        for (reader, segment) in readers.iter().zip(&self.segments) {
            let index = reader.inverted_index(self.fields.session)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !reader.is_deleted(doc) {
                    segment.record.iter().filter_map(|column| column.first(doc)).for_each(&mut look);
                    segment.titles.silent.iter().flat_map(|column| column.values_for_doc(doc)).for_each(&mut look);
                }
                postings.advance();
            }
        }
        Ok(best)
    }
}
