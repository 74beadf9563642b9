//! Titles that transcripts give to other sessions: old versions of Claude Code wrote the title of a session into the next
//! transcript of its project, beside the id of the record that it was made of. Whose title it is is looked up when it is asked
//! for, so it does not matter which of the two is indexed first, and it goes with the transcript that gives it.
//!
//! # Decisions
//!
//! - A transcript without a conversation gives no title; a title's words do not find the session.

use std::collections::VecDeque;

use baton_conversation::filter::one_line;
use baton_conversation::item::{Body, Item, Meta, TitleSource};
use baton_conversation::record::SessionId;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use super::schema::{self, Fields, text};
use super::snapshot::{Segment, Snapshot};
use super::{Error, Searcher};

/// Titles of one transcript that are kept, the last ones: they name the sessions of a project before it.
const MAX_GIVEN: usize = 128;
/// Records without a turn that are kept of one session, the last ones: a title is made of one of the last.
const MAX_SILENT: usize = 256;
/// Longest title, in characters.
const TITLE_CHARS: usize = 120;
/// Stands between titles in the field that stores them; none contains it.
const BORDER: char = '\n';

/// What a conversation has to do with titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Titles {
    /// Whether it says itself what its session is called: then nobody else does.
    own: bool,
    /// The key of a record, and what the session that holds it is called.
    given: VecDeque<(u64, String)>,
    /// Records that no turn is made of, by which a title may mean this session.
    silent: VecDeque<u64>,
    /// The last record, if no turn is made of it.
    last: Option<u64>,
}

impl Titles {
    /// Takes note of the next item of the conversation. Holds a bounded amount.
    pub fn note(&mut self, item: &Item) {
        let Some(key) = item.uuid.as_deref().map(schema::record_key) else { return };
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
            // Most results belong to the turn of their call. Nothing is named after one, unless it is the last word.
            Body::Result(_) => self.last = Some(key),
            Body::Prompt { .. } => push(&mut self.silent, self.last.take(), MAX_SILENT),
            Body::Meta(_) => {}
            _ => self.last = None,
        }
    }

    /// Whether the conversation was found to say what its session is called.
    pub fn with_own(self, own: bool) -> Self {
        Self { own, ..self }
    }

    /// Adds to the document of the session.
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

/// A title that another session gives: of several the one of the session that was heard of last is taken, then by its id, and of
/// one session the last.
type Naming<'a> = (i64, &'a str, u32, DocAddress);

impl Searcher {
    /// What another session's transcript calls a session that says nothing of that itself: at most 120 characters on one line.
    /// What hidden sessions say is not told. Only what is indexed is known. Looks at each record of the session if any session
    /// gives titles to others, else at nothing.
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
                for (doc, which) in segment.titles.naming(key) {
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
