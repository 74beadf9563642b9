//! Merges a wanted note into an existing file and keeps what a person wrote in it.
//!
//! # Hazards
//!
//! - A note that was deleted is not written again unless someone asks for it. A block in which a person changed one
//!   line is theirs as a whole, also when its session is forgotten.

mod section;

use super::block;
use super::header::{self, Document, Parsed};
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
    let before = block::written_in_text(document.rest).unwrap_or_default();
    let mut written = before.clone();

    let mut body = section::BodyText::new(document.rest, eol);
    for at in 0..wanted.sections.len() {
        body.merge_section(&wanted.sections, at, &mut written);
    }
    let touched = existing.is_none() || body.is_changed();
    let head = header::merge_keys(&document.head, &wanted.header, &mut written, touched, eol);
    if written != before {
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
    let Parsed { document, blocks, marker, written, .. } = Parsed::new(text);
    let is_taken = |entry: &&header::Entry<'_>| written.contains_key(entry.key) && !header::is_own(entry, &written);
    let keys = match &document.head {
        header::Head::Odd(..) => usize::from(marker.is_some()),
        header::Head::None => 0,
        header::Head::Read { entries, .. } => entries.iter().filter(is_taken).count(),
    };
    blocks.conflicts() + keys
}
