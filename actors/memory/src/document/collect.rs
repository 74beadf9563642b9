//! Listeners that collect what the analyzer finds as packed text.

use std::ops::Range;

use crate::analyzer::{Listener, NAME_PREFIX};
use crate::pair_count::PairCount;
use crate::plain_words::PlainWords;
use crate::pretokenized::END;

/// Collects names, and the file names at the end of paths.
pub(super) struct FileNames<'a>(pub(super) &'a mut String);

impl Listener for FileNames<'_> {
    fn word(&mut self, _plain: &str, _stem: &str, _at: Range<usize>) {}

    fn name(&mut self, token: &str, _at: Range<usize>) {
        let mut tokens = Tokens(&mut *self.0);
        tokens.push(token);
        if let Some((_, file)) = token.rsplit_once(['/', '\\']) {
            tokens.push(&format!("{NAME_PREFIX}{file}"));
        }
    }
}

/// Collects stems, single characters and names.
pub(super) struct Tokens<'a>(pub(super) &'a mut String);

impl Tokens<'_> {
    fn push(&mut self, token: &str) {
        self.0.push_str(token);
        self.0.push(END);
    }
}

impl Listener for Tokens<'_> {
    fn word(&mut self, _plain: &str, stem: &str, _at: Range<usize>) {
        self.push(stem);
    }

    fn single(&mut self, character: &str, _at: Range<usize>) {
        self.push(character);
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        self.push(token);
    }
}

/// Collects the words of a session and, while a unit is read, the body of its turn.
pub(super) struct SessionText<'a> {
    words: &'a mut String,
    plain: &'a mut PlainWords,
    pairs: &'a mut PairCount,
    pub(super) turn: Option<TurnText<'a>>,
    /// True once the session has enough words.
    pub(super) is_full: bool,
}

pub(super) struct TurnText<'a> {
    pub(super) body: &'a mut String,
    pub(super) stops: &'a mut String,
    /// Byte of the text where the head ends, and the end of the head in the packed body.
    pub(super) head_to: usize,
    pub(super) head_end: usize,
    /// Byte of the text where the tail begins, and the start of the tail in the packed body.
    pub(super) tail_from: usize,
    pub(super) tail_start: Option<usize>,
}

impl<'a> SessionText<'a> {
    pub(super) fn new(words: &'a mut String, plain: &'a mut PlainWords, pairs: &'a mut PairCount) -> Self {
        Self { words, plain, pairs, turn: None, is_full: false }
    }

    /// Separates the words before from those after, which form no pairs with them.
    pub(super) fn border(&mut self) {
        if !self.is_full {
            self.words.push(END);
            self.pairs.border();
        }
    }
}

impl TurnText<'_> {
    fn push(&mut self, token: &str, at: Range<usize>) {
        if at.start >= self.tail_from {
            self.tail_start.get_or_insert(self.body.len());
        }
        self.body.push_str(token);
        self.body.push(END);
        if at.end <= self.head_to {
            self.head_end = self.body.len();
        }
    }
}

impl Listener for SessionText<'_> {
    fn word(&mut self, plain: &str, stem: &str, at: Range<usize>) {
        if !self.is_full {
            self.words.push_str(stem);
            self.words.push(END);
            self.plain.push(plain);
            self.pairs.push(stem);
        }
        if let Some(turn) = &mut self.turn {
            turn.push(stem, at);
        }
    }

    fn single(&mut self, character: &str, at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.push(character, at);
        }
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.stops.push_str(word);
            turn.stops.push(END);
        }
    }

    fn name(&mut self, token: &str, at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.push(token, at);
        }
    }
}
