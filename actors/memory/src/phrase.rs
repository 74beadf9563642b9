//! Phrases: sequences of words that a text must contain in order.

use std::ops::Range;

use super::analyzer::{Analyzer, Listener, lower_into};

/// Maximum number of words of a phrase that are compared.
const PHRASE_WORDS: usize = 64;

/// A parsed phrase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Phrase {
    /// The phrase lower-cased; compared as a substring for scripts without spaces.
    lowered: String,
    /// Its words in order, unstemmed, including stop words.
    words: Vec<String>,
    /// Stems of its words that are not stop words, in order.
    pub(super) stems: Vec<String>,
    /// The stop words.
    pub(super) stops: Vec<String>,
}

impl Phrase {
    pub(super) fn parse(text: &str) -> Self {
        let mut phrase = Self { lowered: text.to_lowercase(), ..Self::default() };
        Analyzer::default().analyze(text, &mut phrase);
        phrase
    }

    /// True if a text contains the words consecutively. Ignores case and everything between words.
    pub(super) fn is_in(&self, text: &str, analyzer: &mut Analyzer) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let mut search = Search { phrase: self, partial: Vec::new(), found: false };
        // Most texts lack a word in the form of the phrase, which is seen sooner than the words are told apart.
        let mut lowered = String::with_capacity(text.len());
        lower_into(text, &mut lowered);
        if self.words.iter().all(|word| lowered.contains(word.as_str())) {
            analyzer.analyze(text, &mut search);
        }
        search.found || !self.lowered.is_ascii() && text.to_lowercase().contains(&self.lowered)
    }
}

impl Listener for Phrase {
    fn word(&mut self, plain: &str, stem: &str, _at: Range<usize>) {
        if self.words.len() < PHRASE_WORDS {
            self.words.push(plain.to_owned());
            self.stems.push(stem.to_owned());
        }
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        if self.words.len() < PHRASE_WORDS {
            self.words.push(word.to_owned());
            self.stops.push(word.to_owned());
        }
    }
}

/// Searches a text for a phrase while it is analysed.
struct Search<'a> {
    phrase: &'a Phrase,
    /// Number of words matched by each partial match; at most one entry per word of the phrase.
    partial: Vec<usize>,
    found: bool,
}

impl Search<'_> {
    fn next(&mut self, word: &str) {
        if self.found {
            return;
        }
        let words = &self.phrase.words;
        self.partial.push(0);
        self.partial.retain_mut(|length| {
            let fits = words.get(*length).is_some_and(|wanted| wanted == word);
            *length += 1;
            fits
        });
        self.found = self.partial.contains(&words.len());
    }
}

impl Listener for Search<'_> {
    fn word(&mut self, plain: &str, _stem: &str, _at: Range<usize>) {
        self.next(plain);
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        self.next(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_in_a_text_word_for_word() {
        let check = |phrase: &str, text: &str, expected: bool| {
            let found = Phrase::parse(phrase).is_in(text, &mut Analyzer::default());
            assert_eq!(found, expected, "{phrase:?} in {text:?}");
        };
        check("refresh token", "The Refresh Token expires", true);
        check("refresh token", "the refresh\n token.", true);
        check("refresh token", "the refresh tokens", false);
        check("refresh token", "refresh the token", false);
        check("token refresh", "refresh token", false);
        check("a a b", "a a a b", true);
        check("state of the art", "a state of the art parser", true);
        check("state of the art", "a state of art", false);
        check("to be", "or not to be?", true);
        check("git push --force", "Bash: git push --force origin", true);
        check("src/auth.rs", "Read src/auth.rs: 245 lines", true);
        check("src/auth.rs", "Read src/auth/mod.rs", false);
        check("parseFile", "calls parseFile twice", true);
        check("東京", "新東京駅", true);
        check("京", "新東京駅", true);
        check("größe", "Die GRÖSSE und Größe", true);
        check("--", "a -- b", false);
        check("", "a", false);
    }
}
