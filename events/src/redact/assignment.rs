//! Assignments whose name says that the value is a secret: `password=…`, `"api_key": "…"`, `DB_SECRET: …`.

use super::{Cut, MARK, run_end};

/// Shortest value that counts as a secret, in characters.
const MIN_VALUE_CHARS: usize = 8;
/// The same where the name alone is a weak sign (`token`).
const MIN_STRICT_VALUE_CHARS: usize = 16;
/// How much of a value is looked at to judge it, in bytes; a longer one is cut whole.
const MAX_JUDGED_BYTES: usize = 512;

/// What may stand between the word and the separator: the rest of the name.
const NAME_ENDS: &[&str] = &["_access_key", "_key_base", "_key", "key", "_value", "s"];

/// Values that say "put yours here", or that are code reading a value from elsewhere; compared in lower case.
const PLACEHOLDERS: &[&str] = &[
    "your",
    "my_",
    "my-",
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "xxx",
    "***",
    "...",
    "insert",
    "enter",
    "todo",
    "dummy",
    "process.env",
    "os.environ",
    "os.getenv",
    "env.",
    "env:",
    "secrets.",
    "self.",
    "this.",
    "config.",
    "settings.",
    "options.",
    "props.",
    "params.",
    "args.",
    "req.",
    "request.",
    "undefined",
    "required",
    "optional",
    "string",
    "http://",
    "https://",
    "./",
    "~/",
];

/// The value assigned to the name that the word at `start..end` belongs to, if it looks like a secret.
///
/// `strict` is for words that mostly name harmless things.
pub(super) fn value(text: &str, start: usize, end: usize, strict: bool) -> Option<Cut> {
    let separated = if text.as_bytes()[end - 1] == b'=' { end - 1 } else { name_end(text, end) };
    let (value, tight) = after_separator(text, separated)?;
    let bytes = text.as_bytes();
    let quote = bytes.get(value).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let escaped = bytes[value..].starts_with(b"\\\"");
    let first = value + if escaped { 2 } else { usize::from(quote.is_some()) };
    let part = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'`,;<>[]{}()\\&|".contains(&byte);
    let window = &bytes[first..bytes.len().min(first + MAX_JUDGED_BYTES)];
    let judged = first + window.iter().take_while(|byte| part(**byte)).count();
    if judged - first == MAX_JUDGED_BYTES {
        return Some(Cut { start: first, end: run_end(text, first, part), kind: "secret" });
    }
    let secret = &text[first..judged];
    let quoted = escaped || quote.is_some();
    if quoted && !matches!(bytes.get(judged), Some(b'"' | b'\'' | b'`' | b'\\')) {
        return None;
    }
    let called = matches!(bytes.get(judged), Some(b'(' | b'[' | b'{'));
    let shell = &text[start..end];
    let likely = !called
        && !is_placeholder(secret, shell)
        && if strict { is_random(secret) } else { is_secret(secret, quoted, tight) };
    likely.then_some(Cut { start: first, end: judged, kind: "secret" })
}

/// The end of the name, when what follows the word still is one.
fn name_end(text: &str, end: usize) -> usize {
    let rest = &text.as_bytes()[end..];
    let known = NAME_ENDS.iter().find(|name| {
        rest.get(..name.len()).is_some_and(|here| here.eq_ignore_ascii_case(name.as_bytes()))
            && !rest.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
    });
    end + known.map_or(0, |name| name.len())
}

/// Where the value begins after `=`, `:`, `=>` or `":`, and whether nothing but `=` stands between.
fn after_separator(text: &str, from: usize) -> Option<(usize, bool)> {
    let bytes = text.as_bytes();
    let mut at = from;
    if bytes[at..].starts_with(b"\\\"") {
        at += 2;
    } else if matches!(bytes.get(at), Some(b'"' | b'\'' | b'`' | b']')) {
        at += 1;
    }
    at = spaces(text, at);
    match bytes.get(at)? {
        b'=' | b':' => at += 1,
        _ => return None,
    }
    // `==`, `!=`, `::` and `:=` compare, qualify or define; only the last assigns.
    match bytes.get(at) {
        Some(b'=' | b':') if bytes[at - 1] == bytes[at] => return None,
        Some(b'=' | b'>') => at += 1,
        _ => {}
    }
    let tight = at == from + 1 && bytes[from] == b'=';
    Some((spaces(text, at), tight))
}

/// The end of at most 8 blanks: aligned tables have more, secrets do not stand behind them.
fn spaces(text: &str, from: usize) -> usize {
    from + text.as_bytes()[from..].iter().take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn is_placeholder(value: &str, word: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let letters = value.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.'));
    let uniform = value.bytes().all(|byte| Some(byte) == value.bytes().next());
    value.starts_with(['$', '%', '@'])
        || value.starts_with(MARK)
        || uniform
        || PLACEHOLDERS.iter().any(|start| lower.starts_with(start))
        || (letters && lower.contains(word.trim_end_matches('=').to_ascii_lowercase().as_str()))
        || (value.starts_with('/') && value.matches('/').count() > 1)
}

fn is_secret(value: &str, quoted: bool, tight: bool) -> bool {
    if value.len() < MIN_VALUE_CHARS {
        return false;
    }
    let identifier = value.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b':'));
    let plain_word = value.bytes().all(|byte| byte.is_ascii_lowercase());
    quoted || !identifier || (tight && plain_word)
}

fn is_random(value: &str) -> bool {
    value.len() >= MIN_STRICT_VALUE_CHARS
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.is_ascii()
}
