//! Command lines: where a command starts, and its words. Every position returned is a character boundary.

use super::alphabet::floor;

/// How much of a command is read from a position on, in bytes.
const MAX_COMMAND_BYTES: usize = 2_000;
/// Longest word that is read, in bytes.
const MAX_WORD_BYTES: usize = 512;

/// Finds where commands start in one pass over a text.
#[derive(Default)]
pub(super) struct Commands {
    /// The text was searched up to here.
    seen: usize,
    /// Start of the command that contains this position.
    start: usize,
}

impl Commands {
    /// Returns the start of the command that contains `at`. Positions should grow from call to call; a smaller one
    /// restarts the search.
    pub(super) fn start_of(&mut self, bytes: &[u8], at: usize) -> usize {
        if at < self.seen {
            *self = Self::default();
        }
        let ends = |place: &usize| match bytes[*place] {
            b'\n' => *place == 0 || bytes[*place - 1] != b'\\',
            b';' | b'|' | b'`' => true,
            b'&' => *place > 0 && bytes[*place - 1] == b'&',
            b'(' => *place > 0 && bytes[*place - 1] == b'$',
            _ => false,
        };
        if let Some(end) = (self.seen..at).rev().find(ends) {
            self.start = end + 1;
        }
        self.seen = at;
        self.start
    }
}

/// Returns the rest of the line from `at`, including lines continued by a backslash. Empty if `at` is not a character
/// boundary.
pub(super) fn line(text: &str, at: usize) -> &str {
    let bytes = text.as_bytes();
    let end = floor(bytes, bytes.len().min(at + MAX_COMMAND_BYTES));
    let rest = text.get(at..end).unwrap_or_default();
    let ends = |end: &usize| !rest.as_bytes()[..*end].ends_with(b"\\");
    &rest[..memchr::memchr_iter(b'\n', rest.as_bytes()).find(ends).unwrap_or(rest.len())]
}

/// True if the byte ends a command or its arguments.
fn ends_command(byte: u8) -> bool {
    matches!(byte, b';' | b'|' | b'&' | b'>' | b'<')
}

/// Returns the words of the command from `from` to its end, without their quotes, at most `most` of them.
pub(super) fn words(text: &str, from: usize, most: usize) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let end = from + line(text, from).len();
    let mut words = Vec::new();
    let mut at = from;
    while words.len() < most {
        at += bytes[at..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if bytes[at..end].starts_with(b"\\\n") {
            at += 2;
            continue;
        }
        if bytes[at..end].first().is_none_or(|byte| ends_command(*byte)) {
            break;
        }
        // A share name starts with a backslash, which ends other words.
        let (start, last) = word(text, at).unwrap_or((at, at));
        let closes = |byte: &&u8| start > at && matches!(**byte, b'\\' | b'"' | b'\'');
        let tail = last.min(end) + bytes[last.min(end)..end].iter().take_while(closes).count();
        let rest = |byte: &&u8| !byte.is_ascii_whitespace() && !ends_command(**byte);
        at = tail + bytes[tail..end].iter().take_while(rest).count();
        words.push(if last > start { (start, last) } else { (start, at) });
    }
    words
}

/// Returns the start and end of the word at `at`, without its quotes.
pub(super) fn word(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if !text.is_char_boundary(at) {
        return None;
    }
    let slashes = bytes[at..].iter().take(4).take_while(|byte| **byte == b'\\').count();
    let quote = bytes.get(at + slashes).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let start = if quote.is_some() { at + slashes + 1 } else { at };
    let window = &bytes[start..bytes.len().min(start + MAX_WORD_BYTES)];
    let ends = |place: usize, byte: u8| match quote {
        Some(quote) => {
            let before = || window[..place].iter().rev().take_while(|byte| **byte == b'\\').count();
            byte == b'\n' || (byte == quote && (quote == b'\'' || before() <= slashes))
        }
        None => byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'\\') || ends_command(byte),
    };
    let mut end = window.iter().enumerate().position(|(place, byte)| ends(place, *byte)).unwrap_or(window.len());
    while quote.is_some() && slashes > 0 && end > 0 && window[end - 1] == b'\\' {
        end -= 1;
    }
    let end = floor(bytes, start + end);
    (end > start).then_some((start, end))
}
