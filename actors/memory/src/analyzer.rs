//! Splits text into words and names, which decide whether two texts match.
//!
//! Knows nothing of an index. The index, the query and the snippet all use it, so that indexed text is found again. A
//! **word** is a run of Unicode letters and digits, lower-cased; if longer than [`MAX_WORD_CHARS`] it is dropped. It is
//! either a stop word or has an English stem (Porter2; of its base if it is an irregular form). The parts of a
//! camel-case word are words too, after the whole. Chinese, Japanese and Korean are written without spaces: there,
//! every two neighbouring characters are a word, and so is a character that stands alone. A **name** is a whole
//! identifier, path, dotted name, `file:line` or error code, lower-cased, with the prefix [`NAME_PREFIX`], with which
//! no word begins. The words inside a name are words too.

use std::ops::Range;

use baton_ask::stopwords;
use rust_stemmers::{Algorithm, Stemmer};

use super::irregular;

/// Maximum length of a word, in characters; longer runs are data, not words.
pub(super) const MAX_WORD_CHARS: usize = 40;
/// Maximum length of a name, in characters, without its prefix; the rest is cut.
pub(super) const MAX_NAME_CHARS: usize = 80;
/// Prefix of every name.
pub(super) const NAME_PREFIX: char = '=';

/// Maximum length in bytes of a cached word; longer ones are rare enough to be stemmed each time.
const CACHED_BYTES: usize = 23;

/// Receives what an [`Analyzer`] finds, in text order. `at` is a byte range of the text.
pub(super) trait Listener {
    /// A word that is not a stop word.
    fn word(&mut self, plain: &str, stem: &str, at: Range<usize>);

    /// A character of a script without spaces, next to others of its kind; a query of one character matches it.
    fn single(&mut self, character: &str, at: Range<usize>) {
        let _ = (character, at);
    }

    /// A stop word.
    fn stop(&mut self, word: &str, at: Range<usize>) {
        let _ = (word, at);
    }

    /// A whole name, reported after the words inside it.
    fn name(&mut self, token: &str, at: Range<usize>) {
        let _ = (token, at);
    }
}

/// Finds the words and names of a text. Holds buffers and a bounded cache of stems, so one is reused for many texts;
/// results depend on nothing but the text.
pub(super) struct Analyzer {
    stemmer: Stemmer,
    slots: Vec<Slot>,
    lowered: String,
    name: String,
}

/// A cached word with its stem.
#[derive(Clone)]
struct Slot {
    word: [u8; CACHED_BYTES],
    word_len: u8,
    stem: [u8; CACHED_BYTES],
    stem_len: u8,
    stop: bool,
}

/// The role of a character in words and names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Gap,
    Connector,
    Digit,
    Upper,
    Lower,
    /// A character of a script without spaces between words.
    Dense,
}

/// Properties of a run of word characters and connectors.
#[derive(Default)]
struct Shape {
    letters: bool,
    digits: bool,
    camel: bool,
    /// Start of the first and end of the last word, in bytes of the text.
    first: Option<usize>,
    last: usize,
}

const CLASSES: [Class; 128] = classes();

const fn classes() -> [Class; 128] {
    let mut classes = [Class::Gap; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => Class::Digit,
            b'A'..=b'Z' => Class::Upper,
            b'a'..=b'z' => Class::Lower,
            b'_' | b'-' | b'.' | b'/' | b'\\' | b':' | b'@' | b'#' | b'~' | b'+' => Class::Connector,
            _ => Class::Gap,
        };
        byte += 1;
    }
    classes
}

/// The class of the character at a byte offset, and its length in bytes.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte < 128 {
        return Some((CLASSES[usize::from(byte)], 1));
    }
    let c = text[at..].chars().next()?;
    let class = if is_dense(c) {
        Class::Dense
    } else if c.is_numeric() {
        Class::Digit
    } else if c.is_uppercase() {
        Class::Upper
    } else if c.is_alphanumeric() {
        Class::Lower
    } else {
        Class::Gap
    };
    Some((class, c.len_utf8()))
}

/// True for Han, Kana, Bopomofo and Hangul.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::with_cache(64)
    }
}

impl Analyzer {
    /// An analyzer that caches about `words` words (rounded up to a power of two; about 50 bytes each).
    pub(super) fn with_cache(words: usize) -> Self {
        let empty = Slot { word: [0; CACHED_BYTES], word_len: 0, stem: [0; CACHED_BYTES], stem_len: 0, stop: false };
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![empty; words.max(1).next_power_of_two()],
            lowered: String::new(),
            name: String::new(),
        }
    }

    /// Reports every word, stop word and name of `text` to `listener`. Linear in the text; never fails.
    pub(super) fn analyze(&mut self, text: &str, listener: &mut impl Listener) {
        let mut at = 0;
        while let Some((class, len)) = class_at(text, at) {
            if class == Class::Gap {
                at += len;
            } else {
                at = self.read_run(text, at, listener);
            }
        }
    }

    /// Reads one run of word characters and connectors from `start`; returns its end.
    fn read_run(&mut self, text: &str, start: usize, listener: &mut impl Listener) -> usize {
        let mut shape = Shape::default();
        let mut at = start;
        while let Some((class, len)) = class_at(text, at) {
            match class {
                Class::Gap => break,
                Class::Connector => at += len,
                Class::Dense => {
                    shape.first.get_or_insert(at);
                    at = read_dense(text, at, listener);
                    shape.last = at;
                }
                _ => {
                    shape.first.get_or_insert(at);
                    at = self.read_word(text, at, &mut shape, listener);
                    shape.last = at;
                }
            }
        }
        if let Some(first) = shape.first {
            self.report_name(text, first, at, &shape, listener);
        }
        at
    }

    /// Reads one word from `start`; returns its end.
    #[inline]
    fn read_word(&mut self, text: &str, start: usize, shape: &mut Shape, listener: &mut impl Listener) -> usize {
        let mut at = start;
        let (mut ascii, mut upper, mut after_lower, mut uppers, mut parts) = (true, false, false, 0, false);
        while let Some((class, len)) = class_at(text, at) {
            match class {
                Class::Gap | Class::Connector | Class::Dense => break,
                Class::Digit => shape.digits = true,
                Class::Upper => {
                    shape.letters = true;
                    shape.camel |= after_lower;
                    parts |= after_lower;
                    upper = true;
                }
                Class::Lower => {
                    shape.letters = true;
                    parts |= uppers > 1;
                }
            }
            after_lower = class == Class::Lower;
            uppers = if class == Class::Upper { uppers + 1 } else { 0 };
            ascii &= len == 1;
            at += len;
        }
        let written = &text[start..at];
        if ascii && written.len() > MAX_WORD_CHARS || !ascii && written.chars().nth(MAX_WORD_CHARS).is_some() {
            return at;
        }
        if ascii && !upper {
            self.report_word(written, start..at, listener);
        } else {
            let mut lowered = std::mem::take(&mut self.lowered);
            lowered.clear();
            lower_into(written, &mut lowered);
            self.report_word(&lowered, start..at, listener);
            if parts {
                self.report_parts(written, start, &mut lowered, listener);
            }
            self.lowered = lowered;
        }
        at
    }

    /// Reports the words inside a camel-case word, without single letters and stop words. `lowered` is a scratch
    /// buffer.
    fn report_parts(&mut self, written: &str, start: usize, lowered: &mut String, listener: &mut impl Listener) {
        let mut from = 0;
        let mut chars = written.char_indices().peekable();
        let mut before = Class::Gap;
        while let Some((at, c)) = chars.next() {
            let class = class_at(written, at).map_or(Class::Gap, |(class, _)| class);
            let next = chars.peek().and_then(|(next, _)| class_at(written, *next)).map(|(class, _)| class);
            let rest = written.len() - at - c.len_utf8();
            // `getUser` is split before `U`, `HTTPServer` before the last `S`; the `s` of `URLs` is not a word.
            let begins = class == Class::Upper
                && (matches!(before, Class::Lower | Class::Digit)
                    || before == Class::Upper && next == Some(Class::Lower) && rest > 1);
            if begins {
                self.report_part(written, from..at, start, lowered, listener);
                from = at;
            }
            before = class;
        }
        if from > 0 {
            self.report_part(written, from..written.len(), start, lowered, listener);
        }
    }

    fn report_part(
        &mut self,
        written: &str,
        at: Range<usize>,
        start: usize,
        lowered: &mut String,
        listener: &mut impl Listener,
    ) {
        if at.len() < 2 {
            return;
        }
        lowered.clear();
        lower_into(&written[at.clone()], lowered);
        self.report_word(lowered, start + at.start..start + at.end, &mut Words(listener));
    }

    /// Reports a lower-cased word with its stem, or as a stop word.
    #[inline]
    fn report_word(&mut self, word: &str, at: Range<usize>, listener: &mut impl Listener) {
        if !word.is_ascii() {
            return listener.word(word, word, at);
        }
        if word.len() > CACHED_BYTES {
            return listener.word(word, &self.stemmer.stem(word), at);
        }
        let index = (hash(word.as_bytes()) >> 32) as usize & (self.slots.len() - 1);
        if self.slots[index].word() != word.as_bytes() {
            let stem = self.stemmer.stem(irregular::base(word).unwrap_or(word));
            self.slots[index].remember(word, &stem);
        }
        let slot = &self.slots[index];
        if slot.stop {
            listener.stop(word, at);
        } else {
            listener.word(word, std::str::from_utf8(slot.stem()).unwrap_or(word), at);
        }
    }

    /// Reports the whole run as a name if it looks like one, and a `file:line` also as its file.
    fn report_name(&mut self, text: &str, first: usize, end: usize, shape: &Shape, listener: &mut impl Listener) {
        let last = shape.last + language_tail(text, first, shape.last, end);
        let inner = &text[first..last];
        let plain_word = inner.bytes().all(|b| b >= 128 || b.is_ascii_alphanumeric());
        if plain_word && !shape.camel && !(shape.letters && shape.digits) {
            return;
        }
        let mut name = std::mem::take(&mut self.name);
        for part in [inner, without_line(inner)] {
            name.clear();
            name.push(NAME_PREFIX);
            let cut = part.char_indices().nth(MAX_NAME_CHARS).map_or(part.len(), |(at, _)| at);
            lower_into(&part[..cut], &mut name);
            listener.name(&name, first..first + part.len());
            if without_line(inner).len() == inner.len() {
                break;
            }
        }
        self.name = name;
    }
}

impl Slot {
    fn word(&self) -> &[u8] {
        &self.word[..usize::from(self.word_len)]
    }

    fn stem(&self) -> &[u8] {
        &self.stem[..usize::from(self.stem_len)]
    }

    /// `word` is ASCII and fits; a stem that does not fit is replaced by the word itself.
    fn remember(&mut self, word: &str, stem: &str) {
        let stem = if stem.len() <= CACHED_BYTES && !stem.is_empty() { stem } else { word };
        self.word[..word.len()].copy_from_slice(word.as_bytes());
        self.word_len = word.len() as u8;
        self.stem[..stem.len()].copy_from_slice(stem.as_bytes());
        self.stem_len = stem.len() as u8;
        self.stop = stopwords::is_stop(word);
    }
}

/// Forwards words only.
struct Words<'a, L>(&'a mut L);

impl<L: Listener> Listener for Words<'_, L> {
    fn word(&mut self, plain: &str, stem: &str, at: Range<usize>) {
        self.0.word(plain, stem, at);
    }
}

/// Reads a run of characters of a script without spaces from `start`; returns its end.
fn read_dense(text: &str, start: usize, listener: &mut impl Listener) -> usize {
    let mut before = None;
    let mut at = start;
    while let Some((Class::Dense, len)) = class_at(text, at) {
        let here = at..at + len;
        if let Some(previous) = before.replace(at) {
            let pair = previous..here.end;
            listener.word(&text[pair.clone()], &text[pair.clone()], pair);
            if previous == start {
                listener.single(&text[start..at], start..at);
            }
            listener.single(&text[here.clone()], here.clone());
        }
        at = here.end;
    }
    if before == Some(start) {
        listener.word(&text[start..at], &text[start..at], start..at);
    }
    at
}

/// Number of connector characters after a word that belong to it: `c++`, `c#`.
fn language_tail(text: &str, first: usize, last: usize, end: usize) -> usize {
    let tail = &text[last..end];
    match last - first {
        1 if tail.starts_with("++") => 2,
        1 if tail.starts_with('#') => 1,
        _ => 0,
    }
}

/// The part before a `:line` or `:line:column`; the whole name if there is none.
fn without_line(name: &str) -> &str {
    let mut rest = name;
    for _ in 0..2 {
        match rest.rsplit_once(':') {
            Some((file, line)) if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) => rest = file,
            _ => break,
        }
    }
    rest.trim_end_matches(':')
}

/// Appends a text in lower case, character by character, as words are lower-cased.
pub(super) fn lower_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        let from = out.len();
        out.push_str(text);
        out[from..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

/// A fast hash of a few bytes, the same on every machine. Not resistant to chosen input, which the cache need not be.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = (state.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(K);
    }
    let mut tail = 0;
    for (shift, byte) in chunks.remainder().iter().enumerate() {
        tail |= u64::from(*byte) << (8 * shift);
    }
    state = (state.rotate_left(5) ^ tail).wrapping_mul(K);
    state ^ (state >> 29)
}

#[cfg(test)]
mod tests;
