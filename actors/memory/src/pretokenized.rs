//! How analysed text enters the index: as tokens, one per line.
//!
//! A unit's text is analysed once, for its turn and for its session. So the index gets **packed** text: each token ends
//! with a newline, which no token contains. An empty line is a border that no pair of words crosses.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::analyzer::NAME_PREFIX;

/// Ends each token.
pub(super) const END: char = '\n';
/// Precedes a character that stands within a word of a script without spaces: it takes no place of its own.
pub(super) const WITHIN: char = '\u{1}';
/// Maximum distance in words of a near pair.
pub(super) const NEAR_WORDS: usize = 8;
/// Characters in a gram.
const GRAM_CHARS: usize = 4;

/// What the index makes of packed text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packed {
    /// The tokens themselves. Words are at consecutive positions, which keep near pairs from crossing a border; names,
    /// and characters [`WITHIN`] a word, are where the last word is.
    Tokens,
    /// The 4-grams of each token, written `^token$`.
    Grams,
}

impl Packed {
    /// Name of the tokenizer in the index.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tokens => "packed",
            Self::Grams => "packed_grams",
        }
    }

    /// Calls `each` with every token that the index will have for a packed text.
    pub(super) fn for_each(self, text: &str, mut each: impl FnMut(&str)) {
        let mut tokenizer = self;
        let mut stream = tokenizer.token_stream(text);
        while stream.advance() {
            each(&stream.token().text);
        }
    }
}

/// Iterates over the tokens of a packed text.
pub(super) struct Lines<'a> {
    kind: Packed,
    rest: &'a str,
    token: Token,
    /// Start of the next gram in `framed`; equals its length when the token is done.
    gram: usize,
    framed: String,
    position: usize,
}

impl Tokenizer for Packed {
    type TokenStream<'a> = Lines<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Lines<'a> {
        Lines { kind: *self, rest: text, token: Token::default(), gram: 0, framed: String::new(), position: 0 }
    }
}

impl<'a> Lines<'a> {
    /// The next line; empty at a border.
    #[inline]
    fn line(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        // Tokens are short: a plain loop finds their end faster than a vectorised search.
        let end = self.rest.bytes().position(|byte| byte == END as u8).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(line)
    }

    fn next_token(&mut self) -> bool {
        while let Some(line) = self.line() {
            if line.is_empty() {
                self.position += NEAR_WORDS;
                continue;
            }
            let text = line.strip_prefix(WITHIN).unwrap_or(line);
            let is_word = text.len() == line.len() && !line.starts_with(NAME_PREFIX);
            self.token.text.clear();
            self.token.text.push_str(text);
            self.token.position = if is_word { self.position } else { self.position.saturating_sub(1) };
            self.position += usize::from(is_word);
            return true;
        }
        false
    }

    fn next_gram(&mut self) -> bool {
        while self.gram >= self.framed.len() {
            let Some(line) = self.line() else { return false };
            self.framed.clear();
            self.gram = 0;
            if !line.is_empty() {
                self.framed.push('^');
                self.framed.push_str(line);
                self.framed.push('$');
            }
        }
        // A word of one letter is shorter than a gram, and is one as it is.
        let (second, end) = gram_borders(&self.framed, self.gram);
        let gram = self.gram..end;
        self.gram = if end == self.framed.len() { end } else { second };
        self.token.text.clear();
        self.token.text.push_str(&self.framed[gram]);
        self.token.position = self.position;
        self.position += 1;
        true
    }
}

/// Start of the second character of the gram at `from`, and end of the gram; both at most the text's length.
#[inline]
fn gram_borders(text: &str, from: usize) -> (usize, usize) {
    if let Some(gram) = text.as_bytes().get(from..from + GRAM_CHARS)
        && gram.is_ascii()
    {
        return (from + 1, from + GRAM_CHARS);
    }
    let mut borders = text[from..].char_indices().map(|(at, _)| from + at).skip(1);
    let second = borders.next().unwrap_or(text.len());
    (second, borders.nth(GRAM_CHARS - 2).unwrap_or(text.len()))
}

impl TokenStream for Lines<'_> {
    fn advance(&mut self) -> bool {
        match self.kind {
            Packed::Tokens => self.next_token(),
            Packed::Grams => self.next_gram(),
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Packed, text: &str, tokens: &[&str]) {
        let mut found = Vec::new();
        kind.for_each(text, |token| found.push(token.to_owned()));
        assert_eq!(found, tokens, "{kind:?} of {text:?}");
    }

    #[test]
    fn packed_text_becomes_tokens_and_grams() {
        check(Packed::Tokens, "", &[]);
        check(Packed::Tokens, "a\n=b/c\n\nd\n", &["a", "=b/c", "d"]);
        check(Packed::Grams, "a\nab\ntoken\nähm\n", &["^a$", "^ab$", "^tok", "toke", "oken", "ken$", "^ähm", "ähm$"]);
        check(Packed::Grams, "", &[]);
    }

    #[test]
    fn a_border_is_wider_than_a_near_pair() {
        let mut tokenizer = Packed::Tokens;
        let mut stream = tokenizer.token_stream("a\nb\n\nc\n");
        let mut positions = Vec::new();
        while stream.advance() {
            positions.push(stream.token().position);
        }
        assert_eq!(positions[1] - positions[0], 1);
        assert!(positions[2] - positions[1] > NEAR_WORDS);
    }

    #[test]
    fn names_and_characters_within_a_word_take_no_place_between_words() {
        let mut tokenizer = Packed::Tokens;
        let mut stream = tokenizer.token_stream("=a\nfix\nfoo\nbar\n=foo_bar\nnow\n東京\n\u{1}東\n\u{1}京\nhere\n");
        let mut found = Vec::new();
        while stream.advance() {
            found.push((stream.token().text.clone(), stream.token().position));
        }
        let expected = [("=a", 0), ("fix", 0), ("foo", 1), ("bar", 2), ("=foo_bar", 2), ("now", 3), ("東京", 4)];
        let within = [("東", 4), ("京", 4), ("here", 5)];
        assert!(found.iter().map(|(text, at)| (&**text, *at)).eq(expected.into_iter().chain(within)), "{found:?}");
    }
}
