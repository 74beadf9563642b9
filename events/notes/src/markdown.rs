//! Words of a session as they may stand in a note: on one line, and nothing but words.
//!
//! A transcript may hold anything: headings, fences, comments that look like Baton's markers, links, tags, the end of a
//! frontmatter. What is told in a note passes [`line()`], so that none of it does anything there.

use baton_conversation::filter::without_colours;
use baton_episode::digest::sentences_within;
use baton_episode::handoff::is_unseen;
use baton_redaction::redact;

/// A text on one line, at most so many characters before it is escaped: without secrets, colours and letters that nobody
/// sees, and with everything escaped that Markdown or Obsidian would take for more than words. Code between single
/// backticks stays code.
pub fn line(text: &str, chars: usize) -> String {
    escaped(&plain(text, chars))
}

/// The same words for frontmatter, which has quotes of its own; Obsidian follows links there too.
pub fn property(text: &str, chars: usize) -> String {
    plain(text, chars).replace("[[", "[ [").replace("]]", "] ]")
}

/// The same words without escapes.
fn plain(text: &str, chars: usize) -> String {
    let seen = text.replace(is_unseen, "");
    sentences_within(&redact(&without_colours(&seen)), chars)
}

/// A path or another name as code: `` `src/auth.rs` ``.
pub fn code(text: &str, chars: usize) -> String {
    // Links are looked for in code too by some programs.
    let text = plain(text, chars).replace('`', "'").replace("[[", "[ [").replace("]]", "] ]");
    if text.is_empty() { text } else { format!("`{text}`") }
}

/// What a link shows instead of its target: without what would end the link.
pub fn alias(text: &str, chars: usize) -> String {
    plain(text, chars).replace(['[', ']', '|', '<', '>', '`', '#', '^', '*', '\\', '%'], " ").trim().to_owned()
}

/// One line of words, escaped.
fn escaped(text: &str) -> String {
    let code_is_whole = !text.contains("``") && text.matches('`').count().is_multiple_of(2) && !text.contains("[[");
    let mut out = String::with_capacity(text.len() + 8);
    let mut in_code = false;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        if c == '`' && code_is_whole {
            in_code = !in_code;
            out.push(c);
        } else if in_code {
            out.push(c);
        } else {
            if does_something(before, c, next, out.is_empty()) {
                out.push('\\');
            }
            out.push(c);
        }
        before = c;
    }
    numbered(out)
}

/// Whether a character means something where it stands, and must not.
fn does_something(before: char, c: char, next: char, is_first: bool) -> bool {
    match c {
        '\\' | '*' | '[' | ']' | '<' | '`' | '^' | '$' | '|' => true,
        '_' => !(before.is_alphanumeric() && next.is_alphanumeric()),
        '#' => next.is_alphanumeric() || is_first || next == '#',
        '&' => next.is_alphabetic() || next == '#',
        '~' | '=' | '%' => next == c || before == c || is_first,
        '-' | '+' | '>' | ':' => is_first,
        _ => false,
    }
}

/// `1. First` at the beginning of a line is a list.
fn numbered(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}
