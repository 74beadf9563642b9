//! The sessions that have to do with a thing: what filters by file, tool and branch are decided by.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use baton_events::graph::Label;
use tantivy::index::SegmentReader;
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, TantivyDocument, Term};

use super::analyzer::{MAX_NAME_CHARS, NAME_PREFIX};
use super::limits::{NAMES_LOOKED, NAMES_MATCHED, THINGS_LOOKED};
use super::sequence::Phrase;
use super::snapshot::{Segment, Snapshot};
use super::{Error, Searcher};

/// The ids of sessions.
pub type Sessions = BTreeSet<Box<str>>;

impl Searcher {
    /// The sessions that mention a file of this name: a whole path or its last part; where there is none such, one that ends
    /// in it or has it inside, or fits a pattern with `*`. A path outside of its project is taken for the end of it.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn with_file(&self, name: &str) -> Result<Sessions, Error> {
        let snapshot = self.snapshot();
        let wanted = cleaned(name);
        let mut sessions = Sessions::new();
        if wanted.is_empty() {
            return Ok(sessions);
        }
        let exact = format!("{NAME_PREFIX}{wanted}");
        collect(&snapshot, &[exact], Label::File, &mut sessions)?;
        if sessions.is_empty() {
            collect(&snapshot, &names(&snapshot, &wanted)?, Label::File, &mut sessions)?;
        }
        if sessions.is_empty() && !wanted.contains(['/', '*']) {
            // A name of letters alone, as `Makefile`, is a word.
            return self.with_thing(Label::File, name);
        }
        Ok(sessions)
    }

    /// The sessions that mention a thing of this kind in whose name this text stands, whatever the case.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn with_thing(&self, label: Label, name: &str) -> Result<Sessions, Error> {
        let snapshot = self.snapshot();
        let wanted = name.trim().to_lowercase();
        let words = Phrase::read(name).stems;
        let mut sessions = Sessions::new();
        if words.is_empty() {
            return Ok(sessions);
        }
        // Of each thing, whether its name fits.
        let mut known: BTreeMap<u64, bool> = BTreeMap::new();
        for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            for doc in with_all(&snapshot, reader, &words)? {
                let Some(subject) = of_label(segment, doc, label) else { continue };
                if reader.is_deleted(doc) || (known.len() >= THINGS_LOOKED && !known.contains_key(&subject)) {
                    continue;
                }
                let fits = match known.get(&subject) {
                    Some(fits) => *fits,
                    None => {
                        let document: TantivyDocument = snapshot.searcher.doc(DocAddress::new(number, doc))?;
                        let title = document.get_first(snapshot.fields.title).and_then(|title| title.as_str());
                        let fits = title.is_some_and(|title| title.to_lowercase().contains(&wanted));
                        known.insert(subject, fits);
                        fits
                    }
                };
                if fits {
                    sessions.extend(segment.id_of(doc).map(Box::from));
                }
            }
        }
        Ok(sessions)
    }

    /// The sessions in which a text stands, in any form of its words: those of a filtered list that are to be left out.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn with_words(&self, text: &str) -> Result<Sessions, Error> {
        let snapshot = self.snapshot();
        let stems = Phrase::read(text).stems;
        let field = snapshot.fields.words;
        let mut sessions = Sessions::new();
        for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
            let mut docs = None;
            for stem in &stems {
                docs = Some(super::demand::narrowed(reader, docs, field, stem)?);
            }
            let live = docs.into_iter().flatten().filter(|doc| !reader.is_deleted(*doc));
            sessions.extend(live.filter_map(|doc| segment.id_of(doc)).map(Box::from));
        }
        Ok(sessions)
    }
}

/// A path as names are kept: in small letters, without what leads to the project.
fn cleaned(name: &str) -> String {
    let lowered = name.trim().to_lowercase();
    let bare = lowered.trim_start_matches("./").trim_matches('/');
    bare.chars().take(MAX_NAME_CHARS).collect()
}

/// The names of the memory that fit: a pattern, the end of a path, or a part of one. Linear in the names there are.
fn names(snapshot: &Snapshot, wanted: &str) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    let start = NAME_PREFIX.to_string();
    for reader in snapshot.searcher.segment_readers() {
        let index = reader.inverted_index(snapshot.fields.entity)?;
        let mut stream = index.terms().range().ge(&start).into_stream()?;
        let mut looked = 0;
        while looked < NAMES_LOOKED && found.len() < NAMES_MATCHED && stream.advance() {
            looked += 1;
            let Some(name) = std::str::from_utf8(stream.key()).ok().and_then(|key| key.strip_prefix(NAME_PREFIX))
            else {
                break;
            };
            if fits(name, wanted) {
                found.insert(format!("{NAME_PREFIX}{name}"));
            }
        }
    }
    Ok(found.into_iter().collect())
}

fn fits(name: &str, wanted: &str) -> bool {
    match wanted.contains('*') {
        true => pattern(wanted, name),
        false => {
            name.contains(wanted)
                || name.contains('/') && wanted.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
        }
    }
}

/// Whether a name fits a pattern in which each star stands for anything.
fn pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    let passed = between.iter().try_for_each(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    });
    passed.is_continue() && rest.ends_with(last)
}

/// Adds the sessions whose mentions of a kind have one of these tokens.
fn collect(snapshot: &Snapshot, tokens: &[String], label: Label, sessions: &mut Sessions) -> Result<(), Error> {
    let field = snapshot.fields.entity;
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let index = reader.inverted_index(field)?;
        for token in tokens {
            let term = Term::from_field_text(field, token);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if of_label(segment, doc, label).is_some()
                    && !reader.is_deleted(doc)
                    && let Some(id) = segment.id_of(doc)
                    && !sessions.contains(id)
                {
                    sessions.insert(id.into());
                }
                postings.advance();
            }
        }
    }
    Ok(())
}

/// The mentions of a segment that have all these words.
fn with_all(snapshot: &Snapshot, reader: &SegmentReader, words: &[String]) -> Result<Vec<DocId>, Error> {
    let mut docs = None;
    for word in words {
        docs = Some(super::demand::narrowed(reader, docs, snapshot.fields.entity, word)?);
    }
    Ok(docs.unwrap_or_default())
}

/// The thing that a mention is of, if it is of this kind.
fn of_label(segment: &Segment, doc: DocId, label: Label) -> Option<u64> {
    let columns = segment.graph.as_ref()?;
    (columns.label(doc) == Some(label)).then(|| columns.subject.first(doc)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_by_part_end_and_pattern() {
        for (wanted, name, expected) in [
            ("auth", "src/auth.rs", true),
            ("http/server.rs", "src/http/server.rs", true),
            ("srv/shop/src/auth.rs", "src/auth.rs", true),
            ("srv/shopsrc/auth.rs", "src/auth.rs", false),
            ("srv/auth.rs", "auth.rs", false),
            ("cart", "src/auth.rs", false),
            ("*.rs", "src/auth.rs", true),
            ("*.rs", "src/auth.rst", false),
            ("src/*.rs", "src/a/b.rs", true),
            ("src/*", "lib/src/a", false),
            ("*src/*", "lib/src/a", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("a*a", "a", false),
            ("*", "anything", true),
        ] {
            assert_eq!(fits(name, wanted), expected, "{wanted} {name}");
        }
        assert_eq!(cleaned(" ./Src/Auth.rs "), "src/auth.rs");
        assert_eq!(cleaned("/srv/a/"), "srv/a");
    }
}
