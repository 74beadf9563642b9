//! Headers that authenticate a request: `Authorization`, `Cookie`, as written by a protocol, a program or a log.

use super::Cut;
use super::alphabet::{ALNUM, DIGIT, DOT, HYPHEN, LOWER, PLUS, TOKEN, UNDERSCORE, UPPER, is, run_end};
use super::assignment::past_blanks;
use super::placeholder::{Held, is_placeholder};
use super::randomness::is_random;
use super::{MIN_KEY_CHARS, past_word};
use baton_words::WordList;

/// Authentication schemes, in lowercase.
static SCHEMES: WordList = WordList::new(crate::WORDS, "schemes");
/// Shortest credential after a known scheme, in characters.
const MIN_CREDENTIAL_CHARS: usize = 6;
/// Shortest cookie value that may be a secret, in characters.
const MIN_COOKIE_CHARS: usize = 8;
/// Cookie attributes without a value.
const FLAGS: &[&str] = &["HttpOnly", "Secure", "Partitioned"];
/// Longest expiry date of a cookie, in bytes.
const MAX_DATE_BYTES: usize = 32;
/// How far into a header a cookie of [`MIN_COOKIE_CHARS`] or more is sought, in bytes.
const MAX_JUDGED_BYTES: usize = 512;

/// Returns the credential after `Authorization:`, behind a scheme or alone.
pub(super) fn authorization(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let scheme = past_quotes(bytes, from);
    let end = run_end(bytes, scheme, ALNUM | HYPHEN);
    let known = SCHEMES.iter().any(|name| bytes[scheme..end].eq_ignore_ascii_case(name.as_bytes()));
    let (start, least) = if known {
        let start = past_blanks(bytes, end);
        if start == end {
            return None;
        }
        (start, MIN_CREDENTIAL_CHARS)
    } else {
        (scheme, MIN_KEY_CHARS)
    };
    if bytes[scheme..end].eq_ignore_ascii_case(b"digest") {
        return digest(bytes, start);
    }
    let end = credential_end(bytes, start);
    let credential = &bytes[start..end];
    let plausible = if known { !is_word(credential) } else { is_random(credential) };
    (credential.len() >= least && plausible && !is_placeholder(&text[start..end], "", Held::FIRMLY)).then(|| Cut {
        start,
        end: past_word(text, end),
        kind: "authorization",
    })
}

/// Returns the response to a digest challenge, from which the password can be guessed.
fn digest(bytes: &[u8], from: usize) -> Option<Cut> {
    const NAME: &[u8] = b"response=";
    let window = &bytes[from..bytes.len().min(from + MAX_JUDGED_BYTES)];
    let line = window.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let start = past_quotes(bytes, from + memchr::memmem::find(line, NAME)? + NAME.len());
    let end = run_end(bytes, start, ALNUM);
    (end - start >= MIN_KEY_CHARS).then_some(Cut { start, end, kind: "authorization" })
}

/// `Bearer X` outside a header, where X can only be a token.
pub(super) fn bearer(text: &str, start: usize, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    if start.checked_sub(1).is_some_and(|at| bytes[at].is_ascii_alphanumeric()) {
        return None;
    }
    let value = past_blanks(bytes, end);
    let end = credential_end(bytes, value);
    let plausible = end - value >= MIN_KEY_CHARS && bytes[value..end].iter().any(|byte| is(*byte, DIGIT));
    plausible.then(|| Cut { start: value, end: past_word(text, end), kind: "authorization" })
}

/// Returns the pairs and attributes after `Cookie:` or `Set-Cookie:`, joined by `;`. Text of a sentence that follows is
/// not included.
pub(super) fn cookie(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let start = past_quotes(bytes, from);
    let name = run_end(bytes, start, ALNUM | UNDERSCORE | HYPHEN | DOT);
    if name == start || bytes.get(name) != Some(&b'=') || bytes.get(name + 1) == Some(&b'=') {
        return None;
    }
    let mut end = start;
    let mut judged = false;
    let mut next = start;
    while let Some((value, last)) = pair(bytes, next) {
        let within = value - start < MAX_JUDGED_BYTES;
        judged |= last - value >= MIN_COOKIE_CHARS && within;
        if !judged && !within {
            return None;
        }
        end = last;
        let joint = past_blanks(bytes, last);
        if bytes.get(joint) != Some(&b';') {
            break;
        }
        next = past_blanks(bytes, joint + 1);
    }
    judged.then_some(Cut { start, end, kind: "cookie" })
}

/// Returns the start and end of the value in the pair at `from`: `sid=x`, `HttpOnly`, `Expires=` with a date.
fn pair(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let name = run_end(bytes, from, ALNUM | UNDERSCORE | HYPHEN | DOT);
    let is = |known: &str| bytes[from..name].eq_ignore_ascii_case(known.as_bytes());
    if bytes.get(name) != Some(&b'=') {
        return FLAGS.iter().any(|flag| is(flag)).then_some((name, name));
    }
    if name == from {
        return None;
    }
    let value = name + 1;
    let part = |byte: &&u8| {
        !byte.is_ascii_whitespace()
            && !matches!(**byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'{' | b'[' | b'$' | b'(' | b';')
    };
    let date = is("expires").then(|| {
        let window = &bytes[value..bytes.len().min(value + MAX_DATE_BYTES)];
        memchr::memmem::find(window, b" GMT").map(|length| value + length + 4)
    });
    let mut end = match date.flatten() {
        Some(end) => end,
        None => value + bytes[value..].iter().take_while(part).count(),
    };
    while end > value && matches!(bytes[end - 1], b'.' | b',' | b')') {
        end -= 1;
    }
    Some((value, end))
}

/// Skips spaces, quotes, backslashes, `=` and `>`, at most ten of them.
fn past_quotes(bytes: &[u8], from: usize) -> usize {
    let quote = |byte: &&u8| matches!(**byte, b'"' | b'\'' | b'`' | b'\\' | b' ' | b'\t' | b'=' | b'>');
    from + bytes[from..].iter().take(10).take_while(quote).count()
}

/// Returns the end of the characters that a credential in a header may contain. Brackets are not among them, so neither
/// a redaction mark nor a placeholder is taken for a credential.
fn credential_end(bytes: &[u8], from: usize) -> usize {
    let mut end = from;
    loop {
        end = run_end(bytes, end, TOKEN);
        match bytes.get(end) {
            Some(b':' | b'|' | b'%' | b'!' | b'*') => end += 1,
            _ if bytes[end..].starts_with(b"\\/") => end += 2,
            _ => break,
        }
    }
    while end > from && matches!(bytes[end - 1], b'.' | b':' | b'|') {
        end -= 1;
    }
    end
}

/// True if the value is a word of a sentence: `Basic authentication`, `bearer tokens`.
fn is_word(credential: &[u8]) -> bool {
    let rest = credential.get(1..).unwrap_or_default();
    credential.iter().all(|byte| is(*byte, LOWER | UPPER | HYPHEN | PLUS))
        && rest.iter().all(|byte| is(*byte, LOWER | HYPHEN))
}
