//! Words by which kinds of question are recognised. The lists are heuristic: words that are missing are searched for.
//!
//! A sign is a sequence of English words, see `words.txt`; what other languages say is read in English before. Words that
//! are also everyday names of things (a pending order, a choice field, the todo app) are signs only together with others.

use super::Kind;
use baton_words::WordList;

/// A kind and the words that mark it.
pub(super) struct Known {
    pub(super) kind: Kind,
    pub(super) signs: WordList,
    /// Words that add nothing beside a sign of the kind.
    pub(super) beside: WordList,
}

pub(super) static KINDS: [Known; 7] = [
    known(Kind::Latest, "latest signs", "latest beside"),
    known(Kind::Open, "open signs", "open beside"),
    known(Kind::Preferences, "preferences signs", "preferences beside"),
    known(Kind::Decisions, "decisions signs", "decisions beside"),
    known(Kind::Failed, "failed signs", "failed beside"),
    known(Kind::Solved, "solved signs", "solved beside"),
    known(Kind::Files, "files signs", "files beside"),
];
/// Signs of [`Kind::Latest`] that count only if a time is named.
pub(super) static TIMED: WordList = WordList::new(crate::WORDS, "latest timed");
/// Signs of [`Kind::Latest`] that count only if no kind was recognised.
pub(super) static WEAK: WordList = WordList::new(crate::WORDS, "latest weak");

const fn known(kind: Kind, signs: &'static str, beside: &'static str) -> Known {
    Known { kind, signs: WordList::new(crate::WORDS, signs), beside: WordList::words(crate::WORDS, beside) }
}
