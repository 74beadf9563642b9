//! Merges a wanted note into an existing file, whoever wrote what in it.
//!
//! # Hazards
//!
//! - A note that was deleted is not written again unless someone asks for it. A block in which a person changed one
//!   line is theirs as a whole, also when its session is forgotten.

mod section;

use std::collections::BTreeMap;

use super::block;
use super::header::{self, Document};
use super::note::Note;

/// Result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The whole text.
    pub text: String,
    /// Number of blocks and keys that belong to a person now.
    pub conflicts: usize,
    /// True if the text differs from the existing file.
    pub changed: bool,
}

/// Merges a wanted note into a file, or creates it.
///
/// Everything that a person wrote is in the result, byte for byte and in its order: only Baton's intact blocks and own
/// keys are replaced. Idempotent. Line ends and a byte order mark are those of the file.
pub fn merge(existing: Option<&str>, wanted: &Note) -> Merged {
    let text = existing.unwrap_or_default();
    let eol = Document::eol(text);
    let document = Document::parse(text);
    let known = block::written(&document.rest.split_inclusive('\n').collect::<Vec<_>>());
    let was_known = known.is_some();
    let (_, mut written) = known.unwrap_or_default();
    let before = written.clone();

    let mut body = section::BodyText::new(document.rest, eol);
    for at in 0..wanted.sections.len() {
        body.merge_section(&wanted.sections, at, &mut written);
    }
    let touched = existing.is_none() || body.is_changed();
    let head = header::merge_keys(&document.head, &wanted.header, &mut written, touched, eol);
    if written != before || (!was_known && !written.is_empty()) {
        body.note(&written);
    }
    let mut head = head.unwrap_or_else(|| document.head_text());
    let body_text = body.finished();
    // A closing fence must end its line.
    if !head.is_empty() && !head.ends_with('\n') && !body_text.is_empty() {
        head.push_str(eol);
    }
    let merged = format!("{}{head}{body_text}", document.bom);
    let conflicts = conflicts(&merged) + body.missed();
    Merged { changed: existing != Some(merged.as_str()), text: merged, conflicts }
}

/// Returns the number of blocks and keys of a note that a person has taken over.
pub fn conflicts(text: &str) -> usize {
    let document = Document::parse(text);
    let lines: Vec<&str> = document.rest.split_inclusive('\n').collect();
    let written = block::written(&lines).map(|(_, written)| written);
    block::Blocks::parse(&lines).conflicts() + written.map_or(0, |written| taken_keys(&document, &written))
}

fn taken_keys(document: &Document<'_>, written: &BTreeMap<String, String>) -> usize {
    let entries = match &document.head {
        header::Head::None => return 0,
        header::Head::Odd(..) => return 1,
        header::Head::Read { entries, .. } => entries,
    };
    entries.iter().filter(|entry| written.contains_key(entry.key) && !header::is_own(entry, written)).count()
}
