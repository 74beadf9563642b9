//! The distinct unstemmed words of a session, for its 4-grams.

use std::collections::HashSet;

use super::analyzer;
use super::limits::SESSION_WORDS_BYTES;
use super::pretokenized::END;

/// A set of words that keeps their first order. Words are told apart by a hash of 64 bits.
#[derive(Default)]
pub(super) struct PlainWords {
    seen: HashSet<u64>,
    packed: String,
}

impl PlainWords {
    pub(super) fn push(&mut self, word: &str) {
        if self.packed.len() < SESSION_WORDS_BYTES && self.seen.insert(analyzer::hash(word.as_bytes())) {
            self.packed.push_str(word);
            self.packed.push(END);
        }
    }

    /// Appends the words, packed, in the order in which they first came, so that a session always gives the same text.
    pub(super) fn distinct_into(self, out: &mut String) {
        out.push_str(&self.packed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_kept_once_in_the_order_of_first_coming() {
        let mut words = PlainWords::default();
        for word in ["b", "a", "b", "a", "c"] {
            words.push(word);
        }
        let mut out = String::new();
        words.distinct_into(&mut out);
        assert_eq!(out, "b\na\nc\n");
    }

    #[test]
    fn growing_loses_nothing() {
        let mut words = PlainWords::default();
        let all: Vec<String> = (0..5000).map(|number| format!("word{number}")).collect();
        all.iter().chain(&all).for_each(|word| words.push(word));
        let mut out = String::new();
        words.distinct_into(&mut out);
        assert_eq!(out.lines().collect::<Vec<_>>(), all);
    }
}
