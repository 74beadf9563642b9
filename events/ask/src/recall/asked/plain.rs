//! Words of a question that stand for nothing by themselves.

use crate::stopwords::is_stop;

/// Words that say nothing of what a question is about, and much elsewhere; sorted.
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

/// Whether a lower-cased word says nothing of what a question is about.
pub(super) fn is_plain(word: &str) -> bool {
    is_stop(word) || ASKING.contains(&word)
}
