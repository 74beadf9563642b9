//! A lenient, borrowing JSON reader that decodes only what is asked for.
//!
//! Most bytes of a transcript are never used (images, copies of results), and most of its defects are in them: lone
//! surrogates, invalid UTF-8, runs of NUL, unbounded nesting, duplicate keys. The reader therefore does not validate.
//! It finds the end of a value by its quotes and brackets alone, in one pass without recursion, and decodes only the
//! strings that are read, replacing what cannot be decoded by U+FFFD. Whatever a strict parser accepts means the same
//! here; of duplicate keys the last counts.

use std::ops::Deref;

use memchr::{memchr, memchr2};

mod index;
mod text;

pub use index::Index;
pub use text::{Size, Text};

use index::Note;

/// A value whose end is known. Containers are not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A string.
    Text(Text<'a>),
    /// An object, from its `{` to its `}`.
    Object(Raw<'a>),
    /// An array, from its `[` to its `]`.
    Array(Raw<'a>),
    /// A number, as written.
    Number(&'a [u8]),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

impl<'a> Value<'a> {
    /// Returns the string, if this is one.
    pub fn text(self) -> Option<Text<'a>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// True if this is `true`.
    pub fn is_true(self) -> bool {
        self == Self::Bool(true)
    }

    /// Returns the fields of an object; none for other values.
    pub fn fields(self) -> Fields<'a> {
        let raw = if let Self::Object(raw) = self { raw } else { Raw::from(b"{}") };
        Fields { scan: raw.inside(), first: true, end: None }
    }

    /// Returns the elements of an array; none for other values.
    pub fn elements(self) -> Elements<'a> {
        let raw = if let Self::Array(raw) = self { raw } else { Raw::from(b"[]") };
        Elements { scan: raw.inside(), first: true }
    }

    /// Returns the last value of a field. `name` is compared with the key as written, escapes included.
    pub fn get(self, name: &[u8]) -> Option<Value<'a>> {
        self.fields().filter_map(|(key, value)| (key.raw() == name).then_some(value)).last()
    }
}

/// The source of an object or an array, brackets included.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the indexed input.
    base: usize,
    /// Index entries of what is inside; empty if it was not indexed.
    notes: &'a [Note],
}

impl<'a> Raw<'a> {
    fn inside(self) -> Scan<'a> {
        Scan { bytes: self.bytes, at: 1, base: self.base, notes: self.notes }
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Raw<'a> {
    /// Takes the whole input, without an index.
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

/// The result of looking for an object.
#[derive(Debug)]
pub enum Found<'a> {
    /// An object may start here. [`Fields::end`] returns its end.
    Object(Fields<'a>),
    /// Only whitespace up to the end.
    Nothing,
    /// Something other than an object.
    Garbage,
}

/// Looks for an object at the start of `bytes`, after whitespace.
pub fn first_object(bytes: &[u8]) -> Found<'_> {
    let mut scan = Scan { bytes, at: 0, base: 0, notes: &[] };
    match scan.peek() {
        Some(b'{') => Found::Object(Fields { scan: Scan { at: scan.at + 1, ..scan }, first: true, end: None }),
        Some(_) => Found::Garbage,
        None => Found::Nothing,
    }
}

/// The fields of an object, in file order. Ends early if the object is truncated or malformed; then [`Fields::end`]
/// returns `None`.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    scan: Scan<'a>,
    first: bool,
    end: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Returns the end of the object, as an offset in the input. Known only after all fields were taken, and only if
    /// the object is complete.
    pub fn end(&self) -> Option<usize> {
        self.end
    }

    /// Returns the whole object. Known only after all fields were taken, and only if it is complete.
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
            // Malformed: yield nothing more.
            self.scan.at = self.scan.bytes.len();
        }
        field
    }
}

/// The elements of an array, in order. Ends early if the array is truncated or malformed.
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

/// A cursor over bytes.
#[derive(Clone, Debug)]
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the indexed input.
    base: usize,
    /// Index entries of what lies ahead.
    notes: &'a [Note],
}

impl<'a> Scan<'a> {
    /// Returns the next byte that is not whitespace. NUL counts as whitespace, because a power loss leaves runs of it.
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

    /// Reads a string. The cursor is behind its opening quote.
    fn text(&mut self) -> Option<Text<'a>> {
        let start = self.at;
        if let Some((_, end)) = self.noted(start - 1) {
            self.at = end;
            return Some(Text::new(&self.bytes[start..end - 1]));
        }
        self.pass_text()?;
        Some(Text::new(&self.bytes[start..self.at - 1]))
    }

    /// Skips a string. The cursor is behind its opening quote.
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

    /// Returns what the index holds for the string or container at `start`: the entries inside it, and its end.
    fn noted(&mut self, start: usize) -> Option<(&'a [Note], usize)> {
        let (note, rest) = self.notes.split_first()?;
        if note.start as usize != self.base + start {
            return None;
        }
        let (inside, behind) = rest.split_at_checked(note.inside as usize)?;
        self.notes = behind;
        Some((inside, note.end as usize - self.base))
    }

    /// Reads a value at the cursor.
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

    /// Skips an object or an array of any depth, without recursion.
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

/// Length of the prefix searched without `memchr`, in bytes: a call takes about as long as searching that far.
const NEAR_BYTES: usize = 32;

/// Returns the position of the first of some bytes. It is usually near, so the first bytes are searched eight at a
/// time, without a call.
fn find<const N: usize>(wanted: [u8; N], bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while at < NEAR_BYTES
        && let Some(word) = bytes[at..].first_chunk::<8>()
    {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each matching byte, and possibly of some after the first match. The lowest one is exact.
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
