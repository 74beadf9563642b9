//! Removes secrets from text.
//!
//! Two things are cut: passages that a person marked with `<private>…</private>` (an unclosed mark extends to the end,
//! one that was never opened to the beginning), and what looks like a credential. Each cut is replaced by
//! `[redacted:<kind>]`. Credentials are recognised
//!
//! - by their prefix ([`rules`]: one table) or their format ([`shape`]);
//! - by the name of what holds them ([`name`], [`assignment`]): `password=…`, `"api_key": "…"`, `DB_SECRET: …`;
//! - by their place: in a URL ([`url`]), a header ([`header`]), a block ([`delimited`], [`block`]), after a word or an
//!   option ([`word`]), in a call or a table ([`calls_and_tables`]), in a field that a neighbouring field names
//!   ([`neighbour`]);
//! - by the program that takes them ([`command`], [`program_input`]), or by a name in another language ([`language`]);
//! - by randomness alone: 32 or more letters of both cases and digits, standing alone ([`run`]).
//!
//! Text that is written differently from how it reads is also searched as it reads: colours, escapes and full-width
//! forms ([`view`]), Base64 ([`encoded`]).
//!
//! Placeholders in the place of a secret stay: [`placeholder`].
//!
//! [`redact`] is idempotent, takes time linear in the text's length, borrows if there is nothing to cut, and keeps
//! everything outside a cut byte for byte. It sees one text at a time. Callers must not shorten or split a text before
//! redacting it, because half a key is no longer recognised as one.
//!
//! Speed: nothing is searched byte by byte. Long runs are found by probing blocks of twenty bytes, separators and words
//! by vector instructions. Names are read only at separators, values only after sensitive names. A short text is
//! searched only by the finders whose trigger bytes it contains.
//!
//! # Decisions
//!
//! - Redaction is our own table. Of the known rule libraries one (kingfisher) needs a newer Rust and a regex engine in
//!   C++; others run one regular expression per rule. A test counts some 400 kinds of secrets and 200 look-alikes.
//! - A `</private>` that was never opened redacts from the beginning of its text.

#![deny(clippy::float_arithmetic, reason = "platforms differ in it, and what is cut decides a content hash")]

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

mod alphabet;
mod announcement;
mod assignment;
mod block;
mod calls_and_tables;
mod command;
mod command_line;
mod cue;
mod delimited;
mod encoded;
mod header;
pub mod json;
mod key;
mod language;
mod name;
mod neighbour;
mod password;
mod placeholder;
mod prefixes;
mod program_input;
mod randomness;
pub mod raw_json;
mod run;
mod separator;
mod shape;
mod table;
mod url;
mod visible_text;
mod wallet;
mod word;

/// The words of all rules that need no table at compile time, see [`baton_words`].
const WORDS: &str = include_str!("words.txt");

/// Shortest credential with a well-known prefix, prefix included, in characters.
pub const MIN_KEY_CHARS: usize = 20;

/// Longest private key block for which the end is sought, in bytes. RSA keys of 16,384 bits take 13 KB.
const MAX_PEM_BYTES: usize = 16 * 1024;

/// Texts below this length may qualify as plain words, in bytes.
const MAX_PLAIN_BYTES: usize = 64;

/// Most passes over a text. The second pass finds only what a cut has exposed (a name that was part of a longer word, a
/// run that has become shorter); the third has never found anything.
const MAX_LOOKS: usize = 6;

/// Start of every redaction mark. It never starts a secret itself.
const MARK: &str = "[redacted:";

/// Longest redaction mark, in bytes.
const MAX_MARK_BYTES: usize = 48;

/// A part of the text to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// Returns the text without secrets and without passages marked private.
///
/// Borrowed if there is nothing to cut. Idempotent.
pub fn redact(text: &str) -> Cow<'_, str> {
    // Most texts are words, file names and ids. The only secret they can contain is a long run, and a UUID is none.
    let plain = text.len() < MAX_PLAIN_BYTES && !text.bytes().any(alphabet::is_sign);
    if plain && (text.len() < MIN_KEY_CHARS || randomness::is_uuid(text.as_bytes())) {
        return Cow::Borrowed(text);
    }
    // Without its tables redaction lets nothing pass.
    if !word::is_built() {
        return Cow::Owned(format!("{MARK}unchecked]"));
    }
    let (mut clean, signs) = if plain {
        match run_pass_for_runs(text) {
            None => return Cow::Borrowed(text),
            clean => (clean, Signs::default()),
        }
    } else {
        let signs = Signs::new(text);
        (without_private(text, signs), signs)
    };
    for _ in 0..MAX_LOOKS {
        let (seen, signs) = clean.as_deref().map_or((text, signs), |clean| (clean, Signs::new(clean)));
        match run_pass(seen, signs).or_else(|| run_pass_on_view(seen, signs)) {
            Some(cleaner) => clean = Some(cleaner),
            None => break,
        }
    }
    clean.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Redacts an owned text, without copying it if it is clean.
pub fn redact_owned(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// Returns the text without private passages, if it has any. They are cut first, so that a secret that starts before a
/// mark cannot hide it.
fn without_private(text: &str, signs: Signs) -> Option<String> {
    if !signs.has(Signs::TAG | Signs::ESCAPES) {
        return None;
    }
    let mut passages = delimited::private(text).into_iter();
    cut_out(text, |_| passages.next())
}

/// Runs one pass for long runs only.
fn run_pass_for_runs(text: &str) -> Option<String> {
    let mut runs = run::Runs::default();
    cut_out(text, |from| runs.find(text, from))
}

/// Runs one pass, and returns the text without the credentials found, if any.
fn run_pass(text: &str, signs: Signs) -> Option<String> {
    cut_out(text, next_credential(text, signs))
}

/// Runs one pass over the text's view, and cuts what it finds from the text.
fn run_pass_on_view(text: &str, signs: Signs) -> Option<String> {
    let view = if signs.has(Signs::ESCAPES | Signs::WIDE) { visible_text::View::new(text)? } else { return None };
    let mut next = next_credential(&view.text, Signs::new(&view.text));
    let mut seen = 0;
    cut_out(text, |from| {
        while let Some(cut) = next(seen) {
            seen = cut.end;
            let cut = view.in_text(cut);
            if cut.start >= from {
                return Some(cut);
            }
        }
        None
    })
}

/// Returns a function that finds the first credential at or after a position. Positions must only grow.
fn next_credential(text: &str, signs: Signs) -> impl FnMut(usize) -> Option<Cut> {
    let mut runs = run::Runs::default();
    let mut words = word::Words::default();
    let mut programs = command::Programs::default();
    let mut input = program_input::ProgramInput::default();
    let needs = [0, Signs::SEPARATORS, Signs::HYPHEN, 0, 0, Signs::BRACKET, Signs::WIDE];
    let mut lookahead =
        needs.map(|needs| if needs == 0 || signs.has(needs) { Lookahead::Unknown } else { Lookahead::Nothing });
    move |from| {
        for (at, lookahead) in lookahead.iter_mut().enumerate() {
            if lookahead.is_before(from) {
                let found = match at {
                    0 => runs.find(text, from),
                    1 => separator::find(text, from),
                    2 => word::find_option(text, from, &mut programs),
                    3 => words.find(text, from),
                    4 => word::find_call(text, from, &mut input),
                    5 => word::find_function(text, from),
                    _ => word::find_foreign(text, from),
                };
                *lookahead = found.map_or(Lookahead::Nothing, Lookahead::Known);
            }
        }
        // The first wins. At one position the specific kind wins, then the longer cut.
        let vague = |cut: &Cut| matches!(cut.kind, "secret" | "high_entropy");
        let found = lookahead.iter().filter_map(|lookahead| lookahead.cut()).chain(words.column(from));
        found.min_by_key(|cut| (cut.start, vague(cut), Reverse(cut.end)))
    }
}

/// The kinds of trigger bytes in a text, one bit each. Many finders need one of them, and most texts are short, so one
/// pass saves running the others.
#[derive(Clone, Copy, Default)]
struct Signs(u8);

impl Signs {
    /// `=`, `:`, `%`.
    const SEPARATORS: u8 = 1;
    /// `-`.
    const HYPHEN: u8 = 2;
    /// `(`.
    const BRACKET: u8 = 4;
    /// Not ASCII.
    const WIDE: u8 = 8;
    /// An escape, `%`, `\\`, `&`.
    const ESCAPES: u8 = 16;
    /// `<`.
    const TAG: u8 = 32;
    /// Longest text that is checked for trigger bytes, in bytes. A longer one has most of them and is searched by every
    /// finder.
    const MAX_BYTES: usize = 1_024;

    const fn of_byte(byte: u8) -> u8 {
        const fn is(byte: u8, sign: u8) -> u8 {
            (byte == sign) as u8
        }
        let percent = is(byte, b'%');
        ((is(byte, b'=') | is(byte, b':') | percent) * Self::SEPARATORS)
            | (is(byte, b'-') * Self::HYPHEN)
            | (is(byte, b'(') * Self::BRACKET)
            | ((byte >> 7) * Self::WIDE)
            | ((is(byte, 0x1b) | percent | is(byte, b'\\') | is(byte, b'&')) * Self::ESCAPES)
            | (is(byte, b'<') * Self::TAG)
    }

    /// Written so that the compiler vectorises it, except for the bytes after the last block.
    fn new(text: &str) -> Self {
        static OF_BYTE: [u8; 256] = {
            let mut signs = [0; 256];
            let mut byte = 0;
            while byte < signs.len() {
                signs[byte] = Signs::of_byte(byte as u8);
                byte += 1;
            }
            signs
        };
        if text.len() > Self::MAX_BYTES {
            return Self(u8::MAX);
        }
        let (blocks, rest) = text.as_bytes().as_chunks::<16>();
        let seen = blocks.as_flattened().iter().fold(0, |seen, byte| seen | Self::of_byte(*byte));
        Self(rest.iter().fold(seen, |seen, byte| seen | OF_BYTE[usize::from(*byte)]))
    }

    /// True if the text contains one of these kinds.
    fn has(self, kinds: u8) -> bool {
        self.0 & kinds != 0
    }
}

/// What a finder will find next. Most find nothing, and then are not run again.
#[derive(Clone, Copy)]
enum Lookahead {
    Unknown,
    Nothing,
    Known(Cut),
}

impl Lookahead {
    /// True if the finder has to run: it has not run yet, or its last result is behind `from`.
    fn is_before(self, from: usize) -> bool {
        match self {
            Self::Unknown => true,
            Self::Nothing => false,
            Self::Known(cut) => cut.start < from,
        }
    }

    fn cut(self) -> Option<Cut> {
        match self {
            Self::Known(cut) => Some(cut),
            Self::Unknown | Self::Nothing => None,
        }
    }
}

/// Returns the text without the cuts that `next` finds, if there are any. A cut never splits a redaction mark.
fn cut_out(text: &str, mut next: impl FnMut(usize) -> Option<Cut>) -> Option<String> {
    let mut out = String::new();
    let (mut copied, mut is_cut) = (0, false);
    while let Some(cut) = next(copied) {
        let (first, last) = (mark_around(text, cut.start), mark_around(text, cut.end));
        // A cut that starts before the end of the last one is the rest of the same secret.
        let start = first.as_ref().map_or(cut.start, |mark| mark.start).max(copied);
        let end = last.as_ref().map_or(cut.end, |mark| mark.end).max(copied);
        let within = first.or_else(|| last.filter(|mark| mark.start == cut.start));
        if let Some(mark) = within.filter(|mark| mark.end == end) {
            // Only part of a redaction mark.
            out.push_str(&text[copied..mark.end.max(copied)]);
        } else {
            is_cut = true;
            out.push_str(&text[copied..start]);
            out.push_str(MARK);
            out.push_str(cut.kind);
            out.push(']');
        }
        copied = end;
    }
    if !is_cut {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns the redaction mark that contains the position.
fn mark_around(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let floor = at.saturating_sub(MAX_MARK_BYTES);
    let start = floor + memchr::memrchr(b'[', &bytes[floor..at])?;
    let kind = bytes[start..].strip_prefix(MARK.as_bytes())?;
    let length =
        kind.iter().take(MAX_MARK_BYTES).take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    let end = start + MARK.len() + length + 1;
    (kind.get(length) == Some(&b']') && at < end).then_some(start..end)
}

/// True if the position is directly behind the start of a redaction mark.
fn in_mark(text: &str, start: usize) -> bool {
    text.as_bytes()[..start].ends_with(MARK.as_bytes())
}

/// Returns the end of the word that contains `end`. What is left after a cut must not begin in the middle of a word, so
/// that a second pass finds nothing that the first did not.
fn past_word(text: &str, end: usize) -> usize {
    end + text[end..].chars().take_while(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests;
