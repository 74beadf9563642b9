//! How a row of the table is held against a text.

use std::sync::LazyLock;

use super::alphabet::{ALNUM, DIGIT, DOT, HEX, HYPHEN, LOWER, PLUS, UNDERSCORE, UPPER, is, run_end};
use super::chance::{is_hex, is_random, is_uuid, is_words};
use super::rules::KEYS;
use super::{Cut, past_word};

/// A family of keys.
pub(super) struct Key {
    /// How it begins; case counts. At least two characters.
    pub(super) prefix: &'static str,
    /// What stands in its place.
    pub(super) kind: &'static str,
    /// What its rest is made of.
    pub(super) body: Body,
    /// How long it is at least, prefix included, in characters.
    pub(super) least: usize,
}

/// Longest rest that is looked at twice, to tell a key from words, in characters; a longer one is a key.
const MAX_DOUBTFUL_CHARS: usize = 256;

/// The alphabet of a key's rest, and what else is asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// Capitals and digits.
    Upper,
    /// Capitals, digits, `-`.
    UpperHyphen,
    /// Small letters and digits; both.
    Lower,
    /// Letters and digits.
    Alphanumeric,
    /// Letters and digits: both, at least.
    Mixed,
    /// Digits and `a` to `f`, of one case or the other.
    Hex,
    /// The same, and `-`.
    HexHyphen,
    /// A UUID.
    Uuid,
    /// Letters, digits, `_`; words joined by `_` are not a key.
    Word,
    /// Letters, digits, `_`, `-`; words joined by hyphens are not a key.
    Hyphenated,
    /// The same, and the look of having been drawn by lot: for prefixes that are words themselves.
    Random,
    /// Letters, digits, `_`, `-`, `.`; needs a digit.
    Dotted,
    /// Base64: letters, digits, `+`, `/`, `=`.
    Base64,
    /// Base64 for URLs: letters, digits, `_`, `-`, `=`, and what the other has.
    Base64Url,
    /// Fourteen letters and digits, a point, hexadecimal digits.
    AirTable,
}

/// Which keys may begin with two given bytes.
struct Starts {
    /// Whether any does, by the first byte.
    first: [bool; 256],
    /// Rows of the table by the first byte.
    rows: Vec<Vec<u16>>,
}

static STARTS: LazyLock<Starts> = LazyLock::new(|| {
    let mut starts = Starts { first: [false; 256], rows: vec![Vec::new(); 256] };
    for (row, key) in (0_u16..).zip(KEYS) {
        let first = usize::from(key.prefix.as_bytes()[0]);
        starts.first[first] = true;
        starts.rows[first].push(row);
    }
    starts
});

/// The longest key that begins exactly here. The caller has seen that a word may begin here.
pub(super) fn at(text: &str, start: usize) -> Option<Cut> {
    let bytes = &text.as_bytes()[start..];
    let first = usize::from(*bytes.first()?);
    let starts = &*STARTS;
    if !starts.first[first] {
        return None;
    }
    let second = *bytes.get(1)?;
    let rows = starts.rows[first].iter().map(|row| &KEYS[usize::from(*row)]);
    rows.filter(|key| key.prefix.as_bytes()[1] == second)
        .filter_map(|key| key.cut(text, start))
        .max_by_key(|cut| cut.end)
}

impl Key {
    /// The whole key that begins at `start`, if it is one.
    fn cut(&self, text: &str, start: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        if !bytes[start..].starts_with(self.prefix.as_bytes()) {
            return None;
        }
        let body = start + self.prefix.len();
        let mut end = run_end(bytes, body, self.body.alphabet());
        // What ends a sentence does not belong to it.
        while end > body && matches!(bytes[end - 1], b'.' | b'-') {
            end -= 1;
        }
        let known = end - body > MAX_DOUBTFUL_CHARS || self.body.plausible(&bytes[body..end]);
        (end - start >= self.least && known).then(|| Cut { start, end: past_word(text, end), kind: self.kind })
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
