//! The sessions that have to do with a thing: what filters by file, tool and branch are decided by.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use baton_graph::Label;
use tantivy::index::SegmentReader;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, TantivyDocument, Term};

use super::analyzer::{MAX_NAME_CHARS, NAME_PREFIX};
use super::limits::{NAMES_LOOKED, THINGS_LOOKED};
use super::schema::{kind, text};
use super::sequence::Phrase;
use super::snapshot::{Segment, Snapshot};
use super::{Error, Searcher};

/// The ids of sessions.
pub type Sessions = BTreeSet<Box<str>>;

/// Sessions that something is so of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Having {
    /// Which.
    pub sessions: Sessions,
    /// Whether there was more to look at than is looked at: then others may be missing.
    pub is_partial: bool,
}

/// How a name fits what was written; the best there is counts, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It is that.
    Whole,
    /// It has that as words.
    Words,
    /// It has that inside.
    Part,
}

impl Searcher {
    /// The sessions that mention a file of this name: a whole path or its last part; where there is none such, one that ends
    /// in it or has it inside, or fits a pattern with `*`. A path outside of its project is taken for the end of it.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn with_file(&self, name: &str) -> Result<Having, Error> {
        let snapshot = self.snapshot();
        let wanted = cleaned(name);
        let mut found = Having::default();
        if wanted.is_empty() {
            return Ok(found);
        }
        with_name(&snapshot, &format!("{NAME_PREFIX}{wanted}"), &mut found.sessions)?;
        if found.sessions.is_empty() {
            found = with_names(&snapshot, &wanted)?;
        }
        if found.sessions.is_empty() && !wanted.contains(['/', '*']) {
            // A name of letters alone, as `Makefile`, is a word.
            return self.with_thing(Label::File, name);
        }
        Ok(found)
    }

    /// The sessions that mention a thing of this kind by its name, whatever the case; where none is called so, one that has
    /// these words in its name, or else this text.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn with_thing(&self, label: Label, name: &str) -> Result<Having, Error> {
        let snapshot = self.snapshot();
        let wanted = name.trim().to_lowercase();
        let mut found = Having::default();
        if !wanted.contains(char::is_alphanumeric) {
            return Ok(found);
        }
        let words = Phrase::read(name).stems;
        let mention = Term::from_field_u64(snapshot.fields.kind, kind::MENTION);
        let [mut whole, mut by_words, mut parts] = [Sessions::new(), Sessions::new(), Sessions::new()];
        // Of each thing, how its name fits.
        let mut known: BTreeMap<u64, Option<Fit>> = BTreeMap::new();
        for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            let index = reader.inverted_index(snapshot.fields.kind)?;
            let Some(mut postings) = index.read_postings(&mention, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                postings.advance();
                let Some(subject) = of_label(segment, doc, label).filter(|_| !reader.is_deleted(doc)) else { continue };
                let fit = match known.get(&subject) {
                    Some(fit) => *fit,
                    None if known.len() >= THINGS_LOOKED => {
                        found.is_partial = true;
                        continue;
                    }
                    None => {
                        let document: TantivyDocument = snapshot.searcher.doc(DocAddress::new(number, doc))?;
                        let fit = fit(text(&document, snapshot.fields.title), &wanted, &words);
                        known.insert(subject, fit);
                        fit
                    }
                };
                let sessions = match fit {
                    Some(Fit::Whole) => &mut whole,
                    Some(Fit::Words) => &mut by_words,
                    Some(Fit::Part) => &mut parts,
                    None => continue,
                };
                sessions.extend(segment.id_of(doc).map(Box::from));
            }
        }
        let best = [whole, by_words, parts].into_iter().find(|sessions| !sessions.is_empty());
        found.sessions = best.unwrap_or_default();
        Ok(found)
    }
}

/// How a name fits what was written, in small letters, with its words.
fn fit(name: &str, wanted: &str, words: &[String]) -> Option<Fit> {
    let lowered = name.to_lowercase();
    if !lowered.contains(wanted) {
        return None;
    }
    let there = Phrase::read(name).stems;
    match lowered == wanted {
        true => Some(Fit::Whole),
        false if !words.is_empty() && words.iter().all(|word| there.contains(word)) => Some(Fit::Words),
        false => Some(Fit::Part),
    }
}

/// A path as names are kept: in small letters, without what leads to the project.
fn cleaned(name: &str) -> String {
    let lowered = name.trim().to_lowercase();
    let bare = lowered.trim_start_matches("./").trim_matches('/');
    bare.chars().take(MAX_NAME_CHARS).collect()
}

/// The sessions that mention a file whose name fits: a pattern, the end of a path, or a part of one. Linear in the names there
/// are.
fn with_names(snapshot: &Snapshot, wanted: &str) -> Result<Having, Error> {
    let mut found = Having::default();
    let start = NAME_PREFIX.to_string();
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let index = reader.inverted_index(snapshot.fields.entity)?;
        let mut stream = index.terms().range().ge(&start).into_stream()?;
        let mut looked = 0;
        while stream.advance() {
            let Some(name) = std::str::from_utf8(stream.key()).ok().and_then(|key| key.strip_prefix(NAME_PREFIX))
            else {
                break;
            };
            looked += 1;
            if looked > NAMES_LOOKED {
                found.is_partial = true;
                break;
            }
            if fits(name, wanted) {
                let postings = index.read_postings_from_terminfo(stream.value(), IndexRecordOption::Basic)?;
                files(reader, segment, postings, &mut found.sessions);
            }
        }
    }
    Ok(found)
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

/// Adds the sessions that mention a file of this very name.
fn with_name(snapshot: &Snapshot, token: &str, sessions: &mut Sessions) -> Result<(), Error> {
    let term = Term::from_field_text(snapshot.fields.entity, token);
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let index = reader.inverted_index(snapshot.fields.entity)?;
        if let Some(postings) = index.read_postings(&term, IndexRecordOption::Basic)? {
            files(reader, segment, postings, sessions);
        }
    }
    Ok(())
}

/// Adds the sessions of those documents that mention files.
fn files(reader: &SegmentReader, segment: &Segment, mut postings: SegmentPostings, sessions: &mut Sessions) {
    while postings.doc() != TERMINATED {
        let doc = postings.doc();
        if of_label(segment, doc, Label::File).is_some()
            && !reader.is_deleted(doc)
            && let Some(id) = segment.id_of(doc)
            && !sessions.contains(id)
        {
            sessions.insert(id.into());
        }
        postings.advance();
    }
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
