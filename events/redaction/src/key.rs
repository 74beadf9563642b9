//! How a row of the table is held against a text.

use super::alphabet::{ALNUM, DIGIT, DOT, HEX, HYPHEN, LOWER, PLUS, UNDERSCORE, UPPER, is, run_end};
use super::chance::{is_hex, is_random, is_uuid, is_words};
use super::rules::{Body, KEYS, Key};
use super::{Cut, past_word};

/// How long a line is at least that a terminal breaks, in bytes.
const MIN_COLUMN: usize = 60;
/// Shortest end of a key that is in a line of its own, in characters.
const MIN_REST_CHARS: usize = 6;
/// Longest rest that is looked at twice, to tell a key from words, in characters; a longer one is a key.
const MAX_DOUBTFUL_CHARS: usize = 256;

/// How many values [`pair`] has.
const PAIRS: usize = 128 * 128;

/// Two bytes as one number. No prefix has other than ASCII.
const fn pair(first: u8, second: u8) -> usize {
    ((first & 127) as usize) << 7 | (second & 127) as usize
}

/// Which rows of the table begin with two given bytes: the first of them, from 1 on, or 0.
static FIRST: [u16; PAIRS] = ROWS.0;
/// The next row that begins with the same two bytes as a row, in the same way.
static NEXT: [u16; KEYS.len() + 1] = ROWS.1;

const ROWS: ([u16; PAIRS], [u16; KEYS.len() + 1]) = {
    let mut first = [0; PAIRS];
    let mut next = [0; KEYS.len() + 1];
    let mut row = KEYS.len();
    while row > 0 {
        let prefix = KEYS[row - 1].prefix.as_bytes();
        let pair = pair(prefix[0], prefix[1]);
        next[row] = first[pair];
        first[pair] = row as u16;
        row -= 1;
    }
    (first, next)
};

/// The longest key that begins exactly here. The caller has seen that a word may begin here.
#[inline]
pub(super) fn at(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    match FIRST[pair(bytes[start], *bytes.get(start + 1)?)] {
        0 => None,
        row => longest(text, start, usize::from(row)),
    }
}

/// The longest key of these rows.
fn longest(text: &str, start: usize, mut row: usize) -> Option<Cut> {
    let mut longest: Option<Cut> = None;
    while row > 0 {
        if let Some(cut) = KEYS[row - 1].cut(text, start)
            && longest.is_none_or(|longest| cut.end >= longest.end)
        {
            longest = Some(cut);
        }
        row = usize::from(NEXT[row]);
    }
    longest
}

impl Key {
    /// The whole key that begins at `start`, if it is one.
    fn cut(&self, text: &str, start: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        // Without a call: two bytes are alike already, and few of the next.
        let mut head = bytes[start..].iter();
        if !self.prefix.bytes().all(|byte| head.next() == Some(&byte)) {
            return None;
        }
        let body = start + self.prefix.len();
        // One that is longer than what is judged is none, and is not followed to its end.
        let exact = self.body == Body::AirTable;
        let most = if exact { bytes.len().min(body + MAX_DOUBTFUL_CHARS + 1) } else { bytes.len() };
        let mut end = run_end(&bytes[..most], body, self.body.alphabet());
        // What ends a sentence does not belong to it.
        while end > body && matches!(bytes[end - 1], b'.' | b'-') {
            end -= 1;
        }
        let end = self.past_line(text, end);
        let known = if end - body > MAX_DOUBTFUL_CHARS { !exact } else { self.body.plausible(&bytes[body..end]) };
        (end - start >= self.least && known).then(|| Cut { start, end: past_word(text, end), kind: self.kind })
    }
}

impl Key {
    /// The end of a key that a terminal has broken at the end of a line: nothing else is in the next one.
    fn past_line(&self, text: &str, end: usize) -> usize {
        let bytes = text.as_bytes();
        let next = match bytes.get(end..end + 2) {
            Some([b'\n', byte]) if is(*byte, ALNUM) => end + 1,
            _ => return end,
        };
        let column = bytes[..end].iter().rev().take(MIN_COLUMN).take_while(|byte| **byte != b'\n').count();
        if column < MIN_COLUMN || FIRST[pair(bytes[next], *bytes.get(next + 1).unwrap_or(&0))] != 0 {
            return end;
        }
        let rest = run_end(bytes, next, self.body.alphabet());
        let ends = bytes.get(rest).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\''));
        if ends && rest - next >= MIN_REST_CHARS && is_random(&bytes[next..rest]) { rest } else { end }
    }
}

impl Body {
    /// The classes of characters that the rest is made of.
    const fn alphabet(self) -> u8 {
        match self {
            Self::Upper => UPPER | DIGIT,
            Self::UpperHyphen => UPPER | DIGIT | HYPHEN,
            Self::Lower => LOWER | DIGIT,
            Self::Alphanumeric | Self::Mixed => ALNUM,
            Self::Hex => HEX,
            Self::HexHyphen | Self::Uuid => HEX | HYPHEN,
            Self::Word => ALNUM | UNDERSCORE,
            Self::Hyphenated | Self::Random => ALNUM | UNDERSCORE | HYPHEN,
            Self::Dotted | Self::AirTable => ALNUM | UNDERSCORE | HYPHEN | DOT,
            Self::Base64 => ALNUM | PLUS,
            Self::Base64Url => ALNUM | PLUS | UNDERSCORE | HYPHEN,
        }
    }

    /// Whether the rest can be that of a key.
    fn plausible(self, body: &[u8]) -> bool {
        let has = |class| body.iter().any(|byte| is(*byte, class));
        match self {
            Self::Upper | Self::UpperHyphen | Self::Alphanumeric | Self::Hex | Self::HexHyphen => true,
            Self::Base64 | Self::Base64Url => true,
            Self::Lower => has(LOWER) && has(DIGIT),
            Self::Mixed => has(DIGIT) && has(LOWER | UPPER),
            Self::Uuid => is_uuid(body),
            Self::Word | Self::Hyphenated => !is_words(body),
            Self::Random => is_random(body),
            Self::Dotted => has(DIGIT),
            Self::AirTable => {
                body.get(14) == Some(&b'.') && body[..14].iter().all(|byte| is(*byte, ALNUM)) && is_hex(&body[15..])
            }
        }
    }
}
