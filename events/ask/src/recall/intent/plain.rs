//! Words of a question that mean nothing by themselves.

use crate::stopwords::is_stop;

/// Words that say nothing about the subject of a question, but much elsewhere; sorted.
const ASKING: [&str; 21] = [
    "already",
    "anything",
    "done",
    "every",
    "everything",
    "exactly",
    "get",
    "give",
    "go",
    "got",
    "know",
    "let",
    "like",
    "mine",
    "need",
    "please",
    "show",
    "something",
    "still",
    "tell",
    "yet",
];

/// Returns true if a word in lower case says nothing about the subject of a question.
pub(super) fn is_plain(word: &str) -> bool {
    is_stop(word) || ASKING.contains(&word)
}
