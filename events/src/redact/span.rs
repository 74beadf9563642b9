//! Secrets that stand between two marks: private passages, key blocks, headers, passwords in URLs.

use memchr::memmem;

use super::key::follows_word;
use super::{Cut, MAX_PEM_BYTES, MIN_KEY_CHARS, run_end};

/// Longest user name or password looked for in a URL, in bytes.
const MAX_USERINFO_BYTES: usize = 512;

/// A run of Base64 this long is part of a key wherever it ends, in characters; lines of a block have 64.
const SHORTEST_KEY_LINE: usize = 40;

/// A passage that a person marked private. Nested marks are closed one by one; an unclosed one reaches to the end.
pub(super) fn private(text: &str, start: usize, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    if !closes_name(bytes.get(end).copied()) {
        return None;
    }
    let mut depth = 1_u32;
    let mut at = end;
    while let Some(next) = memchr::memchr(b'<', &bytes[at..]) {
        let here = at + next;
        at = here + 1;
        if let Some(after) = named(bytes, here, b"<private") {
            depth += 1;
            at = after;
        } else if let Some(after) = named(bytes, here, b"</private") {
            depth -= 1;
            at = after;
        }
        if depth == 0 {
            let close = bytes[at..].iter().take(64).position(|byte| *byte == b'>');
            let end = close.map_or(at, |offset| at + offset + 1);
            return Some(Cut { start, end, kind: "private" });
        }
    }
    Some(Cut { start, end: text.len(), kind: "private" })
}

/// The place after a tag's name, if this tag is there.
fn named(bytes: &[u8], at: usize, name: &[u8]) -> Option<usize> {
    let after = at + name.len();
    let same = bytes.get(at..after)?.eq_ignore_ascii_case(name);
    (same && closes_name(bytes.get(after).copied())).then_some(after)
}

fn closes_name(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| byte == b'>' || byte == b'/' || byte.is_ascii_whitespace())
}

/// Where the next `-----END …` is: remembered, so that many beginnings look through the text once.
#[derive(Default)]
pub(super) struct NextEnd(Option<Option<usize>>);

impl NextEnd {
    fn after(&mut self, text: &str, from: usize) -> Option<usize> {
        if let Some(known) = self.0
            && known.is_none_or(|at| at >= from)
        {
            return known;
        }
        let found = memmem::find(&text.as_bytes()[from..], b"-----END ").map(|at| from + at);
        self.0 = Some(found);
        found
    }
}

/// A private key block, closed or torn.
pub(super) fn pem(text: &str, start: usize, end: usize, next_end: &mut NextEnd) -> Option<Cut> {
    let bytes = text.as_bytes();
    if !bytes[start..].starts_with(b"-----BEGIN ") {
        return None;
    }
    let label_end = run_end(text, end, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    if !text[end..label_end].contains("PRIVATE KEY") || !bytes[label_end..].starts_with(b"-----") {
        return None;
    }
    let body = label_end + "-----".len();
    let close = next_end.after(text, body).filter(|at| at - body <= MAX_PEM_BYTES);
    let end = match close {
        Some(at) => {
            let label = run_end(text, at + "-----END ".len(), |byte| byte.is_ascii_uppercase() || byte == b' ');
            run_end(text, label, |byte| byte == b'-')
        }
        None => torn_block_end(text, body),
    };
    Some(Cut { start, end, kind: "private_key" })
}

/// The end of what still looks like a key's body: lines of Base64, after headers such as `Proc-Type: 4,ENCRYPTED`.
fn torn_block_end(text: &str, body: usize) -> usize {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\');
    let mut end = body;
    loop {
        let line = run_end(text, end, |byte| byte.is_ascii_whitespace());
        if ["Proc-Type:", "DEK-Info:", "Comment:", "Version:"].iter().any(|name| text[line..].starts_with(name)) {
            end = memchr::memchr(b'\n', &text.as_bytes()[line..]).map_or(text.len(), |at| line + at);
            continue;
        }
        let run = run_end(text, line, base64);
        let ends_line = text.as_bytes().get(run).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        if run == line || !(ends_line || run - line >= SHORTEST_KEY_LINE) {
            return end;
        }
        end = run;
    }
}

/// What follows `Authorization:`, in a header, in JSON or in code.
pub(super) fn authorization(text: &str, end: usize) -> Option<Cut> {
    let separator = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b':' | b'=' | b' ' | b'\t' | b'\\');
    let scheme = run_end(text, end, separator);
    if scheme == end || scheme - end > 12 {
        return None;
    }
    let name_end = run_end(text, scheme, |byte| byte.is_ascii_alphabetic());
    let known = ["bearer", "basic", "token", "apikey", "digest"];
    if !known.iter().any(|name| text[scheme..name_end].eq_ignore_ascii_case(name)) {
        return None;
    }
    let start = run_end(text, name_end, |byte| byte == b' ');
    let end = run_end(text, start, is_credential);
    (start > name_end && end - start >= 6).then_some(Cut { start, end, kind: "authorization" })
}

/// `Bearer X` outside a header, with an X that can only be a token.
pub(super) fn bearer(text: &str, start: usize, end: usize) -> Option<Cut> {
    let value = run_end(text, end, |byte| byte == b' ');
    let value_end = run_end(text, value, is_credential);
    let token = &text[value..value_end];
    let plausible = token.len() >= MIN_KEY_CHARS && token.bytes().any(|byte| byte.is_ascii_digit());
    (plausible && !follows_word(text, start)).then_some(Cut { start: value, end: value_end, kind: "authorization" })
}

/// What a credential is made of in a header; no brackets, so that neither a mark nor a placeholder is one.
fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b':' | b'|')
}

/// The password of `scheme://user:password@host`.
pub(super) fn url_password(text: &str, end: usize) -> Option<Cut> {
    let part = |byte: u8| !byte.is_ascii_whitespace() && !b"/@:\"'`<>[]{}()\\,$*?#".contains(&byte);
    let bounded = |from: usize| {
        let window = &text.as_bytes()[from..text.len().min(from + MAX_USERINFO_BYTES)];
        from + window.iter().take_while(|byte| part(**byte)).count()
    };
    let user_end = bounded(end);
    if text.as_bytes().get(user_end) != Some(&b':') {
        return None;
    }
    let start = user_end + 1;
    let window = &text.as_bytes()[start..text.len().min(start + MAX_USERINFO_BYTES)];
    let inside = |byte: &&u8| !byte.is_ascii_whitespace() && !b"/@\"'`<>[]{}\\".contains(byte);
    let close = start + window.iter().take_while(inside).count();
    if text.as_bytes().get(close) != Some(&b'@') {
        return None;
    }
    let real = close > start && !text[start..].starts_with(['$', '%']);
    real.then_some(Cut { start, end: close, kind: "password" })
}
