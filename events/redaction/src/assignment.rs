//! Values whose names mark them as secrets: `password=…`, `"api_key": "…"`, `DB_SECRET: …`, `--token …`.

use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, floor, is};
use super::name::{Name, NameKind};
use super::placeholder::{Held, is_placeholder};
use super::randomness::{is_numbered, is_random, is_respelled, is_uuid, is_words};
use super::{Cut, block};

/// Shortest secret of letters alone, in characters.
const MIN_WORD_CHARS: usize = 8;
/// Shortest secret of letters with digits or punctuation, in characters.
const MIN_VALUE_CHARS: usize = 6;
/// Shortest secret after a weak name (`token`), in characters.
const MIN_WEAK_CHARS: usize = 16;
/// Shortest secret after a weak name if it follows `=` directly and has at least two digits, or if a digit stands for a
/// letter, in characters.
const MIN_TIGHT_CHARS: usize = 8;
/// Number of digits of a secret number. Shorter numbers denote the pins of a board.
const PIN_DIGITS: std::ops::RangeInclusive<usize> = 6..=12;
/// Shortest secret after a faint name (`key`), in characters.
const MIN_FAINT_CHARS: usize = 20;
/// Length of the prefix by which a value is judged, in bytes. A longer secret is cut whole.
const MAX_JUDGED_BYTES: usize = 512;
/// Most spaces before a value. Aligned tables have more, but hold no secrets.
const MAX_BLANKS: usize = 8;
/// How far to read past a character that may end a value, in bytes.
const MAX_REST_BYTES: usize = 64;
/// Longest value that contains spaces, in bytes.
const MAX_SPOKEN_BYTES: usize = 200;

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Join {
    /// `=` without spaces around it: shells, URLs, command lines.
    Tight,
    /// `=` or `:` as in programs and settings.
    Loose,
    /// A space after an option: `--password x`. Sentences have this form too.
    Option,
    /// A parameter of a URL's query.
    Query,
}

/// Returns the value after the separator that ends at `from` if it is a secret.
pub(super) fn secret_value(text: &str, from: usize, name: Name, join: Join) -> Option<Cut> {
    let bytes = text.as_bytes();
    let at = past_blanks(bytes, from);
    let strong = name.kind == NameKind::Strong;
    let at = if strong { block::past_makers(text, at) } else { at };
    if let Some(cut) = block::below(text, at, name) {
        return Some(cut);
    }
    let value = Value::read(bytes, at, name, join)?;
    if let Some((whole, end)) = block::pieces(text, value.start, value.end).filter(|_| strong && value.quoted) {
        let held = Held { quoted: true, joined: true, set: name.screams };
        let likely = is_secret(&whole, name, join, true) && !is_placeholder(&whole, &text[name.start..from], held);
        return likely.then_some(Cut { start: value.start, end, kind: "secret" });
    }
    let secret = &text[value.start..value.end];
    let kind = if name.kind == NameKind::Account { "account" } else { "secret" };
    let cut = Cut { start: value.start, end: value.end, kind };
    if value.end - value.start > MAX_JUDGED_BYTES {
        return is_long_secret(value.start, text.as_bytes(), name, join).then_some(cut);
    }
    let word = &text[name.start..from];
    let quoted = value.quoted;
    let held = Held { quoted, joined: quoted || join != Join::Loose, set: name.screams && join == Join::Tight };
    let likely = !value.called && (is_secret(secret, name, join, quoted) || is_line(text, &value, name, join));
    (likely && !is_placeholder(secret, word, held)).then_some(cut)
}

/// Skips spaces, tabs and one colour sequence.
pub(super) fn past_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = |from: usize| {
        from + bytes[from..].iter().take(MAX_BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    };
    let mut at = blanks(from);
    if bytes[at..].starts_with(b"\x1b[") {
        let sequence = bytes[at + 2..].iter().take(MAX_BLANKS).position(|byte| *byte == b'm');
        at = sequence.map_or(at, |length| blanks(at + 2 + length + 1));
    }
    at
}

/// The position of a value and how it is written.
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
    /// A bracket follows: a call, an index or a type.
    called: bool,
}

impl Value {
    fn read(bytes: &[u8], at: usize, name: Name, join: Join) -> Option<Self> {
        // `b"…"`, `$'…'`: a letter before the quote.
        let marked = matches!(bytes.get(at), Some(b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'@' | b'$'))
            && matches!(bytes.get(at + 1), Some(b'"' | b'\''));
        let at = at + usize::from(marked);
        let slashes = bytes[at..].iter().take(7).take_while(|byte| **byte == b'\\').count();
        // ODBC puts a value in braces.
        if bytes.get(at) == Some(&b'{') && bytes[name.start..at].to_ascii_lowercase().ends_with(b"pwd=") {
            let window = &bytes[at..bytes.len().min(at + MAX_SPOKEN_BYTES)];
            let end = at + memchr::memchr(b'}', window).filter(|end| *end > 1)?;
            let ends = matches!(bytes.get(end + 1), None | Some(b';' | b'"' | b'\'' | b'\n'));
            return ends.then_some(Self { start: at + 1, end, quoted: true, called: false });
        }
        match bytes.get(at + slashes) {
            Some(quote @ (b'"' | b'\'' | b'`')) => Self::quoted(bytes, at + slashes, *quote, slashes, name),
            _ if slashes == 0 => Some(Self::bare(bytes, at, name, join)),
            _ => None,
        }
    }

    /// Reads the text between two quotes that are each escaped by `slashes` backslashes.
    fn quoted(bytes: &[u8], open: usize, quote: u8, slashes: usize, name: Name) -> Option<Self> {
        let mut start = open + 1;
        while bytes.get(start) == Some(&quote) && start < open + 3 {
            start += 1;
        }
        let mut spoken = false;
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            let escapes = bytes[at..].iter().take(8).take_while(|byte| **byte == b'\\').count();
            if escapes > 0 {
                let next = bytes.get(at + escapes).copied();
                // A quote with at most as many backslashes as the opening one closes; with more it belongs to the
                // value.
                if (next == Some(quote) && escapes <= slashes) || matches!(next, Some(b'n' | b'r' | b't')) {
                    break;
                }
                at += escapes + usize::from(next.is_some_and(|next| next.is_ascii()));
                continue;
            }
            match byte {
                _ if byte == quote && slashes == 0 => break,
                b'\n' | b'\r' => break,
                b' ' | b'\t' => spoken = true,
                _ => {}
            }
            if at - start > MAX_JUDGED_BYTES && spoken {
                return None;
            }
            at += 1;
            if at - start > MAX_JUDGED_BYTES && bytes.get(at).is_some_and(|byte| byte.is_ascii_whitespace()) {
                break;
            }
        }
        let ends = bytes.get(at).is_none_or(|byte| *byte == quote || *byte == b'\\');
        let fits = !spoken || (name.spoken && at - start <= MAX_SPOKEN_BYTES && at < bytes.len());
        let end = floor(bytes, at);
        (ends && fits && end > start).then_some(Self { start, end, quoted: true, called: false })
    }

    /// Reads a value without quotes.
    fn bare(bytes: &[u8], start: usize, name: Name, join: Join) -> Self {
        // In an environment file a value extends to the end of its line, whatever it contains.
        let lined = name.kind == NameKind::Strong && begins_line(bytes, name.start);
        let whole = join == Join::Tight && name.screams && begins_line(bytes, name.start);
        let part = |byte: u8| match byte {
            b'"' | b'\'' | b'`' | b'<' | b'>' | b';' | b'\\' => false,
            b',' | b'[' | b']' | b'{' | b'}' | b'(' | b')' | b'&' | b'|' => whole,
            b'#' => join != Join::Query,
            _ => !byte.is_ascii_whitespace() && !byte.is_ascii_control(),
        };
        // A longer value that is not a secret is not read to its end.
        let mut most = start + MAX_JUDGED_BYTES;
        let mut end = start;
        while let Some(&byte) = bytes.get(end).filter(|_| end <= most) {
            if part(byte) || (end > start && lined && goes_on(bytes, end, whole)) {
                end += 1;
            } else if let Some(next) =
                past_break(bytes, end).filter(|next| bytes.get(*next).is_some_and(|next| part(*next)))
            {
                end = next;
            } else if bytes[end..].starts_with(b"\\/") {
                end += 2;
            } else if bytes[end..].starts_with(b"\\u003d") {
                end += 6;
            } else {
                break;
            }
            if end > most && is_long_secret(start, bytes, name, join) {
                most = usize::MAX;
            }
        }
        // The limit counts bytes; a character has up to four.
        if end > most {
            end = floor(bytes, end);
        }
        // Punctuation that ends a sentence or a list is not part of the value.
        while end > start && matches!(bytes[end - 1], b'.' | b',' | b')' | b':') {
            end -= 1;
        }
        let called = !whole && matches!(bytes.get(end), Some(b'(' | b'[' | b'{')) || bytes[end..].starts_with(b"::");
        Self { start, end, quoted: false, called }
    }
}

/// True if the value continues after a character that might end it: up to the end of the line, and not with another
/// name.
fn goes_on(bytes: &[u8], at: usize, whole: bool) -> bool {
    let stops = |byte: &u8| byte.is_ascii_whitespace() || b":=()".contains(byte);
    let rest = &bytes[at + 1..bytes.len().min(at + 1 + MAX_REST_BYTES)];
    let end = rest.iter().position(stops);
    let ends = end.map_or(rest.len() < MAX_REST_BYTES, |end| matches!(rest[end], b'\n' | b'\r'));
    let rest = &rest[..end.unwrap_or(rest.len())];
    let parts = |byte| matches!(byte, b',' | b';' | b'<' | b'\'' | b'"') && (whole || matches!(byte, b',' | b';'));
    parts(bytes[at])
        && ends
        && rest.first().is_some_and(|byte| is(*byte, ALNUM))
        && rest.iter().any(|byte| is(*byte, DIGIT))
}

/// Skips what may interrupt a word: a colour sequence, or a backslash at the end of a line.
fn past_break(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"\\\n") {
        return Some(at + 2);
    }
    let body =
        rest.strip_prefix(b"\x1b[")?.iter().take(MAX_BLANKS * 3).take_while(|byte| matches!(byte, 0x30..=0x3f)).count();
    (rest.get(body + 2) == Some(&b'm')).then_some(at + body + 3)
}

/// True if a name is the first on its line, or follows `export`, `ENV` and the like.
fn begins_line(bytes: &[u8], start: usize) -> bool {
    let before = &bytes[start.saturating_sub(16)..start];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    matches!(line, b"" | b"+" | b"-" | b">" | b"export" | b"ENV" | b"ARG" | b"set" | b"declare -x" | b"+export" | b"-e")
}

/// True if a value that is too long to judge whole is a secret. Prose without spaces is not.
fn is_long_secret(start: usize, bytes: &[u8], name: Name, join: Join) -> bool {
    let head = &bytes[start..start + MAX_JUDGED_BYTES];
    match name.kind {
        NameKind::Strong if join == Join::Tight => true,
        NameKind::Strong | NameKind::Weak | NameKind::Pass => {
            head.iter().filter(|byte| byte.is_ascii()).count() * 2 > head.len()
        }
        NameKind::Signed | NameKind::Code => join == Join::Query && is_random(head),
        _ => false,
    }
}

/// True if a value is a secret, judged by its name and its form.
fn is_secret(value: &str, name: Name, join: Join, quoted: bool) -> bool {
    let bytes = value.as_bytes();
    let length = bytes.len();
    match name.kind {
        NameKind::Strong => is_chosen(bytes, name, join, quoted),
        NameKind::Weak | NameKind::Pass if name.screams && join == Join::Tight => is_chosen(bytes, name, join, quoted),
        NameKind::Pass if quoted => is_chosen(bytes, name, join, quoted) && !is_words(bytes),
        NameKind::Weak | NameKind::Signed | NameKind::Pass if join == Join::Query => {
            length >= MIN_WORD_CHARS && bytes.iter().any(|byte| is(*byte, DIGIT))
        }
        NameKind::Weak | NameKind::Pass => {
            let joined = matches!(join, Join::Tight | Join::Option);
            (length >= MIN_WEAK_CHARS && is_random(bytes))
                || (joined && is_tight(bytes, quoted))
                || (length >= MIN_TIGHT_CHARS && is_respelled(bytes))
                || (name.kind == NameKind::Pass && length >= MIN_TIGHT_CHARS && is_numbered(bytes))
        }
        NameKind::Pin => {
            let joined = quoted || matches!(join, Join::Tight | Join::Query);
            joined && PIN_DIGITS.contains(&length) && bytes.iter().all(|byte| is(*byte, DIGIT))
        }
        NameKind::Faint => length >= MIN_FAINT_CHARS && is_random(bytes) && !is_uuid(bytes),
        NameKind::Account => {
            value.contains('@') || (length >= MIN_FAINT_CHARS && bytes.iter().any(|byte| is(*byte, DIGIT)))
        }
        NameKind::Code => join == Join::Query && length >= MIN_WEAK_CHARS && is_random(bytes),
        NameKind::Carrier
        | NameKind::Auth
        | NameKind::Email
        | NameKind::Signed
        | NameKind::Authorization
        | NameKind::Cookie
        | NameKind::Putty
        | NameKind::Open => false,
    }
}

/// True if a value after `token=` looks chosen: letters, and digits that are more than a counter.
fn is_tight(value: &[u8], quoted: bool) -> bool {
    let digits = value.iter().filter(|byte| is(**byte, DIGIT)).count();
    let letters = value.iter().any(|byte| is(*byte, LOWER | UPPER));
    value.len() >= MIN_TIGHT_CHARS && digits >= 2 && letters && !is_words(value) && (quoted || !is_code(value, false))
}

/// True if a value is one lowercase word alone at the end of a settings line: `KEYSTORE_PASSWORD: abcdefgh`.
fn is_line(text: &str, value: &Value, name: Name, join: Join) -> bool {
    let secret = &text.as_bytes()[value.start..value.end];
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['\n', '\r', '"']) || rest.starts_with("\\n");
    name.kind == NameKind::Strong
        && name.screams
        && name.spoken
        && join == Join::Loose
        && secret.len() >= MIN_WORD_CHARS
        && secret.iter().all(|byte| is(*byte, LOWER))
        && ends(&text[value.end..])
}

/// True if a value may be a chosen password or an issued key, rather than the name of a variable.
fn is_chosen(value: &[u8], name: Name, join: Join, quoted: bool) -> bool {
    let joined = matches!(join, Join::Tight | Join::Query);
    let letter = |byte: &u8| is(*byte, LOWER | UPPER) || *byte >= 0x80 || matches!(byte, b'_' | b'.' | b':' | b'-');
    let letters = value.iter().all(letter);
    let word = value.iter().all(|byte| is(*byte, LOWER));
    let number = value.iter().all(|byte| is(*byte, DIGIT) || *byte == b'.');
    // Environment assignments hold no code.
    if letters && name.screams && join == Join::Tight {
        return value.len() >= MIN_VALUE_CHARS;
    }
    // A word in another script is a label or prose, as in a table of translations: `"password": "Пароль"`.
    let label = !joined && !value.is_ascii();
    if letters {
        return value.len() >= MIN_WORD_CHARS && ((quoted && !label) || (joined && word));
    }
    let set = name.screams && join == Join::Tight;
    value.len() >= MIN_VALUE_CHARS && (!number || quoted || joined) && (quoted || !is_code(value, set))
}

/// True if an unquoted value reads as code: `user.password2`, `a?.b1`, `Kind::A1`. In environment assignments code is
/// rare and passwords look like it: `Winter25.Snow`.
fn is_code(value: &[u8], set: bool) -> bool {
    let mut bytes = value.iter().peekable();
    let mut joined = false;
    while let Some(byte) = bytes.next() {
        let next = bytes.peek().copied();
        let fits = match byte {
            b'?' | b'!' => next == Some(&b'.'),
            b'.' | b':' => {
                joined = true;
                next.is_some()
            }
            byte => byte.is_ascii_alphanumeric() || *byte == b'_',
        };
        if !fits {
            return false;
        }
    }
    let digits = value.iter().filter(|byte| is(**byte, DIGIT)).count();
    let has_year = value.windows(4).any(|four| four.iter().all(|byte| is(*byte, DIGIT)));
    let signs = memchr::memmem::find(value, b"::").is_some() || memchr::memmem::find(value, b"?.").is_some();
    let likely = !set || signs || (digits <= 1 && value.first().is_some_and(|byte| is(*byte, LOWER)));
    joined && value.first().is_some_and(|byte| is(*byte, LOWER | UPPER)) && !is_random(value) && !has_year && likely
}
