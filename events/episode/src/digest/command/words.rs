//! Splits a shell line into words: quotes, operators, redirections, comments and here-documents, without expansion.

use std::borrow::Cow;

/// Maximum number of bytes of a command that are parsed; the relevant part is at its beginning.
const MAX_BYTES: usize = 4_000;
/// Maximum number of words of one part.
const MAX_WORDS: usize = 64;

/// Operator between two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, `&`, a line end.
    Sequence,
    /// The end of the line.
    End,
}

/// One program with its words.
pub(crate) struct Part<'a> {
    pub(super) words: Vec<Word<'a>>,
    /// Files that its output is redirected to.
    pub(super) writes: Vec<Word<'a>>,
    pub(super) joint: Joint,
}

/// One word; borrowed unless it contained quotes.
pub(super) struct Word<'a>(Cow<'a, str>);

impl<'a> Word<'a> {
    /// Returns true if the filter cut the line after this unquoted word.
    pub(super) fn is_cut(&self) -> bool {
        matches!(&self.0, Cow::Borrowed(word) if word.contains("…[+"))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn text(self) -> Cow<'a, str> {
        self.0
    }
}

/// Returns the programs of a command line in order; parts without words are dropped.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut scan = Scan { text: head(text), at: 0, document: None };
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut words, mut writes) = (Vec::new(), Vec::new());
    let mut target = None;
    loop {
        match scan.next() {
            Token::Word(word) => match target.take() {
                Some(written) => writes.extend(Some(word).filter(|_| written && writes.len() < MAX_WORDS)),
                None if words.len() < MAX_WORDS => words.push(word),
                None => {}
            },
            Token::Redirection { written, file: Some(file) } => {
                writes.extend(Some(Word(file.into())).filter(|_| written && writes.len() < MAX_WORDS));
            }
            Token::Redirection { written, file: None } => target = Some(written),
            Token::Duplication => {}
            Token::Joint(joint) => {
                target = None;
                if !words.is_empty() {
                    parts.push(Part { words: std::mem::take(&mut words), writes: std::mem::take(&mut writes), joint });
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

/// Returns the end of the first program of a command line, if an operator ends it.
pub(super) fn first_end(text: &str) -> Option<usize> {
    let mut scan = Scan { text: head(text), at: 0, document: None };
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

/// Parses `> a`, `2>>a`, `<a`, `2>&1`, `&>`.
fn redirection(text: &str) -> Token<'_> {
    let Some(at) = text.find(['>', '<']) else { return Token::Duplication };
    let file = text[at..].trim_start_matches(['>', '<', '|']);
    if file.starts_with('&') {
        return Token::Duplication;
    }
    let file = Some(file.trim_matches(['"', '\''])).filter(|file| !file.is_empty());
    Token::Redirection { written: text[at..].starts_with('>'), file }
}

enum Token<'a> {
    Word(Word<'a>),
    /// To a file if `written`, otherwise from one; without `file`, the next word names it.
    Redirection {
        written: bool,
        file: Option<&'a str>,
    },
    /// `2>&1`
    Duplication,
    Joint(Joint),
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Delimiter of the here-document that begins on the next line.
    document: Option<&'a str>,
}

/// Begins a here-document inside double quotes.
const QUOTED_DOCUMENT: &str = "$(cat <<";

impl<'a> Scan<'a> {
    fn next(&mut self) -> Token<'a> {
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { return Token::Joint(Joint::End) };
            match c {
                '\n' => {
                    self.skip_document();
                    return self.joint(1, Joint::Sequence);
                }
                ';' => return self.joint(1, Joint::Sequence),
                '&' if rest.starts_with("&&") => return self.joint(2, Joint::And),
                '&' if !rest.starts_with("&>") => return self.joint(1, Joint::Sequence),
                '|' if rest.starts_with("||") => return self.joint(2, Joint::Or),
                '|' => return self.joint(if rest.starts_with("|&") { 2 } else { 1 }, Joint::Pipe),
                '(' | ')' | '{' | '}' if c.is_ascii_punctuation() && self.stands_alone(rest) => self.at += 1,
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => self.begin_document(),
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                c if c.is_whitespace() => self.at += c.len_utf8(),
                _ => return self.word(),
            }
        }
    }

    /// Parses `<<'EOF'`.
    fn begin_document(&mut self) {
        let rest = self.text[self.at..].trim_start_matches(['<', '-', ' ']);
        let start = self.text.len() - rest.len();
        let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '>' | '<' | '(' | ')');
        let end = rest.find(ends).unwrap_or(rest.len());
        let mark = rest[..end].trim_matches(['\'', '"', '\\']);
        self.document = Some(mark).filter(|mark| !mark.is_empty());
        self.at = start + end;
    }

    /// Skips the here-document that begins on the next line, if any, up to its delimiter, or to the end without one.
    fn skip_document(&mut self) {
        let Some(mark) = self.document.take() else { return };
        let body = self.at + 1;
        let mut at = body;
        for line in self.text.get(body..).unwrap_or_default().split_inclusive('\n') {
            at += line.len();
            if line.trim() == mark {
                // The line end is kept, as it ends the command that began the document.
                self.at = if line.ends_with('\n') { at - 1 } else { at.min(self.text.len()) - 1 };
                return;
            }
        }
        self.at = self.text.len().saturating_sub(1).max(self.at);
    }

    fn joint(&mut self, length: usize, joint: Joint) -> Token<'a> {
        self.at += length;
        Token::Joint(joint)
    }

    /// Returns true for a grouping bracket: a parenthesis, or a brace surrounded by blanks.
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
            return redirection(&self.text[start..self.at]);
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

    /// Returns the position of the closing quote, or the end. A here-document in a substitution may hold quotes.
    fn quote_end(&self, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(&byte) = bytes.get(at) {
            if byte == quote {
                return at;
            }
            if quote == b'"' && byte == b'$' && self.text[at..].starts_with(QUOTED_DOCUMENT) {
                let mut inner = Scan { text: self.text, at: at + QUOTED_DOCUMENT.len() - 2, document: None };
                inner.begin_document();
                inner.at += self.text[inner.at..].find('\n').unwrap_or(self.text.len() - inner.at);
                inner.skip_document();
                at = inner.at.max(at + 1);
                continue;
            }
            at += if byte == b'\\' && quote == b'"' { 2 } else { 1 };
        }
        bytes.len()
    }

    /// Returns the position after the character at `at`, or the end.
    fn after_char(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        (at + rest.chars().next().map_or(1, char::len_utf8)).min(self.text.len())
    }
}
