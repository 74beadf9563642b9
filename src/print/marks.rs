//! What is marked in texts: words that were looked for, or a literal text.
//!
//! # Decisions
//!
//! - Matching words are found by their beginnings, without the daemon's analyzer: a mark too many or too few changes no
//!   answer.

use std::ops::Range;

/// Longest ending in which a word of a text may differ from the one that was looked for.
const ENDING_CHARS: usize = 4;

/// What is marked in texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Beginnings of words, in lower case.
    words: Vec<String>,
    /// A literal text, in lower case.
    literal: Vec<char>,
}

impl Marks {
    /// The words of a query, without what it excludes and its filters.
    pub fn of_query(query: &str) -> Self {
        let question = baton_ask::query::parse(query, baton_conversation::record::Timestamp(0));
        let texts = [question.words].into_iter().chain(question.prefixes);
        let words = texts.flat_map(|text| words(&text).map(|place| stem(&text[place])).collect::<Vec<_>>());
        Self { words: words.filter(|word| word.chars().count() > 1).collect(), literal: Vec::new() }
    }

    /// A text as it is typed, in any case.
    pub fn literal(text: &str) -> Self {
        Self { words: Vec::new(), literal: text.chars().map(lower).collect() }
    }

    /// The places in a text that are marked, in their order.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.literal.is_empty() {
            return words(text).filter(|place| self.is_word(&text[place.clone()])).collect();
        }
        let chars: Vec<(usize, char)> = text.char_indices().map(|(at, c)| (at, lower(c))).collect();
        let mut places = Vec::new();
        let mut at = 0;
        while at + self.literal.len() <= chars.len() {
            let is_here = chars[at..].iter().zip(&self.literal).all(|((_, c), wanted)| c == wanted);
            if is_here {
                let end = at + self.literal.len();
                places.push(chars[at].0..chars.get(end).map_or(text.len(), |(end, _)| *end));
                at = end;
            } else {
                at += 1;
            }
        }
        places
    }

    /// True if a text contains something that is marked.
    pub fn is_in(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    fn is_word(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.words.iter().any(|wanted| {
            word.strip_prefix(wanted.as_str()).is_some_and(|ending| ending.chars().count() <= ENDING_CHARS)
        })
    }
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Words of a text; parts of a name (`refresh_token`, `parseFile`) are words, too.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut places = Vec::new();
    let mut start = None;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        let is_new = !c.is_alphanumeric() || (last.is_lowercase() && c.is_uppercase());
        if let Some(begin) = start.filter(|_| is_new) {
            places.push(begin..at);
            start = None;
        }
        if c.is_alphanumeric() && start.is_none() {
            start = Some(at);
        }
        last = c;
    }
    places.extend(start.map(|begin| begin..text.len()));
    places.into_iter()
}

/// The beginning that the forms of an English word share.
fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let ending = ["ing", "ies", "ed", "es", "s", "e", "y"].iter().find(|ending| word.ends_with(**ending));
    let stem = ending.map_or(word.as_str(), |ending| &word[..word.len() - ending.len()]);
    if stem.chars().count() >= 3 { stem.to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_query_are_marked_in_their_forms() {
        let marked = |query: &str, text: &str| -> Vec<String> {
            Marks::of_query(query).places(text).into_iter().map(|place| text[place].to_owned()).collect()
        };
        assert_eq!(
            marked("locks refresh", "A lock was Locked; refreshToken, refresh_it"),
            ["lock", "Locked", "refresh", "refresh"]
        );
        assert_eq!(marked("-lock file:a.rs after:7d", "lock file a"), [""; 0]);
        assert_eq!(marked("migrat*", "migration migrates immigrate"), ["migration", "migrates"]);
        let places = |needle: &str, text: &str| Marks::literal(needle).places(text);
        assert_eq!(places("É X", "aé xÉ X"), [1..5, 5..9]);
        assert_eq!(places("aa", "aaa"), vec![0..2]);
        assert_eq!(places("", "a"), [0..0; 0]);
    }
}
