//! Listeners that collect what the analyzer finds as packed text.

use std::ops::Range;

use crate::analyzer::{Listener, NAME_PREFIX};
use crate::plain_words::PlainWords;
use crate::pretokenized::{END, WITHIN};

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
        self.0.push(WITHIN);
        self.push(character);
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        self.push(token);
    }
}

/// Collects the body of a turn, its stop words, and the plain words of its session.
pub(super) struct TurnText<'a> {
    pub(super) body: &'a mut String,
    pub(super) stops: &'a mut String,
    pub(super) plain: &'a mut PlainWords,
    /// Number of tokens pushed.
    pub(super) tokens: u64,
}

impl TurnText<'_> {
    fn push(&mut self, token: &str) {
        self.body.push_str(token);
        self.body.push(END);
        self.tokens += 1;
    }
}

impl Listener for TurnText<'_> {
    fn word(&mut self, plain: &str, stem: &str, _at: Range<usize>) {
        self.plain.push(plain);
        self.push(stem);
    }

    fn single(&mut self, character: &str, _at: Range<usize>) {
        self.body.push(WITHIN);
        self.push(character);
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        self.stops.push_str(word);
        self.stops.push(END);
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        self.push(token);
    }
}

impl Listener for PlainWords {
    fn word(&mut self, plain: &str, _stem: &str, _at: Range<usize>) {
        self.push(plain);
    }
}
