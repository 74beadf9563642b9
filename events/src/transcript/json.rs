//! A forgiving view of JSON: bytes in, borrowed fields out, nothing built that nobody asked for.
//!
//! Transcripts are almost all bytes that nobody wants (images, copies of results), and what is wrong in
//! them is mostly wrong there: lone surrogates, invalid UTF-8, NUL runs, nesting without end, keys written
//! twice. So this does not validate. It finds where a value ends, by its quotes and brackets alone, in one
//! pass without recursion, and decodes only the texts that are read, replacing what cannot be decoded by
//! U+FFFD. Whatever a strict parser accepts means the same here; a key written twice means its last value.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2, memmem};

use crate::filter::result::Size;

/// A value whose end is known; containers are still text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A string.
    Text(Text<'a>),
    /// An object, from its `{` to its `}`.
    Object(&'a [u8]),
    /// An array, from its `[` to its `]`.
    Array(&'a [u8]),
    /// A number as it was written.
    Number(&'a [u8]),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

impl<'a> Value<'a> {
    /// The string, if it is one.
    pub(crate) fn text(self) -> Option<Text<'a>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Whether it is `true`.
    pub(crate) fn is_true(self) -> bool {
        self == Self::Bool(true)
    }

    /// The fields of an object; none for anything else.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields::of(if let Self::Object(raw) = self { raw } else { b"{}" })
    }

    /// The elements of an array; none for anything else.
    pub(crate) fn elements(self) -> Elements<'a> {
        Elements { scan: Scan { bytes: if let Self::Array(raw) = self { raw } else { b"[]" }, at: 1 }, first: true }
    }

    /// The last value of a field.
    pub(crate) fn get(self, name: &[u8]) -> Option<Value<'a>> {
        self.fields().filter_map(|(key, value)| (key.raw() == name).then_some(value)).last()
    }
}

/// A string as it is written between its quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// The bytes between the quotes, escapes and all.
    pub(crate) fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Whether there is nothing but blanks in it.
    pub(crate) fn is_blank(self) -> bool {
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

    /// The text itself. Borrowed when nothing is escaped or wrong; NUL is dropped, and what is no text
    /// (a lone surrogate, an invalid byte) becomes U+FFFD.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if memchr2(b'\\', 0, self.0).is_none() {
            return String::from_utf8_lossy(self.0);
        }
        let mut out = String::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some(at) = memchr2(b'\\', 0, rest) {
            out.push_str(&String::from_utf8_lossy(&rest[..at]));
            rest = if rest[at] == 0 { &rest[at + 1..] } else { unescape(&rest[at + 1..], &mut out) };
        }
        out.push_str(&String::from_utf8_lossy(rest));
        Cow::Owned(out)
    }

    /// The text up to the first place where these bytes stand, if they do. The bytes must need no escaping.
    pub(crate) fn before(self, mark: &[u8]) -> Self {
        memmem::find(self.0, mark).map_or(self, |at| Self(&self.0[..at]))
    }

    /// The text without blanks and line ends at its end.
    pub(crate) fn trim_end(self) -> Self {
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

    /// How much text this is once decoded, found without decoding it. Blanks at its end do not count.
    pub(crate) fn size(self) -> Size {
        let raw = self.trim_end().0;
        let mut bytes = raw.len();
        let mut newlines = memchr_iter(b'\n', raw).count();
        let mut at = 0;
        while let Some(next) = memchr(b'\\', &raw[at..]) {
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

    /// The text of a prefix of at most `bytes` written bytes, cut where no escape and no character is torn.
    pub(crate) fn head(self, bytes: usize) -> Self {
        if self.0.len() <= bytes {
            return self;
        }
        let mut end = 0;
        while end < bytes {
            end += match self.0[end] {
                b'\\' if self.0.get(end + 1) == Some(&b'u') => 6,
                b'\\' => 2,
                byte => utf8_len(byte),
            };
        }
        Self(&self.0[..end.min(self.0.len())])
    }
}

fn utf8_len(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

/// Decodes one escape whose backslash is gone; what remains after it.
fn unescape<'a>(rest: &'a [u8], out: &mut String) -> &'a [u8] {
    let Some((kind, after)) = rest.split_first() else {
        return rest;
    };
    let plain = match kind {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'u' => {
            let (decoded, after) = unicode(after);
            out.extend(decoded);
            return after;
        }
        // Not an escape: keep what is there.
        _ => {
            out.push('\\');
            return rest;
        }
    };
    out.push(plain);
    after
}

/// The character of a `\u` escape, whose four digits come next, and what remains. NUL is none.
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

/// What one look at a line found.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// An object may begin here; its end is where [`Fields::end`] says.
    Object(Fields<'a>),
    /// Nothing but blanks to the end.
    Nothing,
    /// Something that is no object.
    Garbage,
}

/// Looks for an object at the beginning of `bytes`, after blanks.
pub(crate) fn first_object(bytes: &[u8]) -> Found<'_> {
    let mut scan = Scan { bytes, at: 0 };
    match scan.peek() {
        Some(b'{') => Found::Object(Fields { scan: Scan { bytes, at: scan.at + 1 }, first: true, end: None }),
        Some(_) => Found::Garbage,
        None => Found::Nothing,
    }
}

/// The fields of an object, in file order. Ends early, with [`Fields::end`] empty, where the object is torn.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    scan: Scan<'a>,
    first: bool,
    end: Option<usize>,
}

impl<'a> Fields<'a> {
    fn of(raw: &'a [u8]) -> Self {
        Self { scan: Scan { bytes: raw, at: 1 }, first: true, end: None }
    }

    /// Where the object ends in the bytes it was found in: known once all fields were taken, and only if it is whole.
    pub(crate) fn end(&self) -> Option<usize> {
        self.end
    }

    fn field(&mut self) -> Option<(Text<'a>, Value<'a>)> {
        if self.scan.peek()? == b'}' {
            self.end = Some(self.scan.at + 1);
            return None;
        }
        if !self.first {
            self.scan.expect(b',')?;
        }
        self.first = false;
        self.scan.expect(b'"')?;
        let key = self.scan.text()?;
        self.scan.expect(b':')?;
        Some((key, self.scan.value()?))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.end.is_some() {
            return None;
        }
        let field = self.field();
        if field.is_none() && self.end.is_none() {
            // Torn: nothing more comes.
            self.scan.at = self.scan.bytes.len();
        }
        field
    }
}

/// The elements of an array, in order; ends early where it is torn.
pub(crate) struct Elements<'a> {
    scan: Scan<'a>,
    first: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if self.scan.peek()? == b']' {
            return None;
        }
        if !self.first {
            self.scan.expect(b',')?;
        }
        self.first = false;
        self.scan.peek()?;
        self.scan.value()
    }
}

/// A place in bytes.
#[derive(Clone, Debug)]
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// The next byte that is no blank. NUL counts as one: a power loss leaves runs of it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0) {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A string whose opening quote is behind.
    fn text(&mut self) -> Option<Text<'a>> {
        let start = self.at;
        let mut from = start;
        loop {
            let quote = from + memchr(b'"', &self.bytes[from..])?;
            let backslashes = self.bytes[from..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
            from = quote + 1;
            if backslashes % 2 == 0 {
                self.at = from;
                return Some(Text(&self.bytes[start..quote]));
            }
        }
    }

    /// A value at the current place.
    fn value(&mut self) -> Option<Value<'a>> {
        let start = self.at_value()?;
        match self.bytes[start] {
            b'"' => {
                self.at = start + 1;
                self.text().map(Value::Text)
            }
            b'{' => self.container().map(Value::Object),
            b'[' => self.container().map(Value::Array),
            b't' => self.literal(b"true", Value::Bool(true)),
            b'f' => self.literal(b"false", Value::Bool(false)),
            b'n' => self.literal(b"null", Value::Null),
            b'-' | b'0'..=b'9' => {
                let digits = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let end = start + self.bytes[start..].iter().take_while(|byte| digits(byte)).count();
                self.at = end;
                Some(Value::Number(&self.bytes[start..end]))
            }
            _ => None,
        }
    }

    fn at_value(&mut self) -> Option<usize> {
        self.peek().map(|_| self.at)
    }

    fn literal(&mut self, word: &[u8], value: Value<'a>) -> Option<Value<'a>> {
        self.bytes[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    /// An object or an array, however deep.
    fn container(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => {
                    self.text()?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(&self.bytes[start..self.at]);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
