//! Values on the line below their names, split into pieces, or wrapped in a constructor: YAML blocks, the next line,
//! concatenated strings, `Some("x")`.

use super::Cut;
use super::alphabet::{ALNUM, DIGIT, UNDERSCORE, is, run_end, run_start};
use super::name::{Name, NameKind};
use super::password::{is_password, looks_chosen};
use super::placeholder::{Held, is_placeholder};
use super::randomness::is_words;
use baton_words::WordList;

/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 512;
/// Most lines of a block.
const MAX_LINES: usize = 64;
/// Most empty lines before a value.
const MAX_EMPTY: usize = 2;
/// Functions and constructors that wrap a secret given as text.
static MAKERS: WordList = WordList::new(crate::WORDS, "makers");

/// Returns the start of the text on the next non-empty line, after line ends, line numbers and code fences. `None` if
/// `at` is not at the end of its line.
fn next_line(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = at;
    for _ in 0..=MAX_EMPTY {
        end += bytes[end..].iter().take(4).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if bytes.get(end) != Some(&b'\n') {
            return None;
        }
        let mut start = end + 1;
        start += bytes[start..].iter().take(64).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let number = run_end(bytes, start, DIGIT);
        if number > start
            && let Some(mark) = ["→", "\t"].iter().find(|mark| text[number..].starts_with(**mark))
        {
            start = number + mark.len();
            start += bytes[start..].iter().take(64).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        }
        if bytes[start..].starts_with(b"```") {
            start = run_end(bytes, start + 3, ALNUM);
        }
        if !matches!(bytes.get(start), Some(b'\n' | b'\r')) {
            return (start < bytes.len()).then_some(start);
        }
        end = start;
    }
    None
}

/// Returns the end of the line that contains `at`, without trailing whitespace.
fn line_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let window = &bytes[at..bytes.len().min(at + MAX_VALUE_BYTES)];
    let end = memchr::memchr(b'\n', window).unwrap_or(window.len());
    let end = super::alphabet::floor(bytes, at + end);
    at + text[at..end].trim_end().len()
}

/// Returns the value below a name if the line ends at `at`, or holds only a block indicator there.
pub(super) fn below(text: &str, at: usize, name: Name) -> Option<Cut> {
    let bytes = text.as_bytes();
    let mark = bytes.get(at).copied();
    let block = matches!(mark, Some(b'|' | b'>'));
    let from = if block {
        at + 1 + bytes[at + 1..].iter().take(3).take_while(|byte| b"+-123456789".contains(byte)).count()
    } else {
        at
    };
    let from = if bytes[from..].starts_with(b"<<") { heredoc(bytes, from)? } else { from };
    if name.kind != NameKind::Strong || !(block || from > at || matches!(mark, Some(b'\n' | b'\r'))) {
        return None;
    }
    let sure = block || from > at;
    let first = next_line(text, from)?;
    let (mut start, mut end) = (first, line_end(text, first));
    let item = text[first..end].starts_with("- ");
    if item {
        start += 2;
    }
    let quoted = matches!(bytes.get(start), Some(b'"' | b'\'' | b'`'));
    let line = text[start..end].trim_end_matches([',', ';', ')']);
    let opened = line.trim_start_matches(['"', '\'', '`']);
    start += line.len() - opened.len();
    let value = opened.trim_end_matches(['"', '\'', '`']);
    end = start + value.len();
    let single = !value.contains([' ', '\t', '(', '{', '"']) && !value.ends_with(':') && !value.contains(": ");
    let held = Held { quoted, joined: sure || quoted, set: false };
    let likely = match (sure, quoted) {
        (true, _) => value.len() >= 6 && (looks_chosen(value) || !is_words(value.as_bytes())),
        (false, true) => looks_chosen(value),
        (false, false) => name.spoken && looks_chosen(value) && !value.contains(['=', '/']),
    };
    if !single || !likely || !is_password(value) || is_placeholder(value, &text[name.start..at], held) {
        return None;
    }
    // The remaining items of a list.
    for _ in 0..MAX_LINES {
        let Some(next) = next_line(text, line_end(text, end)).filter(|_| item) else { break };
        let last = line_end(text, next);
        let more = &text[next..last];
        if !more.starts_with("- ") || more[2..].contains([' ', ':']) {
            break;
        }
        end = last;
    }
    Some(Cut { start, end, kind: "secret" })
}

/// Returns the end of the line that opens a here-document in a script or a setting: `<<EOF`, `<<-'EOF'`.
fn heredoc(bytes: &[u8], at: usize) -> Option<usize> {
    let end = at
        + 2
        + bytes[at + 2..]
            .iter()
            .take(40)
            .take_while(|byte| is(**byte, ALNUM | UNDERSCORE) || b"-~'\"\\".contains(byte))
            .count();
    (end > at + 2 && bytes.get(end) == Some(&b'\n')).then_some(end)
}

/// Returns the start of the quoted text that `at` leads to, past a YAML tag or anchor and past wrapping constructors.
/// Returns `at` if there is none.
pub(super) fn past_makers(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut from = at;
    // `!!str x`, `&anchor x`
    if bytes[from..].starts_with(b"!!")
        || (bytes.get(from) == Some(&b'&') && bytes.get(from + 1).is_some_and(u8::is_ascii_alphabetic))
    {
        let end = run_end(bytes, from + if bytes[from] == b'!' { 2 } else { 1 }, ALNUM | UNDERSCORE);
        if bytes.get(end) == Some(&b' ') {
            from = end + 1;
        }
    }
    // `**Password:** x`
    if bytes[from..].starts_with(b"**") {
        from += 2 + bytes[from + 2..].iter().take(4).take_while(|byte| **byte == b' ').count();
    }
    for _ in 0..3 {
        let new = if bytes[from..].starts_with(b"new ") { from + 4 } else { from };
        let path = new
            + bytes[new..]
                .iter()
                .take(64)
                .take_while(|byte| is(**byte, ALNUM | UNDERSCORE) || matches!(byte, b'.' | b':' | b'!'))
                .count();
        if bytes.get(path) != Some(&b'(') {
            break;
        }
        let maker = &text[run_start(bytes, path, 40, ALNUM | UNDERSCORE)..path];
        if !MAKERS.contains(&maker) {
            break;
        }
        from = path + 1 + bytes[path + 1..].iter().take(40).take_while(|byte| byte.is_ascii_whitespace()).count();
    }
    // `N'x'` in SQL.
    if matches!(bytes.get(from), Some(b'N' | b'E')) && bytes.get(from + 1) == Some(&b'\'') {
        from += 1;
    }
    let slashes = bytes[from..].iter().take(4).take_while(|byte| **byte == b'\\').count();
    let quoted = matches!(bytes.get(from + slashes), Some(b'"' | b'\'' | b'`'));
    let tagged = from > at && bytes[from - 1] == b' ';
    if quoted || tagged { from } else { at }
}

/// Joins the pieces of a text that is concatenated from several quoted ones, and returns it with the end of the last
/// piece. `close` is the position of the quote that ends the first piece.
pub(super) fn pieces(text: &str, start: usize, close: usize) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(close).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let (mut joined, mut end) = (text[start..close].to_owned(), close);
    for _ in 0..8 {
        let joint = bytes[end + 1..]
            .iter()
            .take(80)
            .take_while(|byte| byte.is_ascii_whitespace() || b"+.\\&->".contains(byte))
            .count();
        let open = end + 1 + joint;
        if joint == 0 || bytes.get(open) != Some(&quote) {
            break;
        }
        let length =
            bytes[open + 1..].iter().take(MAX_VALUE_BYTES).position(|byte| matches!(byte, b'\n') || *byte == quote)?;
        if bytes[open + 1 + length] != quote {
            break;
        }
        joined.push_str(&text[open + 1..open + 1 + length]);
        end = open + 1 + length;
    }
    (end > close).then_some((joined, end))
}
