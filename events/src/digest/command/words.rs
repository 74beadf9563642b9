//! A shell line as words: quotes, operators, redirections, comments and here-documents, no expansion.

use std::borrow::Cow;

/// Most bytes of a command that are looked at: what is compared stands at its beginning.
const MAX_BYTES: usize = 4_000;
/// Most words of one part.
const MAX_WORDS: usize = 64;

/// What stands between two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, `&`, a line end, the end.
    Sequence,
    /// The end of the whole.
    End,
}

/// One program with its words.
pub(super) struct Part<'a> {
    pub(super) words: Vec<Word<'a>>,
    /// Whether something of it goes into a file, or comes from one or from the text below.
    pub(super) redirects: bool,
    pub(super) joint: Joint,
}

/// One word; borrowed unless quotes stood inside it.
pub(super) struct Word<'a>(Cow<'a, str>);

impl<'a> Word<'a> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn text(self) -> Cow<'a, str> {
        self.0
    }
}

/// The programs of a command line in order, without those that have no word.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut scan = Scan { text: head(text), at: 0 };
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut words = Vec::new();
    let (mut skip_target, mut redirects) = (false, false);
    loop {
        match scan.next() {
            Token::Word(word) => {
                if !std::mem::take(&mut skip_target) && words.len() < MAX_WORDS {
                    words.push(word);
                }
            }
            Token::Redirection { target_follows, of_errors } => {
                skip_target = target_follows;
                redirects |= !of_errors;
            }
            Token::Joint(joint) => {
                skip_target = false;
                if !words.is_empty() {
                    parts.push(Part {
                        words: std::mem::take(&mut words),
                        redirects: std::mem::take(&mut redirects),
                        joint,
                    });
                } else if joint == Joint::End
                    && let Some(last) = parts.last_mut()
                {
                    last.joint = joint;
                }
                if joint == Joint::End {
                    return parts;
                }
            }
        }
    }
}

/// Where the first program of a command line ends, if an operator ends it.
pub(super) fn first_end(text: &str) -> Option<usize> {
    let mut scan = Scan { text: head(text), at: 0 };
    loop {
        let before = scan.at;
        match scan.next() {
            Token::Joint(Joint::End) => return None,
            Token::Joint(_) => {
                return Some(scan.text[before..].find(['&', '|', ';', '\n']).map_or(before, |at| before + at));
            }
            _ => {}
        }
    }
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

enum Token<'a> {
    Word(Word<'a>),
    /// Whether the next word is the file, and whether it is only about what goes to standard error.
    Redirection {
        target_follows: bool,
        of_errors: bool,
    },
    Joint(Joint),
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn next(&mut self) -> Token<'a> {
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { return Token::Joint(Joint::End) };
            match c {
                '\n' | ';' => return self.joint(1, Joint::Sequence),
                '&' if rest.starts_with("&&") => return self.joint(2, Joint::And),
                '&' if !rest.starts_with("&>") => return self.joint(1, Joint::Sequence),
                '|' if rest.starts_with("||") => return self.joint(2, Joint::Or),
                '|' => return self.joint(if rest.starts_with("|&") { 2 } else { 1 }, Joint::Pipe),
                '(' | ')' | '{' | '}' if c.is_ascii_punctuation() && self.stands_alone(rest) => self.at += 1,
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => self.at = self.text.len(),
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                c if c.is_whitespace() => self.at += c.len_utf8(),
                _ => return self.word(),
            }
        }
    }

    fn joint(&mut self, length: usize, joint: Joint) -> Token<'a> {
        self.at += length;
        Token::Joint(joint)
    }

    /// A bracket that groups: always a round one, a brace only with blanks around.
    fn stands_alone(&self, rest: &str) -> bool {
        rest.starts_with(['(', ')']) || rest[1..].chars().next().is_none_or(|c| c.is_whitespace() || c == ';')
    }

    fn word(&mut self) -> Token<'a> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut owned: Option<String> = None;
        let mut from = start;
        let mut redirects = false;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\'' | b'"' => {
                    let end = self.quote_end(byte);
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[from..self.at]);
                    text.push_str(&self.text[self.at + 1..end]);
                    self.at = (end + 1).min(bytes.len());
                    from = self.at;
                }
                b'\\' => self.at = self.after_char(self.at + 1),
                b'>' | b'<' => {
                    redirects = true;
                    self.at += 1;
                    if bytes.get(self.at) == Some(&b'&') {
                        self.at += 1;
                    }
                }
                b'&' if bytes.get(self.at + 1) == Some(&b'>') => self.at += 1,
                b'&' | b'|' | b';' | b'(' | b')' => break,
                byte if byte.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
        }
        if self.at == start {
            self.at = self.after_char(start);
        }
        if redirects {
            let text = &self.text[start..self.at];
            return Token::Redirection { target_follows: text.ends_with(['>', '<']), of_errors: text.starts_with('2') };
        }
        let tail = &self.text[from..self.at];
        Token::Word(Word(match owned {
            None => Cow::Borrowed(tail),
            Some(mut text) => {
                text.push_str(tail);
                Cow::Owned(text)
            }
        }))
    }

    /// The place of the closing quote, or the end.
    fn quote_end(&self, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(&byte) = bytes.get(at) {
            if byte == quote {
                return at;
            }
            at += if byte == b'\\' && quote == b'"' { 2 } else { 1 };
        }
        bytes.len()
    }

    /// The place after the character at `at`, or the end.
    fn after_char(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        (at + rest.chars().next().map_or(1, char::len_utf8)).min(self.text.len())
    }
}
