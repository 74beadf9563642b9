//! The language of a question, and what says nothing about a subject in it.

use std::borrow::Cow;

use super::synonyms;
use crate::stopwords::is_stop;
use baton_words::WordList;

const WORDS: &str = include_str!("../../languages.txt");
/// Words that say nothing, by language; English ones are stop words.
static LANGUAGES: [WordList; 5] = [
    WordList::new(WORDS, "de"),
    WordList::new(WORDS, "fr"),
    WordList::new(WORDS, "es"),
    WordList::new(WORDS, "pt"),
    WordList::new(WORDS, "ru"),
];
/// The same for languages without spaces.
static WIDE: WordList = WordList::new(WORDS, "wide");
/// Minimum number of words by which a language is recognised.
const LEAST: usize = 2;

/// Returns the words that say nothing in the language of a question, if that is not English: those of the language that
/// has most of its words, and more than English.
pub(super) fn language_of<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Option<&'static WordList> {
    let count = |has: &dyn Fn(&str) -> bool| words.clone().filter(|word| has(word)).count();
    let english = count(&is_stop);
    let counts = LANGUAGES.iter().map(|list| (count(&|word| list.has(word)), list));
    // Of equal ones the first.
    let (most, list) = counts.rev().max_by_key(|(most, _)| *most)?;
    (most >= LEAST && most > english).then_some(list)
}

/// Returns a text without what says nothing in languages that are written without spaces.
pub(super) fn without_particles(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let (mut left, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let known = WIDE.iter().map(|entry| (entry.trim_start_matches('+'), entry.starts_with('+')));
        let known = known.chain(synonyms::wide().map(|word| (word, true)));
        let longest = known.filter(|(entry, _)| rest.starts_with(entry)).max_by_key(|(entry, _)| entry.len());
        match longest {
            Some((entry, is_kept)) => {
                left.push_str(&if is_kept { format!(" {entry} ") } else { " ".to_owned() });
                rest = &rest[entry.len()..];
            }
            None => {
                left.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Cow::Owned(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_commonest_words() {
        let has = |text: &str, word: &str| language_of(text.split(' ')).is_some_and(|list| list.has(word));
        assert!(has("was wurde dagegen getan", "wurde") && has("que reste t il dans la file", "dans"));
        assert!(!has("why did the process die in the end", "die") && !has("cache die comment", "die"));
    }

    #[test]
    fn particles_are_left_out() {
        let check = |text: &str, left: &str| {
            assert_eq!(without_particles(text).split_whitespace().collect::<Vec<_>>().join(" "), left, "{text}");
        };
        check("还有什么没做", "没做");
        check("为什么用缓存", "为什么 用 缓存");
        check("缓存的大小", "缓存 大小");
        check("plain", "plain");
    }
}
