//! A JSON string, kept as written until its text is needed.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2, memmem};

use super::find;

/// The size of a decoded text.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of lines.
    pub lines: usize,
    /// Number of UTF-8 bytes.
    pub bytes: usize,
}

/// A JSON string, as written between its quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// Wraps the bytes between two quotes.
    pub fn new(raw: &'a [u8]) -> Self {
        Self(raw)
    }

    /// Returns the text after the first occurrence of `mark`, if there is one. `mark` is compared as written, and must
    /// not end inside an escape.
    pub fn after(self, mark: &[u8]) -> Option<Self> {
        memmem::find(self.0, mark).map(|at| Self(&self.0[at + mark.len()..]))
    }

    /// Returns the bytes between the quotes, escapes included.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// True if the text is empty or whitespace.
    pub fn is_blank(self) -> bool {
        let mut rest = self.0.iter();
        while let Some(byte) = rest.next() {
            let blank = match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0 => true,
                b'\\' => matches!(rest.next(), Some(b'n' | b't' | b'r' | b'f' | b'b')),
                _ => false,
            };
            if !blank {
                return false;
            }
        }
        true
    }

    /// Decodes the text. Borrowed if nothing is escaped or invalid. NUL is dropped; a lone surrogate or an invalid byte
    /// becomes U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        let Some(mut at) = memchr2(b'\\', 0, self.0) else {
            return match str::from_utf8(self.0) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(self.0),
            };
        };
        // Every escape decodes to whole characters, so invalid bytes can be replaced at the end for the whole text.
        let mut out = Vec::with_capacity(self.0.len());
        let mut rest = self.0;
        loop {
            out.extend_from_slice(&rest[..at]);
            rest = if rest[at] == 0 { &rest[at + 1..] } else { unescape(&rest[at + 1..], &mut out) };
            match find([b'\\', 0], rest) {
                Some(next) => at = next,
                None => break,
            }
        }
        out.extend_from_slice(rest);
        Cow::Owned(match String::from_utf8(out) {
            Ok(text) => text,
            Err(wrong) => String::from_utf8_lossy(wrong.as_bytes()).into_owned(),
        })
    }

    /// Returns the text before the first occurrence of `mark`, or all of it. `mark` must need no escaping.
    pub fn before(self, mark: &[u8]) -> Self {
        memmem::find(self.0, mark).map_or(self, |at| Self(&self.0[..at]))
    }

    /// Returns the text without trailing whitespace.
    pub fn trim_end(self) -> Self {
        let mut raw = self.0;
        loop {
            raw = raw.trim_ascii_end();
            let Some(before) = [b"\\n", b"\\r", b"\\t"].into_iter().find_map(|escape| raw.strip_suffix(escape)) else {
                return Self(raw);
            };
            if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1 {
                return Self(raw);
            }
            raw = before;
        }
    }

    /// Returns the size of the decoded text without decoding it. Trailing whitespace does not count.
    pub fn size(self) -> Size {
        let raw = self.trim_end().0;
        let mut bytes = raw.len();
        let mut newlines = memchr_iter(b'\n', raw).count();
        let mut at = 0;
        while let Some(next) = find([b'\\'], &raw[at..]) {
            let escape = at + next;
            let (decoded, rest) = match raw.get(escape + 1) {
                Some(b'u') => unicode(&raw[escape + 2..]),
                Some(b'n') => (Some('\n'), &raw[escape + 2..]),
                Some(_) => (Some(' '), &raw[escape + 2..]),
                None => break,
            };
            at = raw.len() - rest.len();
            bytes = bytes + decoded.map_or(0, char::len_utf8) - (at - escape);
            newlines += usize::from(decoded == Some('\n'));
        }
        Size { lines: newlines + usize::from(bytes > 0), bytes }
    }

    /// Returns the last lines, at most `bytes` bytes as written. Starts after a line end, so no escape or character is
    /// split. Returns everything if it is no longer than that, nothing if there is no line end in that many bytes.
    pub fn tail(self, bytes: usize) -> Self {
        let Some(start) = self.0.len().checked_sub(bytes).filter(|start| *start > 0) else { return self };
        let rest = &self.0[start..];
        let ends = |at: &usize| rest[..*at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0;
        // If the limit falls among backslashes, it is unknown which of them are escaped.
        let from = rest.iter().position(|byte| *byte != b'\\').unwrap_or(rest.len());
        let end = memmem::find_iter(rest, b"\\n").filter(|at| *at >= from).find(ends);
        Self(end.map_or(&[], |at| &rest[at + 2..]))
    }

    /// Returns a prefix of about `bytes` bytes as written, extended so that no escape or character is split.
    pub fn head(self, bytes: usize) -> Self {
        if self.0.len() <= bytes {
            return self;
        }
        let mut end = 0;
        while end < bytes {
            end += match memchr(b'\\', &self.0[end..bytes]) {
                Some(0) if self.0.get(end + 1) == Some(&b'u') => 6,
                Some(0) => 2,
                Some(escape) => escape,
                None => bytes - end,
            };
        }
        // Do not split a character either.
        end += self.0.get(end..).map_or(0, |rest| rest.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count());
        Self(&self.0[..end.min(self.0.len())])
    }
}

/// Decodes one escape after its backslash, and returns the rest.
fn unescape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((kind, after)) = rest.split_first() else {
        return rest;
    };
    let plain = match kind {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 0xc,
        b'"' | b'\\' | b'/' => *kind,
        b'u' => {
            let (decoded, after) = unicode(after);
            let mut buffer = [0; 4];
            out.extend_from_slice(decoded.map_or("", |c| c.encode_utf8(&mut buffer)).as_bytes());
            return after;
        }
        // Not an escape: keep it as it is.
        _ => {
            out.push(b'\\');
            return rest;
        }
    };
    out.push(plain);
    after
}

/// Returns the character of a `\u` escape whose digits start at `rest`, and what remains. NUL yields none.
fn unicode(rest: &[u8]) -> (Option<char>, &[u8]) {
    let Some(high) = hex4(rest) else {
        return (Some(char::REPLACEMENT_CHARACTER), rest);
    };
    let after = &rest[4..];
    if let Some(c) = char::from_u32(high) {
        return ((c != '\0').then_some(c), after);
    }
    let low = after.strip_prefix(b"\\u").and_then(hex4).filter(|low| (0xDC00..0xE000).contains(low));
    if let (0xD800..0xDC00, Some(low)) = (high, low) {
        let joined = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return (char::from_u32(joined), &after[6..]);
    }
    (Some(char::REPLACEMENT_CHARACTER), after)
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}
