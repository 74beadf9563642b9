//! A forgiving view of JSON: bytes in, borrowed fields out, nothing built that nobody asked for.
//!
//! Transcripts are almost all bytes that nobody wants (images, copies of results), and what is wrong in
//! them is mostly wrong there: lone surrogates, invalid UTF-8, NUL runs, nesting without end, keys written
//! twice. So this does not validate. It finds where a value ends, by its quotes and brackets alone, in one
//! pass without recursion, and decodes only the texts that are read, replacing what cannot be decoded by
//! U+FFFD. Whatever a strict parser accepts means the same here; a key written twice means its last value.

use std::ops::Deref;

use memchr::{memchr, memchr2};

mod index;
mod text;

pub use index::Index;
pub use text::{Size, Text};

use index::Note;

/// A value whose end is known; containers are still text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A string.
    Text(Text<'a>),
    /// An object, from its `{` to its `}`.
    Object(Raw<'a>),
    /// An array, from its `[` to its `]`.
    Array(Raw<'a>),
    /// A number as it was written.
    Number(&'a [u8]),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

impl<'a> Value<'a> {
    /// The string, if it is one.
    pub fn text(self) -> Option<Text<'a>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Whether it is `true`.
    pub fn is_true(self) -> bool {
        self == Self::Bool(true)
    }

    /// The fields of an object; none for anything else.
    pub fn fields(self) -> Fields<'a> {
        let raw = if let Self::Object(raw) = self { raw } else { Raw::from(b"{}") };
        Fields { scan: raw.inside(), first: true, end: None }
    }

    /// The elements of an array; none for anything else.
    pub fn elements(self) -> Elements<'a> {
        let raw = if let Self::Array(raw) = self { raw } else { Raw::from(b"[]") };
        Elements { scan: raw.inside(), first: true }
    }

    /// The last value of a field.
    pub fn get(self, name: &[u8]) -> Option<Value<'a>> {
        self.fields().filter_map(|(key, value)| (key.raw() == name).then_some(value)).last()
    }
}

/// An object or an array as it is written, from bracket to bracket.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    bytes: &'a [u8],
    /// Where it begins in what was indexed.
    base: usize,
    /// Where things end in it; none if it was not indexed.
    notes: &'a [Note],
}

impl<'a> Raw<'a> {
    fn inside(self) -> Scan<'a> {
        Scan { bytes: self.bytes, at: 1, base: self.base, notes: self.notes }
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Raw<'a> {
    /// What is written so, whole; it is not indexed.
    fn from(bytes: &'a T) -> Self {
        Self { bytes: bytes.as_ref(), base: 0, notes: &[] }
    }
}

impl Deref for Raw<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

/// What one look at a line found.
#[derive(Debug)]
pub enum Found<'a> {
    /// An object may begin here; its end is where [`Fields::end`] says.
    Object(Fields<'a>),
    /// Nothing but blanks to the end.
    Nothing,
    /// Something that is no object.
    Garbage,
}

/// Looks for an object at the beginning of `bytes`, after blanks.
pub fn first_object(bytes: &[u8]) -> Found<'_> {
    let mut scan = Scan { bytes, at: 0, base: 0, notes: &[] };
    match scan.peek() {
        Some(b'{') => Found::Object(Fields { scan: Scan { at: scan.at + 1, ..scan }, first: true, end: None }),
        Some(_) => Found::Garbage,
        None => Found::Nothing,
    }
}

/// The fields of an object, in file order. Ends early, with [`Fields::end`] empty, where the object is torn.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    scan: Scan<'a>,
    first: bool,
    end: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Where the object ends in the bytes it was found in: known once all fields were taken, and only if it is whole.
    pub fn end(&self) -> Option<usize> {
        self.end
    }

    /// The whole object, once all fields were taken and only if it is whole.
    pub fn object(&self) -> Option<Value<'a>> {
        let mut start = Scan { bytes: self.scan.bytes, at: 0, base: 0, notes: &[] };
        start.peek()?;
        Some(Value::Object(Raw::from(&self.scan.bytes[start.at..self.end?])))
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
pub struct Elements<'a> {
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
    /// Where `bytes` begin in what was indexed.
    base: usize,
    /// What the index says of what lies ahead.
    notes: &'a [Note],
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
        if let Some((_, end)) = self.noted(start - 1) {
            self.at = end;
            return Some(Text::of(&self.bytes[start..end - 1]));
        }
        self.pass_text()?;
        Some(Text::of(&self.bytes[start..self.at - 1]))
    }

    /// Passes a string whose opening quote is behind.
    fn pass_text(&mut self) -> Option<()> {
        let start = self.at;
        loop {
            let quote = self.at + find([b'"'], &self.bytes[self.at..])?;
            self.at = quote + 1;
            let before = &self.bytes[start..quote];
            let escaped =
                before.ends_with(b"\\") && before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
            if !escaped {
                return Some(());
            }
        }
    }

    /// What the index knows of the thing that begins at `start`: what lies in it, and where it ends.
    fn noted(&mut self, start: usize) -> Option<(&'a [Note], usize)> {
        let (note, rest) = self.notes.split_first()?;
        if note.start as usize != self.base + start {
            return None;
        }
        let (inside, behind) = rest.split_at_checked(note.inside as usize)?;
        self.notes = behind;
        Some((inside, note.end as usize - self.base))
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
    fn container(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        if let Some((inside, end)) = self.noted(start) {
            self.at = end;
            return Some(Raw { bytes: &self.bytes[start..end], base: self.base + start, notes: inside });
        }
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
                        return Some(Raw::from(&self.bytes[start..self.at]));
                    }
                }
                _ => {}
            }
        }
    }
}

/// How far is near, in bytes: a call of `memchr` takes about as long as looking so far.
const NEAR_BYTES: usize = 32;

/// Where the first of some bytes is. Mostly it is near, so the beginning is looked at eight by eight, without a call.
fn find<const N: usize>(wanted: [u8; N], bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while at < NEAR_BYTES
        && let Some(word) = bytes[at..].first_chunk::<8>()
    {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each byte that is wanted, and perhaps of some after the first such: the lowest is right.
        let found = wanted.iter().fold(0, |found, byte| {
            let other = word ^ (ONES * u64::from(*byte));
            found | (other.wrapping_sub(ONES) & !other & (ONES << 7))
        });
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let far = match wanted.as_slice() {
        [one] => memchr(*one, &bytes[at..]),
        [one, other] => memchr2(*one, *other, &bytes[at..]),
        _ => bytes[at..].iter().position(|byte| wanted.contains(byte)),
    };
    far.map(|far| at + far)
}

#[cfg(test)]
mod tests;
