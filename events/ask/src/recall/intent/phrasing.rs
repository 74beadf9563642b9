//! The words of a question, which are removed as they are understood.

use std::ops::Range;

use super::words;
use baton_words::WordList;

/// Contractions without their apostrophe, and their expansion.
static CONTRACTIONS: WordList = WordList::new(crate::WORDS, "contractions");
/// Letters before an apostrophe that are no word of their own.
static ELIDED: WordList = WordList::words(crate::WORDS, "elided");
/// First words of questions that can have a time: about what happened, not about why something is so.
static ASKING_WHEN: WordList = WordList::words(crate::WORDS, "words of asking when");

/// A word, and the index of the white-space separated piece that contains it.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    piece: usize,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Phrasing {
    words: Vec<Word>,
    pieces: Vec<String>,
}

impl Phrasing {
    /// Splits at most the first `most` words of a text.
    pub(super) fn new(text: &str, most: usize) -> Self {
        let mut phrasing = Self { words: Vec::new(), pieces: Vec::new() };
        for written in text.split_whitespace() {
            if phrasing.words.len() >= most {
                break;
            }
            let bare = without_elision(&written.replace('’', "'"));
            let owner = bare.trim_end_matches(|c: char| !c.is_alphanumeric()).strip_suffix("'s");
            let plain = bare.replace('\'', "").to_lowercase();
            let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
            let piece = phrasing.pieces.len();
            let mut push = |text: &str| phrasing.words.push(Word { text: text.to_owned(), piece });
            let mut contractions = CONTRACTIONS.iter().filter_map(|line| line.split_once(' '));
            match (contractions.find(|(short, _)| *short == plain), owner) {
                (Some((_, said)), _) => said.split(' ').for_each(push),
                // `ledger-api's` is a possessive; its `s` is not a word.
                (None, Some(owner)) => words(owner).iter().for_each(|word| push(word)),
                (None, None) => words(&bare.replace('\'', "")).iter().for_each(|word| push(word)),
            }
            phrasing.pieces.push(written.to_owned());
        }
        phrasing.words.truncate(most);
        phrasing
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> + Clone {
        self.words.iter().map(|word| word.text.as_str())
    }

    /// Returns the word at an index.
    pub(super) fn word(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(|word| word.text.as_str())
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the piece that contains a word, as written, without surrounding punctuation.
    pub(super) fn written(&self, place: usize) -> Option<&str> {
        let piece = self.pieces.get(self.words.get(place)?.piece)?;
        Some(piece.trim_matches(|c: char| !c.is_alphanumeric()))
    }

    /// Returns the compound that a word is what is left of, in lower case: `sign-on`, whose other word says nothing alone.
    pub(super) fn compound(&self, place: usize) -> Option<String> {
        let written = self.written(place)?.to_lowercase();
        let parts = words(&written);
        let piece = self.words.get(place)?.piece;
        let left = self.words.iter().filter(|word| word.piece == piece).count();
        (left == 1 && parts.len() > 1 && written == parts.join("-")).then_some(written)
    }

    /// Returns true if a range of words is exactly one whole piece.
    pub(super) fn is_piece(&self, range: &Range<usize>) -> bool {
        let piece = |place: usize| self.words.get(place).map(|word| word.piece);
        let own = piece(range.start);
        let inside = range.clone().all(|place| piece(place) == own);
        let before = range.start.checked_sub(1).and_then(piece);
        own.is_some() && inside && before != own && piece(range.end) != own
    }

    /// Finds a sign, see [`signs`](super::signs), and returns the places of its words.
    pub(super) fn find(&self, sign: &str) -> Option<Vec<usize>> {
        let (sign, first) = sign.strip_prefix('^').map_or((sign, false), |rest| (rest, true));
        let (sign, last) = sign.strip_suffix('$').map_or((sign, false), |rest| (rest, true));
        let parts: Vec<&str> = sign.split(' ').collect();
        let starts = if first { 0..1 } else { 0..self.words.len() };
        starts.into_iter().find_map(|at| self.places(&parts, at, last))
    }

    /// Returns the places of the parts of a sign that begins at a place.
    fn places(&self, parts: &[&str], at: usize, last: bool) -> Option<Vec<usize>> {
        let Some((part, rest)) = parts.split_first() else {
            return (!last || at == self.words.len()).then(Vec::new);
        };
        if *part == "..." {
            return (at..self.words.len()).find_map(|next| self.places(rest, next, last));
        }
        if !matches_part(self.word(at)?, part) {
            return None;
        }
        let mut places = self.places(rest, at + 1, last)?;
        if *part != "*" {
            places.push(at);
        }
        Some(places)
    }

    /// Empties the words at these places; the places of other words do not change.
    pub(super) fn clear_words(&mut self, places: &[usize]) {
        for place in places {
            self.words.get_mut(*place).into_iter().for_each(|word| word.text.clear());
        }
    }

    /// Removes a range, so that the words around it become neighbours.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        let end = range.end.min(self.words.len());
        self.words.drain(range.start.min(end)..end);
    }

    /// Removes the words that match, and emptied ones.
    pub(super) fn leave_out(&mut self, is_aside: impl Fn(&str) -> bool) {
        self.words.retain(|word| !word.text.is_empty() && !is_aside(&word.text));
    }

    /// Returns the pieces of the remaining words, in order.
    pub(super) fn as_written(&self) -> String {
        let mut pieces: Vec<usize> = self.words.iter().map(|word| word.piece).collect();
        pieces.dedup();
        let written = pieces.into_iter().filter_map(|piece| self.pieces.get(piece)).map(String::as_str);
        written.collect::<Vec<_>>().join(" ")
    }

    /// Returns true if the question may ask about a time.
    pub(super) fn asks_when(&self) -> bool {
        self.word(0).is_some_and(|first| ASKING_WHEN.has(first))
    }
}

/// Returns a French or Italian word without the article before its apostrophe: `l'index`.
fn without_elision(written: &str) -> String {
    let start = written.trim_start_matches(|c: char| !c.is_alphanumeric());
    let elided = start.split_once('\'').filter(|(before, _)| ELIDED.has(&before.to_lowercase()));
    let after =
        elided.map(|(_, after)| after).filter(|after| after.chars().take_while(|c| c.is_alphabetic()).count() > 1);
    after.unwrap_or(written).to_owned()
}

/// Returns true if a word matches a part of a sign.
pub(super) fn matches_part(word: &str, part: &str) -> bool {
    part.split('|').any(|one| one.strip_suffix('*').map_or(word == one, |start| word.starts_with(start)))
}
