//! Words of a question that mean nothing by themselves.

use crate::stopwords::is_stop;
use baton_words::WordList;

/// Words that say nothing about the subject of a question, but much elsewhere.
static ASKING: WordList = WordList::words(crate::WORDS, "asking words");

/// Returns true if a word in lower case says nothing about the subject of a question.
pub(super) fn is_plain(word: &str) -> bool {
    is_stop(word) || ASKING.has(word)
}
