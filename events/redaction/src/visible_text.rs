//! A view of a text as a reader sees it: colours and zero-width characters left out, lines joined that a backslash
//! continues, escapes and full-width forms decoded. Secrets found in the view are cut from the text.

use super::alphabet::{HEX, is};
use super::{Cut, MARK};

/// Longest terminal sequence that is left out, in bytes. The address of a link is part of one.
const MAX_SEQUENCE_BYTES: usize = 2_048;
/// Most times that one character is escaped repeatedly: `%252525`.
const MAX_ESCAPES: usize = 4;

/// Colour sequences written with an escaped escape character.
const COLOURS: &[&str] = &["\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[", "\\e["];
/// HTML entities.
const ENTITIES: &[(&str, char)] =
    &[("&quot;", '"'), ("&#34;", '"'), ("&#x22;", '"'), ("&apos;", '\''), ("&#39;", '\''), ("&#x27;", '\'')];

/// What one or more characters of the text become in the view.
struct Read {
    /// How many bytes of the text they take.
    length: usize,
    /// The character shown; `None` if they are invisible.
    shown: Option<char>,
}

/// A part of the view, and the part of the text it was read from. It extends to the next part.
struct Part {
    view: usize,
    text: usize,
    /// True if its bytes are those of the text. Else it is one character, read from `length` bytes.
    copied: bool,
    length: usize,
}

/// A view of a text.
pub(super) struct View {
    pub(super) text: String,
    parts: Vec<Part>,
}

impl View {
    /// Returns the view of a text. `None` if it would equal the text, as is usual.
    pub(super) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut signs = Signs::new(text);
        let (mut at, first) = signs.next(bytes, 0)?;
        let mut view = Self { text: String::with_capacity(text.len()), parts: Vec::new() };
        view.copy(text, 0, at);
        let mut read = first;
        loop {
            if let Some(shown) = read.shown {
                view.parts.push(Part { view: view.text.len(), text: at, copied: false, length: read.length });
                view.text.push(shown);
            }
            let from = at + read.length;
            match signs.next(bytes, from) {
                Some((place, another)) => {
                    view.copy(text, from, place);
                    (at, read) = (place, another);
                }
                None => {
                    view.copy(text, from, text.len());
                    return Some(view);
                }
            }
        }
    }

    fn copy(&mut self, text: &str, from: usize, to: usize) {
        if to > from {
            self.parts.push(Part { view: self.text.len(), text: from, copied: true, length: to - from });
            self.text.push_str(&text[from..to]);
        }
    }

    /// Returns the position in the text of a cut in the view.
    pub(super) fn in_text(&self, cut: Cut) -> Cut {
        let part = |at: usize| &self.parts[self.parts.partition_point(|part| part.view <= at).saturating_sub(1)];
        let first = part(cut.start);
        let start = if first.copied { first.text + (cut.start - first.view) } else { first.text };
        let last = part(cut.end.saturating_sub(1));
        let end = if last.copied { last.text + (cut.end - last.view) } else { last.text + last.length };
        Cut { start, end: end.max(start), kind: cut.kind }
    }
}

/// The next positions at which something may be decoded. Each kind is searched for once.
struct Signs {
    /// An escape character.
    escape: usize,
    /// `%`, `\`, `&`.
    sign: usize,
    /// The first byte of a multi-byte character that may be decoded.
    wide: usize,
}

impl Signs {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let wide = if text.is_ascii() { None } else { next_wide(bytes) };
        let found = |place: Option<usize>| place.unwrap_or(usize::MAX);
        Self { escape: found(next_escape(bytes)), sign: found(next_sign(bytes)), wide: found(wide) }
    }

    /// Returns the first position at or after `from` that is decoded. Positions only grow.
    fn next(&mut self, bytes: &[u8], from: usize) -> Option<(usize, Read)> {
        let mut at = from;
        loop {
            let rest = bytes.get(at..)?;
            let found = |place: Option<usize>| place.map_or(usize::MAX, |place| at + place);
            if self.escape < at {
                self.escape = found(next_escape(rest));
            }
            if self.sign < at {
                self.sign = found(next_sign(rest));
            }
            if self.wide < at {
                self.wide = found(next_wide(rest));
            }
            at = self.escape.min(self.sign).min(self.wide);
            let read = match bytes.get(at)? {
                0x1b => Some(sequence(bytes, at)),
                b'%' => percent(bytes, at),
                b'\\' => backslash(bytes, at),
                b'&' => entity(bytes, at),
                _ => wide(bytes, at),
            };
            if let Some(read) = read {
                return Some((at, read));
            }
            at += 1;
        }
    }
}

fn next_escape(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(0x1b, bytes)
}

fn next_sign(bytes: &[u8]) -> Option<usize> {
    memchr::memchr3(b'%', b'\\', b'&', bytes)
}

fn next_wide(bytes: &[u8]) -> Option<usize> {
    memchr::memchr3(0xC2, 0xE2, 0xEF, bytes)
}

/// A terminal sequence: a colour, or the start or end of a link, including its address.
fn sequence(bytes: &[u8], at: usize) -> Read {
    let rest = &bytes[at + 1..bytes.len().min(at + MAX_SEQUENCE_BYTES)];
    let body = match rest.first() {
        // A redaction mark may follow an escape character.
        Some(b'[') if !rest.starts_with(MARK.as_bytes()) => {
            1 + rest[1..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count()
        }
        Some(b']') => {
            // It ends with BEL, or with an escape character and a backslash.
            let length = match rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b | b'\n')) {
                Some(end) if rest[end] == 0x07 => end + 2,
                Some(end) if rest[end] == 0x1b && rest.get(end + 1) == Some(&b'\\') => end + 3,
                _ => 2,
            };
            return Read { length, shown: None };
        }
        _ => return Read { length: 1, shown: None },
    };
    let last = rest.get(body).is_some_and(|byte| matches!(byte, 0x40..=0x7e));
    Read { length: 1 + body + usize::from(last), shown: None }
}

/// `%70`, also if the percent sign itself is escaped: `%2570`.
fn percent(bytes: &[u8], at: usize) -> Option<Read> {
    let mut digits = at + 1;
    for _ in 0..MAX_ESCAPES {
        let two = bytes.get(digits..digits + 2)?;
        if two == b"25" && bytes.get(digits + 2..digits + 4).is_some_and(|next| next.iter().all(|byte| is(*byte, HEX)))
        {
            digits += 2;
        }
    }
    let shown = hex(bytes.get(digits..digits + 2)?)?;
    shown.map(|shown| Read { length: digits + 2 - at, shown: Some(shown) })
}

/// Returns the ASCII character that two hexadecimal digits denote. `Some(None)` if it is not printable.
fn hex(digits: &[u8]) -> Option<Option<char>> {
    let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(|byte| is(*byte, HEX)))?;
    let byte = u8::from_str_radix(text, 16).ok()?;
    Some((matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')).then_some(char::from(byte)))
}

/// A JSON escape, a colour, or the end of a continued line.
fn backslash(bytes: &[u8], at: usize) -> Option<Read> {
    let rest = &bytes[at..];
    match rest.get(1)? {
        b'\n' | b'\r' => {
            let end = rest[1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count() + 1;
            // A continuation without an indent continues the word.
            let apart = at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_whitespace())
                || rest.get(end - 1).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
            Some(Read { length: end, shown: apart.then_some(' ') })
        }
        b'u' | b'x' | b'0' | b'e' => {
            if let Some(colour) = COLOURS.iter().find(|colour| rest.starts_with(colour.as_bytes())) {
                let body = rest[colour.len()..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
                let end = colour.len() + body;
                return (rest.get(end) == Some(&b'm')).then_some(Read { length: end + 1, shown: None });
            }
            let shown = rest.starts_with(b"\\u00").then(|| hex(rest.get(4..6)?)).flatten()??;
            Some(Read { length: 6, shown: Some(shown) })
        }
        _ => None,
    }
}

fn entity(bytes: &[u8], at: usize) -> Option<Read> {
    let (name, shown) = ENTITIES.iter().find(|(name, _)| bytes[at..].starts_with(name.as_bytes()))?;
    Some(Read { length: name.len(), shown: Some(*shown) })
}

/// A zero-width character, a non-breaking space, or the full-width form of an ASCII character.
fn wide(bytes: &[u8], at: usize) -> Option<Read> {
    let rest = &bytes[at..];
    let read = |length, shown| Some(Read { length, shown });
    match *rest.get(..3).unwrap_or(rest) {
        [0xC2, 0xAD, ..] => read(2, None),
        [0xC2, 0xA0, ..] => read(2, Some(' ')),
        [0xE2, 0x80, 0x8B..=0x8F] | [0xE2, 0x81, 0xA0] | [0xEF, 0xBB, 0xBF] => read(3, None),
        [0xEF, 0xBC, low] if matches!(low, 0x90..=0x9A | 0x9D | 0xA1..=0xBA | 0xBF) => {
            read(3, Some(char::from(low - 0x60)))
        }
        [0xEF, 0xBD, low @ 0x81..=0x9A] => read(3, Some(char::from(low - 0x20))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        View::new(text).map(|view| view.text)
    }

    #[test]
    fn what_is_written_as_it_is_read_has_no_view() {
        for plain in ["", "a b", "100 % of it", "a\\b \\n \\d", "ünïcode — “quoted”", "a && b", "%zz %", "\\u12"]
        {
            assert_eq!(shown(plain), None, "{plain}");
        }
    }

    #[test]
    fn views_are_as_a_reader_sees_them() {
        for (text, expected) in [
            ("\u{1b}[1;31ma\u{1b}[0mb", "ab"),
            ("a\u{1b}]8;;https://x.example\u{7}b\u{1b}]8;;\u{7}c", "abc"),
            ("a\u{1b}]8;;https://x.example\u{1b}\\b\u{1b}]8;;\u{1b}\\c", "abc"),
            ("\u{1b}[31ma\u{1b}[redacted:secret]", "a[redacted:secret]"),
            ("pass\u{200b}w\u{ad}ord\u{ff1a}\u{a0}x", "password: x"),
            ("\u{ff50}\u{ff37}\u{ff1d}\u{ff11}", "pW=1"),
            ("%70a%3D%26 %2570", "pa=& p"),
            ("\\u0070\\u001b[31ma\\033[0m", "pa"),
            ("a \\\n  b\\\nc", "a  bc"),
            ("&quot;a&#39;", "\"a'"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_lies_in_a_view_lies_in_the_text() {
        for (text, found, expected) in [
            ("x=a\u{1b}[31mb\u{1b}[0m c", "ab", "a\u{1b}[31mb"),
            ("%70%71%72", "q", "%71"),
            ("é\u{200b}ab\u{200b}é", "ab", "ab"),
            ("密码\u{ff1a}ab", "ab", "ab"),
        ] {
            let view = View::new(text).unwrap();
            let start = view.text.find(found).unwrap();
            let cut = view.in_text(Cut { start, end: start + found.len(), kind: "secret" });
            assert_eq!(&text[cut.start..cut.end], expected, "{text:?}");
        }
    }
}
