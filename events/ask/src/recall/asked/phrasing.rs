//! The words of a question, of which some are taken away as they are understood.

use std::ops::Range;

use super::words;

/// Contractions, as they are when the apostrophe is gone or left, and what they say.
const CONTRACTIONS: [(&str, &[&str]); 20] = [
    ("whats", &["what", "is"]),
    ("wheres", &["where", "is"]),
    ("whys", &["why", "is"]),
    ("hows", &["how", "is"]),
    ("thats", &["that", "is"]),
    ("didnt", &["did", "not"]),
    ("doesnt", &["does", "not"]),
    ("dont", &["do", "not"]),
    ("wasnt", &["was", "not"]),
    ("werent", &["were", "not"]),
    ("isnt", &["is", "not"]),
    ("arent", &["are", "not"]),
    ("hasnt", &["has", "not"]),
    ("havent", &["have", "not"]),
    ("wont", &["will", "not"]),
    ("cant", &["can", "not"]),
    ("couldnt", &["could", "not"]),
    ("wouldnt", &["would", "not"]),
    ("ive", &["i", "have"]),
    ("weve", &["we", "have"]),
];
/// First words of questions that have a time in them: of what happened, not of why something is so.
const ASKING_WHEN: [&str; 14] = [
    "what",
    "which",
    "show",
    "list",
    "tell",
    "summarize",
    "summarise",
    "summary",
    "anything",
    "have",
    "how",
    "did",
    "decisions",
    "sessions",
];

/// A word, and which piece between blanks it is of.
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
    /// At most the first so many words of a text.
    pub(super) fn of(text: &str, most: usize) -> Self {
        let mut phrasing = Self { words: Vec::new(), pieces: Vec::new() };
        for written in text.split_whitespace() {
            if phrasing.words.len() >= most {
                break;
            }
            let bare = written.replace('’', "'");
            let owner = bare.trim_end_matches(|c: char| !c.is_alphanumeric()).strip_suffix("'s");
            let plain = bare.replace('\'', "").to_lowercase();
            let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
            let piece = phrasing.pieces.len();
            let mut push = |text: &str| phrasing.words.push(Word { text: text.to_owned(), piece });
            match (CONTRACTIONS.iter().find(|(short, _)| *short == plain), owner) {
                (Some((_, said)), _) => said.iter().for_each(|word| push(word)),
                // `ledger-api's` is the ledger-api's, and not the `s` of anything.
                (None, Some(owner)) => words(owner).iter().for_each(|word| push(word)),
                (None, None) => words(&bare.replace('\'', "")).iter().for_each(|word| push(word)),
            }
            phrasing.pieces.push(written.to_owned());
        }
        phrasing.words.truncate(most);
        phrasing
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }

    /// The word at a place.
    pub(super) fn at(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(|word| word.text.as_str())
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The piece that a word is of, as it was written, without the marks around it.
    pub(super) fn written(&self, place: usize) -> Option<&str> {
        let piece = self.pieces.get(self.words.get(place)?.piece)?;
        Some(piece.trim_matches(|c: char| !c.is_alphanumeric()))
    }

    /// Whether a stretch of words is one piece, and all of it.
    pub(super) fn is_piece(&self, range: &Range<usize>) -> bool {
        let piece = |place: usize| self.words.get(place).map(|word| word.piece);
        let own = piece(range.start);
        let inside = range.clone().all(|place| piece(place) == own);
        let before = range.start.checked_sub(1).and_then(piece);
        own.is_some() && inside && before != own && piece(range.end) != own
    }

    /// Where words stand one right after the other. `^` before the first: at the beginning; `$` behind the last: at the end;
    /// a star behind a word stands for any ending, alone for any word, which is none of the sign.
    pub(super) fn find(&self, sign: &str) -> Option<Vec<usize>> {
        let (sign, first) = sign.strip_prefix('^').map_or((sign, false), |rest| (rest, true));
        let (sign, last) = sign.strip_suffix('$').map_or((sign, false), |rest| (rest, true));
        let parts: Vec<&str> = sign.split(' ').collect();
        let mut windows = self.words.windows(parts.len()).enumerate();
        let (at, _) = windows.find(|(at, window)| {
            (!first || *at == 0)
                && (!last || at + parts.len() == self.words.len())
                && window.iter().zip(&parts).all(|(word, part)| fits(&word.text, part))
        })?;
        Some(parts.iter().zip(at..).filter(|(part, _)| **part != "*").map(|(_, place)| place).collect())
    }

    /// Empties the words at these places; what stands behind them keeps its place.
    pub(super) fn empty(&mut self, places: &[usize]) {
        for place in places {
            self.words.get_mut(*place).into_iter().for_each(|word| word.text.clear());
        }
    }

    /// Takes a stretch out, so that what stands around it comes together.
    pub(super) fn cut(&mut self, range: Range<usize>) {
        let end = range.end.min(self.words.len());
        self.words.drain(range.start.min(end)..end);
    }

    /// Leaves out what fits, and what was emptied.
    pub(super) fn leave_out(&mut self, is_aside: impl Fn(&str) -> bool) {
        self.words.retain(|word| !word.text.is_empty() && !is_aside(&word.text));
    }

    /// The pieces of which a word is left, in their order.
    pub(super) fn as_written(&self) -> String {
        let mut pieces: Vec<usize> = self.words.iter().map(|word| word.piece).collect();
        pieces.dedup();
        let written = pieces.into_iter().filter_map(|piece| self.pieces.get(piece)).map(String::as_str);
        written.collect::<Vec<_>>().join(" ")
    }

    /// Whether it may ask for what happened in a time.
    pub(super) fn asks_when(&self) -> bool {
        self.at(0).is_some_and(|first| ASKING_WHEN.contains(&first))
    }
}

/// Whether a word is what a part of a sign asks for.
pub(super) fn fits(word: &str, part: &str) -> bool {
    part.strip_suffix('*').map_or(word == part, |start| word.starts_with(start))
}
