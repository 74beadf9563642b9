//! Text of sessions made fit for the screen: without what steers a terminal, broken at words.
//!
//! # Decisions
//!
//! - Escape sequences are removed whole, because outputs of tools are full of colours; what is left of control and
//!   direction characters is replaced as everywhere else, so that a reader sees that something was there.

use baton_conversation::printable::printable_char;

use super::theme::Theme;
use crate::print::Marks;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

/// Columns of a tab.
const TAB: &str = "    ";
/// Most characters of one text that are drawn; the rest is told by its length.
const MOST_CHARS: usize = 20_000;
/// Marks of lists.
const LIST_MARKS: [&str; 3] = ["- ", "* ", "> "];

/// The text without escape sequences and control characters, as far as it is drawn; line breaks stay.
pub(super) fn clean(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST_CHARS) else { return clean_whole(text) };
    format!("{}… {} more characters", clean_whole(&text[..end]), text[end..].chars().count())
}

/// Like [`clean`], for a text of any length.
pub(super) fn clean_whole(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}' => {
                let kind = match c {
                    '\u{1b}' => rest.next_if(|next| matches!(next, '[' | ']' | 'P' | 'X' | '^' | '_' | '(' | ')')),
                    '\u{9b}' => Some('['),
                    _ => Some(']'),
                };
                match kind {
                    Some('[') => while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {},
                    Some('(' | ')') => {}
                    Some(_) => {
                        while rest.next_if(|next| !matches!(next, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n')).is_some() {}
                        rest.next_if(|next| *next == '\u{1b}');
                    }
                    None => {}
                }
                // The character that ends the sequence.
                rest.next_if(|next| !matches!(next, '\n' | '\u{1b}') && (kind.is_some() || next.is_ascii_graphic()));
            }
            '\n' => cleaned.push('\n'),
            '\t' => cleaned.push_str(TAB),
            '\r' => {}
            c => cleaned.push(printable_char(c)),
        }
    }
    cleaned
}

/// The text on one line.
pub(super) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text on one line, cut to a width.
pub(super) fn fitted(text: &str, width: usize) -> String {
    crate::print::one_line(&clean(text), width)
}

/// A clean text in lines of a width, broken at words. What continues a line is indented as its beginning is, list marks
/// included.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let hung = |line: &str| {
        let begin = line.len() - line.trim_start().len();
        let mark = LIST_MARKS.iter().find(|mark| line[begin..].starts_with(**mark)).map_or(0, |mark| mark.len());
        let indent = if begin + mark <= width / 2 { begin + mark } else { 0 };
        crate::print::wrapped(line, width, indent)
    };
    text.lines().flat_map(hung).collect()
}

/// A line in a style, with the marked places emphasised.
pub(super) fn marked(text: &str, marks: &Marks, style: Style, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut end = 0;
    for place in marks.places(text) {
        if place.start > end {
            spans.push(Span::styled(text[end..place.start].to_owned(), style));
        }
        end = place.end;
        spans.push(Span::styled(text[place].to_owned(), theme.matching(style)));
    }
    if end < text.len() {
        spans.push(Span::styled(text[end..].to_owned(), style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for (text, expected) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c", "abc"),
            ("a\u{1b}]52;c;aGk=\nb", "a\nb"),
            ("\u{1b}(Ba\u{1b}=b\u{1b}7c", "abc"),
            ("\u{9b}2Ja\u{90}q\u{9c}b", "ab"),
            ("\u{202e}live\u{2066}\u{200f}", "\u{fffd}live\u{fffd}\u{fffd}"),
            ("a\r\nb\tc\u{0}\u{8}", "a\nb    c\u{fffd}\u{fffd}"),
            ("\u{1b}[", ""),
            ("\u{1b}", ""),
            ("\u{1b}\u{1b}[1mx", "x"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
        let long = "x".repeat(MOST_CHARS + 7);
        assert_eq!(clean_whole(&long), long);
        let long = clean(&long);
        assert!(long.ends_with("x… 7 more characters"));
    }

    #[test]
    fn lines_break_at_words_and_keep_their_indent() {
        for (text, width, expected) in [
            ("one two three", 7, &["one two", "three"][..]),
            ("- one two three", 8, &["- one", "  two", "  three"]),
            ("    a bb ccc", 8, &["    a bb", "    ccc"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("日本語の題", 4, &["日本", "語の", "題"]),
            ("a\n\nb", 4, &["a", "", "b"]),
            ("", 4, &[]),
            ("xy", 0, &["x", "y"]),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text:?} in {width}");
        }
    }
}
