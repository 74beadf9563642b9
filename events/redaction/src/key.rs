//! Matches the rows of the key table against a text.

use super::alphabet::{ALNUM, DIGIT, DOT, HEX, HYPHEN, LOWER, PLUS, UNDERSCORE, UPPER, is, run_end};
use super::prefixes::{Body, KEYS, Key};
use super::randomness::{is_hex, is_random, is_uuid, is_words};
use super::{Cut, past_word};

/// Shortest line that a terminal wraps, in bytes.
const MIN_COLUMN: usize = 60;
/// Shortest end of a key on a line of its own, in characters.
const MIN_REST_CHARS: usize = 6;
/// Longest body that is read a second time to tell a key from words, in characters. A longer one is a key.
const MAX_DOUBTFUL_CHARS: usize = 256;

/// Number of values of [`pair`].
const PAIRS: usize = 128 * 128;

/// Combines two bytes into one number. All prefixes are ASCII.
const fn pair(first: u8, second: u8) -> usize {
    ((first & 127) as usize) << 7 | (second & 127) as usize
}

/// For each pair of bytes, the first row of the table that begins with it, counted from 1; 0 for none.
static FIRST: [u16; PAIRS] = ROWS.0;
/// For each row, the next row that begins with the same two bytes, counted from 1; 0 for none.
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

/// Returns the longest key that starts at `start`. The caller has checked that a word may start there.
#[inline]
pub(super) fn find_at(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    match FIRST[pair(bytes[start], *bytes.get(start + 1)?)] {
        0 => None,
        row => longest(text, start, usize::from(row)),
    }
}

/// Returns the longest key of the rows chained from `row`.
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
    /// Returns the whole key at `start` if this row matches.
    fn cut(&self, text: &str, start: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        // Compared inline: the first two bytes are known to match, and few of the next do.
        let mut head = bytes[start..].iter();
        if !self.prefix.bytes().all(|byte| head.next() == Some(&byte)) {
            return None;
        }
        let body = start + self.prefix.len();
        // A longer body cannot match, so it is not read to its end.
        let exact = self.body == Body::AirTable;
        let most = if exact { bytes.len().min(body + MAX_DOUBTFUL_CHARS + 1) } else { bytes.len() };
        let mut end = run_end(&bytes[..most], body, self.body.alphabet());
        // Punctuation at the end of a sentence is not part of the key.
        while end > body && matches!(bytes[end - 1], b'.' | b'-') {
            end -= 1;
        }
        let end = self.past_line(text, end);
        let known = if end - body > MAX_DOUBTFUL_CHARS { !exact } else { self.body.plausible(&bytes[body..end]) };
        (end - start >= self.least && known).then(|| Cut { start, end: past_word(text, end), kind: self.kind })
    }
}

impl Key {
    /// Returns the end of a key that a terminal wrapped onto the next line, if that line holds nothing else. Else
    /// returns `end`.
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
    /// Returns the character classes of the body.
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

    /// True if the body may be that of a key.
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
