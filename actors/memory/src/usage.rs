//! Usage of models by session: the stored field, and a query for all of it.
//!
//! # Decisions
//!
//! - A stored field is read once per segment and kept: a segment never changes, and the next query for costs finds all
//!   but what was written since.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_conversation::usage::Course;
use baton_redaction::redact;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use super::schema::{Fields, kind, text};
use super::snapshot::{SessionCourse, Snapshot};
use super::{Error, Searcher};

/// Adds the field to the session's document. Names of models are redacted, like all text.
pub(super) fn write(usage: &Course, fields: &Fields, document: &mut TantivyDocument) {
    if usage.is_empty() {
        return;
    }
    let mut usage = usage.clone();
    for part in &mut usage.parts {
        part.usage.model = redact(&part.usage.model).into_owned();
    }
    document.add_text(fields.usage, serde_json::to_string(&usage).unwrap_or_default());
}

impl Searcher {
    /// The usage of all indexed sessions, in no order.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn courses(&self) -> Result<Vec<SessionCourse>, Error> {
        let snapshot = self.snapshot();
        let mut courses = Vec::new();
        for (number, (reader, segment)) in
            snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).enumerate()
        {
            let read = match segment.courses.get() {
                Some(read) => read,
                None => {
                    let read = snapshot.read_courses(number)?;
                    segment.courses.get_or_init(|| read)
                }
            };
            courses.extend(read.iter().filter(|(doc, _)| !reader.is_deleted(*doc)).map(|(_, course)| course.clone()));
        }
        Ok(courses)
    }
}

impl Snapshot {
    /// The usage of all sessions in a segment, with their documents.
    fn read_courses(&self, number: usize) -> Result<Vec<(u32, SessionCourse)>, Error> {
        let (Some(reader), Some(segment)) = (self.searcher.segment_readers().get(number), self.segments.get(number))
        else {
            return Ok(Vec::new());
        };
        let term = Term::from_field_u64(self.fields.kind, kind::SESSION);
        let index = reader.inverted_index(self.fields.kind)?;
        let mut courses = Vec::new();
        let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { return Ok(courses) };
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            postings.advance();
            // A document that is deleted now stays so.
            let Some(session) = segment.id_of(doc).and_then(SessionId::new).filter(|_| !reader.is_deleted(doc)) else {
                continue;
            };
            let stored: TantivyDocument = self.searcher.doc(DocAddress::new(number as u32, doc))?;
            let course = match text(&stored, self.fields.usage) {
                "" => Course::default(),
                json => serde_json::from_str(json).map_err(|error| Error::Broken(error.to_string()))?,
            };
            courses.push((doc, SessionCourse { session, course: Arc::new(course) }));
        }
        Ok(courses)
    }
}
