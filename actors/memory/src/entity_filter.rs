//! Sessions that mention an entity, for the filters by file, tool and branch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use baton_graph::Label;
use tantivy::index::SegmentReader;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, TantivyDocument, Term};

use super::analyzer::{MAX_NAME_CHARS, NAME_PREFIX};
use super::limits::{NAMES_LOOKED, THINGS_LOOKED};
use super::phrase::Phrase;
use super::schema::{kind, text};
use super::snapshot::{Segment, Snapshot};
use super::{Error, Searcher};

/// The ids of sessions.
pub type SessionIds = BTreeSet<Box<str>>;

/// Sessions that meet a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionMatches {
    /// Their ids.
    pub sessions: SessionIds,
    /// True if a limit was reached, so that sessions may be missing.
    pub is_partial: bool,
}

/// How well a name matches; only the best level found counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// Equal.
    Whole,
    /// Contains all the words.
    Words,
    /// Contains the text.
    Part,
}

impl Searcher {
    /// Sessions that mention a file of this name, given as a whole path or its last part. If there is none: a path that
    /// ends with the name or contains it, or matches it as a pattern with `*`. A path outside of the project matches by
    /// its end.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions_with_file(&self, name: &str) -> Result<SessionMatches, Error> {
        let snapshot = self.snapshot();
        let wanted = normalise(name);
        let mut found = SessionMatches::default();
        if wanted.is_empty() {
            return Ok(found);
        }
        add_with_name(&snapshot, &format!("{NAME_PREFIX}{wanted}"), &mut found.sessions)?;
        if found.sessions.is_empty() {
            found = find_names(&snapshot, &wanted)?;
        }
        if found.sessions.is_empty() && !wanted.contains(['/', '*']) {
            // A name of letters alone, such as `Makefile`, is indexed as a word.
            return self.sessions_with_entity(Label::File, name);
        }
        Ok(found)
    }

    /// Sessions that mention an entity of this label with this name, case-insensitively. If there is none: names that
    /// contain all of its words, or else the text.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions_with_entity(&self, label: Label, name: &str) -> Result<SessionMatches, Error> {
        let snapshot = self.snapshot();
        let wanted = name.trim().to_lowercase();
        let mut found = SessionMatches::default();
        if !wanted.contains(char::is_alphanumeric) {
            return Ok(found);
        }
        let words = Phrase::parse(name).stems;
        let mention = Term::from_field_u64(snapshot.fields.kind, kind::MENTION);
        let [mut whole, mut by_words, mut parts] = [SessionIds::new(), SessionIds::new(), SessionIds::new()];
        // How the name of each entity matches.
        let mut known: BTreeMap<u64, Option<Match>> = BTreeMap::new();
        for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            let index = reader.inverted_index(snapshot.fields.kind)?;
            let Some(mut postings) = index.read_postings(&mention, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                postings.advance();
                let Some(subject) = entity_with_label(segment, doc, label).filter(|_| !reader.is_deleted(doc)) else {
                    continue;
                };
                let fit = match known.get(&subject) {
                    Some(fit) => *fit,
                    None if known.len() >= THINGS_LOOKED => {
                        found.is_partial = true;
                        continue;
                    }
                    None => {
                        let document: TantivyDocument = snapshot.searcher.doc(DocAddress::new(number, doc))?;
                        let fit = match_name(text(&document, snapshot.fields.title), &wanted, &words);
                        known.insert(subject, fit);
                        fit
                    }
                };
                let sessions = match fit {
                    Some(Match::Whole) => &mut whole,
                    Some(Match::Words) => &mut by_words,
                    Some(Match::Part) => &mut parts,
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

/// Matches a name against lower-cased text and its words.
fn match_name(name: &str, wanted: &str, words: &[String]) -> Option<Match> {
    let lowered = name.to_lowercase();
    if !lowered.contains(wanted) {
        return None;
    }
    let there = Phrase::parse(name).stems;
    match lowered == wanted {
        true => Some(Match::Whole),
        false if !words.is_empty() && words.iter().all(|word| there.contains(word)) => Some(Match::Words),
        false => Some(Match::Part),
    }
}

/// A path in the form of indexed names: lower-cased, without a leading `./` and slashes.
fn normalise(name: &str) -> String {
    let lowered = name.trim().to_lowercase();
    let bare = lowered.trim_start_matches("./").trim_matches('/');
    bare.chars().take(MAX_NAME_CHARS).collect()
}

/// Sessions that mention a file whose name matches as a pattern, by the end of a path, or by a part of one. Linear in
/// the number of names.
fn find_names(snapshot: &Snapshot, wanted: &str) -> Result<SessionMatches, Error> {
    let mut found = SessionMatches::default();
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
            if path_matches(name, wanted) {
                let postings = index.read_postings_from_terminfo(stream.value(), IndexRecordOption::Basic)?;
                add_file_mentions(reader, segment, postings, &mut found.sessions);
            }
        }
    }
    Ok(found)
}

fn path_matches(name: &str, wanted: &str) -> bool {
    match wanted.contains('*') {
        true => matches_pattern(wanted, name),
        false => {
            name.contains(wanted)
                || name.contains('/') && wanted.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
        }
    }
}

/// Matches a name against a pattern in which each star stands for any text.
fn matches_pattern(pattern: &str, name: &str) -> bool {
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

/// Adds the sessions that mention a file of exactly this name.
fn add_with_name(snapshot: &Snapshot, token: &str, sessions: &mut SessionIds) -> Result<(), Error> {
    let term = Term::from_field_text(snapshot.fields.entity, token);
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        let index = reader.inverted_index(snapshot.fields.entity)?;
        if let Some(postings) = index.read_postings(&term, IndexRecordOption::Basic)? {
            add_file_mentions(reader, segment, postings, sessions);
        }
    }
    Ok(())
}

/// Adds the sessions of those documents that mention files.
fn add_file_mentions(
    reader: &SegmentReader,
    segment: &Segment,
    mut postings: SegmentPostings,
    sessions: &mut SessionIds,
) {
    while postings.doc() != TERMINATED {
        let doc = postings.doc();
        if entity_with_label(segment, doc, Label::File).is_some()
            && !reader.is_deleted(doc)
            && let Some(id) = segment.id_of(doc)
            && !sessions.contains(id)
        {
            sessions.insert(id.into());
        }
        postings.advance();
    }
}

/// Key of the entity that a document mentions, if it has this label.
fn entity_with_label(segment: &Segment, doc: DocId, label: Label) -> Option<u64> {
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
            assert_eq!(path_matches(name, wanted), expected, "{wanted} {name}");
        }
        assert_eq!(normalise(" ./Src/Auth.rs "), "src/auth.rs");
        assert_eq!(normalise("/srv/a/"), "srv/a");
    }
}
