//! Escapes a session's text for notes: one line, and nothing but text.
//!
//! A transcript may contain anything: headings, fences, comments that look like Baton's markers, links, tags, the end
//! of a frontmatter. Text in a note passes [`line()`], so that none of it has an effect there.

use baton_conversation::filter::without_colours;
use baton_episode::digest::sentences_within;
use baton_episode::handoff::is_unseen;
use baton_redaction::redact;

/// Puts a text on one line of at most `chars` characters before escaping: without secrets, colour codes and invisible
/// characters, and with everything escaped that Markdown or Obsidian would interpret. Code in single backticks stays
/// code.
pub fn line(text: &str, chars: usize) -> String {
    escaped(&plain_line(text, chars))
}

/// The same for frontmatter, which has its own quoting; Obsidian follows links there too.
pub fn property(text: &str, chars: usize) -> String {
    plain_line(text, chars).replace("[[", "[ [").replace("]]", "] ]")
}

/// The same without escaping.
fn plain_line(text: &str, chars: usize) -> String {
    let seen = text.replace(is_unseen, "");
    sentences_within(&redact(&without_colours(&seen)), chars)
}

/// Formats a path or another name as code: `` `src/auth.rs` ``.
pub fn code(text: &str, chars: usize) -> String {
    // Some programs look for links in code, too.
    let text = plain_line(text, chars).replace('`', "'").replace("[[", "[ [").replace("]]", "] ]");
    if text.is_empty() { text } else { format!("`{text}`") }
}

/// Returns the text of a link, without characters that would end the link.
pub fn alias(text: &str, chars: usize) -> String {
    plain_line(text, chars).replace(['[', ']', '|', '<', '>', '`', '#', '^', '*', '\\', '%'], " ").trim().to_owned()
}

/// Escapes one line.
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
            if is_markup(before, c, next, out.is_empty()) {
                out.push('\\');
            }
            out.push(c);
        }
        before = c;
    }
    numbered(out)
}

/// Returns true if a character would be interpreted at its position.
fn is_markup(before: char, c: char, next: char, is_first: bool) -> bool {
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

/// Escapes `1. First` at the beginning of a line, which would be a list.
fn numbered(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}
