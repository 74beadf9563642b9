//! Complaints about how a program was called.

use baton_words::WordList;

/// Complaints about how a program was called or where.
static USAGE: WordList = WordList::new(crate::WORDS, "usage complaints");

/// Returns true if a program complains about how it was called or where: it has not done anything yet.
pub(in crate::digest) fn is_misuse(complaint: &str) -> bool {
    USAGE.iter().any(|words| complaint.contains(words))
}
