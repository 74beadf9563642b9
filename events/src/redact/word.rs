//! What words and options announce without a separator: blocks, `Bearer …`, `--password …`, `IDENTIFIED BY …`, tags.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::memmem::Finder;

use super::alphabet::{ALNUM, DIGIT, HYPHEN, LOWER, UNDERSCORE, UPPER, is, run_end};
use super::assignment::{self, Join, past_blanks};
use super::chance::is_random;
use super::name::{self, Name, Sign};
use super::placeholder::{Held, is_placeholder};
use super::span::{self, NextEnd};
use super::{Cut, header};

/// How far behind `mysql` its option may stand, in bytes.
const MAX_COMMAND_BYTES: usize = 200;
/// Shortest password that is told by `login` alone, in bytes.
const MIN_LOGIN_CHARS: usize = 8;
/// Longest word that is read, in bytes.
const MAX_WORD_BYTES: usize = 256;

/// What a word may announce.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announces {
    Pem,
    Bearer,
    /// A password in a sentence, in `.netrc`, in SQL.
    Spoken,
    /// `ENV API_KEY …`, `setx TOKEN …`.
    Set,
    Identified,
    Command,
    /// `docker login -u x -p …`, and what asks for a password in the same way.
    Login,
    Tag,
    Attribute,
    Email,
}

/// Literals that cannot be missing; case counts, which keeps them rare.
const WORDS: &[(&str, Announces)] = &[
    ("-BEGIN ", Announces::Pem),
    ("- BEGIN ", Announces::Pem),
    ("earer ", Announces::Bearer),
    ("EARER ", Announces::Bearer),
    ("assword ", Announces::Spoken),
    ("ASSWORD ", Announces::Spoken),
    ("assphrase ", Announces::Spoken),
    ("ECRET ", Announces::Set),
    ("OKEN ", Announces::Set),
    ("_KEY ", Announces::Set),
    ("IDENTIFIED BY ", Announces::Identified),
    ("identified by ", Announces::Identified),
    ("mysql", Announces::Command),
    ("sshpass ", Announces::Command),
    ("login -", Announces::Login),
    ("assword>", Announces::Tag),
    ("assphrase>", Announces::Tag),
    ("ecret>", Announces::Tag),
    ("oken>", Announces::Tag),
    ("Key>", Announces::Tag),
    ("_key>", Announces::Tag),
    ("\" value=\"", Announces::Attribute),
    ("s email address is ", Announces::Email),
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(word, _)| word);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words).ok()
});

/// What is remembered from one look to the next.
#[derive(Default)]
pub(super) struct Words {
    next_end: NextEnd,
}

/// Whether the words can be looked for at all. Building from constants cannot fail (a test builds it).
pub(super) fn is_built() -> bool {
    AUTOMATON.is_some()
}

impl Words {
    /// The first secret that a word announces, from `from` on.
    pub(super) fn find(&mut self, text: &str, from: usize) -> Option<Cut> {
        let automaton = AUTOMATON.as_ref()?;
        let mut at = from;
        while let Some(found) = automaton.find(Input::new(text).range(at..)) {
            let (start, end) = (found.start(), found.end());
            at = end;
            let cut = match WORDS[found.pattern().as_usize()].1 {
                Announces::Pem => span::pem(text, end, &mut self.next_end),
                Announces::Bearer => header::bearer(text, start - usize::from(start > 0), end),
                Announces::Spoken => spoken(text, end),
                Announces::Set => set(text, end),
                Announces::Identified => chosen(text, end),
                Announces::Command => command(text, end - 1, text[..end].ends_with(' ')),
                Announces::Login => login(text, end - 2),
                Announces::Tag => tag(text, end),
                Announces::Attribute => {
                    name::before(text, start).and_then(|name| assignment::value(text, end - 1, name, Join::Loose))
                }
                Announces::Email => email(text, end),
            };
            if let Some(cut) = cut.filter(|cut| cut.start >= from) {
                return Some(cut);
            }
        }
        None
    }
}

/// What options begin with. Among the words it would make each of them look like two hyphens' beginning.
static HYPHENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("--"));

/// The first secret behind an option, from `from` on: `--password x`.
pub(super) fn find_option(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let end = at + HYPHENS.find(&bytes[at..])? + 2;
        at = run_end(bytes, end, HYPHEN);
        let cut = if at == end { option(text, end) } else { None };
        if let Some(cut) = cut.filter(|cut| cut.start >= from) {
            return Some(cut);
        }
    }
}

/// `--password x`, `"--password", "x"`.
fn option(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let end = start + bytes[start..].iter().take(40).take_while(|byte| is(**byte, ALNUM | HYPHEN | UNDERSCORE)).count();
    if end == start || !bytes.get(end).is_some_and(|byte| matches!(byte, b' ' | b'"' | b'\'')) {
        return None;
    }
    let name = name::before(text, end)?;
    let mut value = end;
    if matches!(bytes[value], b'"' | b'\'') {
        value += 1 + usize::from(bytes.get(value + 1) == Some(&b','));
    }
    let next = past_blanks(bytes, value);
    let dashed = bytes.get(next) == Some(&b'-');
    (next > end && !dashed).then(|| assignment::value(text, next, name, Join::Option)).flatten()
}

/// `my password is …`, `login x password …`, `WITH PASSWORD '…'`.
fn spoken(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let mut at = past_blanks(bytes, end - 1);
    for filler in ["is ", "was ", "to ", "= ", ": "] {
        at += if text[at..].starts_with(filler) { filler.len() } else { 0 };
    }
    let quoted = matches!(bytes.get(at), Some(b'\'' | b'"' | b'`'));
    let line = bytes[end.saturating_sub(120)..end].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let netrc = memchr::memmem::find(line, b"login ").is_some();
    let name = name::before(text, end)?;
    let cut = assignment::value(text, at, name, if netrc { Join::Tight } else { Join::Loose })?;
    let value = &bytes[cut.start..cut.end];
    let has = |class| value.iter().any(|byte| is(*byte, class));
    let signs = value.iter().any(|byte| !is(*byte, ALNUM | HYPHEN | UNDERSCORE) && !matches!(byte, b'.' | b'/' | b':'));
    let strong = value.len() >= 8 && has(DIGIT) && has(LOWER | UPPER) && (signs || is_random(value));
    (quoted || netrc || strong).then_some(cut)
}

/// `ENV API_KEY …`, `setx TOKEN …`, `set -x TOKEN …`: the name in capitals, the value random or set as in a shell.
fn set(text: &str, end: usize) -> Option<Cut> {
    let name = name::before(text, end).filter(|name| name.screams && name.sign != Sign::Faint)?;
    let bytes = text.as_bytes();
    let before = bytes[name.start.saturating_sub(12)..name.start].trim_ascii_end();
    let sets = [&b"ENV"[..], b"setx", b" -x", b" -gx", b" -Ux", b"setenv"].iter().any(|word| before.ends_with(word));
    let cut = assignment::value(text, end, name, Join::Loose)?;
    let value = &bytes[cut.start..cut.end];
    ((sets && value.len() >= 8) || (value.len() >= 16 && is_random(value))).then_some(cut)
}

/// What a person has chosen, in quotes or not.
fn chosen(text: &str, from: usize) -> Option<Cut> {
    let name = Name { start: from, sign: Sign::Strong, screams: false, spoken: false };
    assignment::value(text, from, name, Join::Tight)
}

/// `docker login -u x -p X`; `-p` is something else to some programs, but none of it is as long as a password.
fn login(text: &str, from: usize) -> Option<Cut> {
    command(text, from, true).filter(|cut| cut.end - cut.start >= MIN_LOGIN_CHARS)
}

/// `mysql -u root -pX`, and `sshpass -p X` where the value stands apart.
fn command(text: &str, from: usize, apart: bool) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &bytes[from..bytes.len().min(from + MAX_COMMAND_BYTES)];
    let line = window.split(|byte| matches!(byte, b'\n' | b';' | b'|' | b'&')).next().unwrap_or_default();
    let option = from + memchr::memmem::find(line, if apart { &b" -p "[..] } else { b" -p" })? + 3;
    let start = if apart { past_blanks(bytes, option) } else { option };
    let quote = bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let start = start + usize::from(quote.is_some());
    let part = |byte: &&u8| match quote {
        Some(quote) => **byte != quote && **byte != b'\n' && byte.is_ascii(),
        None => {
            !byte.is_ascii_whitespace()
                && !matches!(**byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'[')
                && byte.is_ascii()
        }
    };
    let last = start + bytes[start..].iter().take(MAX_WORD_BYTES).take_while(part).count();
    let value = &text[start..last];
    let ports = value.bytes().all(|byte| is(byte, DIGIT) || byte == b':');
    let stays = value.len() < 3 || ports || value.starts_with('-') || is_placeholder(value, "password", Held::FIRMLY);
    (!stays).then_some(Cut { start, end: last, kind: "password" })
}

/// `<password>x</password>`.
fn tag(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let name = name::before(text, end - 1)?;
    let opens = name.start.checked_sub(1).is_some_and(|at| bytes[at] == b'<');
    let window = &bytes[end..bytes.len().min(end + MAX_WORD_BYTES)];
    let part = window
        .iter()
        .take_while(|byte| !byte.is_ascii_whitespace() && !matches!(**byte, b'<' | b'{' | b'$') && byte.is_ascii());
    let last = end + part.count();
    let closes = bytes[last..].starts_with(b"</");
    let value = &text[end..last];
    let least = if name.sign == Sign::Strong { 6 } else { 16 };
    let likely = name.sign == Sign::Strong || is_random(value.as_bytes());
    let stays =
        value.len() < least || is_placeholder(value, &text[name.start..end], Held { set: false, ..Held::FIRMLY });
    (opens && closes && likely && !stays).then_some(Cut { start: end, end: last, kind: "secret" })
}

/// `The user's email address is …`, as harnesses tell the model.
fn email(text: &str, end: usize) -> Option<Cut> {
    let part = |c: &char| !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '[');
    let length: usize = text[end..].chars().take(MAX_WORD_BYTES).take_while(part).map(char::len_utf8).sum();
    let address = text[end..end + length].trim_end_matches(['.', ',', ')']);
    address.contains('@').then_some(Cut { start: end, end: end + address.len(), kind: "account" })
}
