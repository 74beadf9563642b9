//! Text for a terminal: its width, cut to fit, without characters that move the cursor or change the direction of
//! writing.

pub use baton_conversation::printable::plain;
use baton_conversation::printable::printable_char;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks the place of a cut.
const CUT: char = '…';

/// Width of a text in columns: two for most CJK characters and emoji, none for combining marks.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The text on one line without control characters, at most `width` columns wide.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(printable_char));
    }
    cut_end(line, width)
}

/// Like [`one_line`], but cuts the beginning: the end of a path says more.
pub fn one_line_end(text: &str, width: usize) -> String {
    let line = one_line(text, usize::MAX);
    if columns(&line) <= width {
        return line;
    }
    let backwards: String = line.chars().rev().collect();
    cut_end(backwards, width).chars().rev().collect()
}

/// A line in lines of a width, broken at words; what continues it is indented. Style codes take no room.
pub fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let (width, line) = (width.max(1), line.trim_end());
    let indent = if indent < width { indent } else { 0 };
    let mut lines = Vec::new();
    let (mut current, mut used) = (String::new(), 0);
    let mut has_text = false;
    for word in line.split_inclusive(' ') {
        let room = visible(word.trim_end_matches(' '));
        if has_text && used + room > width {
            current.truncate(current.trim_end().len());
            lines.push(std::mem::replace(&mut current, " ".repeat(indent)));
            (used, has_text) = (indent, false);
        }
        let is_broken = used + room > width;
        let mut is_code = false;
        for c in word.chars() {
            is_code |= c == '\u{1b}';
            let columns = if is_code { 0 } else { c.width().unwrap_or(0) };
            // A word longer than a line is broken anywhere.
            if is_broken && c != ' ' && columns > 0 && used + columns > width && used > indent {
                lines.push(std::mem::replace(&mut current, " ".repeat(indent)));
                used = indent;
            }
            current.push(c);
            used += columns;
            has_text |= columns > 0 && c != ' ';
            is_code &= c != 'm';
        }
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// Columns of a text with style codes.
fn visible(text: &str) -> usize {
    let mut pieces = text.split("\u{1b}[");
    let first = columns(pieces.next().unwrap_or_default());
    first + pieces.map(|piece| columns(piece.split_once('m').map_or(piece, |(_, rest)| rest))).sum::<usize>()
}

/// Formats a count: `1 event`, `2 events`.
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Lines added and removed behind `before`: `, +3 -4`; nothing if neither is known.
pub fn changed_lines(before: &str, added: u32, removed: u32) -> String {
    if (added, removed) == (0, 0) { String::new() } else { format!("{before}+{added} -{removed}") }
}

/// A number with commas between groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The message that `count` signals were lost. The possible reasons are counted together.
pub(crate) fn lost_signals(count: u64) -> String {
    let were = if count == 1 { "1 signal of a hook was".to_owned() } else { format!("{count} signals of hooks were") };
    format!("{were} lost: the agent named no session in time, or the spool had no room")
}

/// The message that `count` files of the spool could not be read.
pub(crate) fn unreadable_signals(count: u64) -> String {
    format!("{} of the spool could not be read", counted(count, "file"))
}

/// Formats a number of bytes.
pub fn size(bytes: u64) -> String {
    if bytes < 1_000_000 { format!("{} KB", bytes.div_ceil(1_000)) } else { format!("{:.1} MB", bytes as f64 / 1e6) }
}

/// Ends a style.
pub(super) const PLAIN: &str = "\u{1b}[0m";

/// Like [`plain`], but keeps style codes if `styled`.
pub(super) fn harmless(text: &str, styled: bool) -> String {
    if !styled {
        return plain(text);
    }
    let mut pieces = text.split("\u{1b}[");
    let mut line = plain(pieces.next().unwrap_or_default());
    for piece in pieces {
        // One or two digits and `m`: colours and weights.
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let is_style = (1..=2).contains(&digits) && piece[digits..].starts_with('m');
        line.push_str(if is_style { "\u{1b}[" } else { "\u{fffd}[" });
        line.push_str(&plain(piece));
    }
    line
}

fn cut_end(mut line: String, width: usize) -> String {
    if columns(&line) <= width {
        return line;
    }
    let mut used = 0;
    let end = line.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used >= width
    });
    line.truncate(end.map_or(line.len(), |(at, _)| at));
    // Some characters are wider together than the sum of their widths.
    while !line.is_empty() && columns(&line) >= width {
        line.pop();
    }
    line.push(CUT);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_holds_nothing_that_moves_the_cursor() {
        let cases = [
            ("a\n  b\tc", 20, "a b c"),
            ("abcdef", 4, "abc…"),
            ("abcd", 4, "abcd"),
            ("a\u{1b}[31mred", 20, "a\u{fffd}[31mred"),
            ("\u{202e}evil\u{2066}", 20, "\u{fffd}evil\u{fffd}"),
            ("日本語の題", 10, "日本語の題"),
            ("日本語の題", 9, "日本語の…"),
            ("日本語の題", 8, "日本語…"),
            ("🦀🦀🦀", 5, "🦀🦀…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("❤\u{fe0f}❤\u{fe0f}❤\u{fe0f}", 4, "❤\u{fe0f}❤…"),
            ("", 4, ""),
        ];
        for (text, width, expected) in cases {
            let line = one_line(text, width);
            assert_eq!(line, expected, "{text:?} in {width}");
            assert!(columns(&line) <= width, "{line:?} is wider than {width}");
        }
    }

    #[test]
    fn lines_break_at_words_and_styles_take_no_room() {
        for (line, width, indent, expected) in [
            ("one two three", 7, 0, &["one two", "three"][..]),
            ("- one two three", 8, 2, &["- one", "  two", "  three"]),
            ("    a bb ccc", 8, 4, &["    a bb", "    ccc"]),
            ("abcdefgh", 3, 0, &["abc", "def", "gh"]),
            ("a bcdefgh", 4, 1, &["a", " bcd", " efg", " h"]),
            ("日本語の題", 4, 0, &["日本", "語の", "題"]),
            ("\u{1b}[1mone\u{1b}[0m two", 7, 0, &["\u{1b}[1mone\u{1b}[0m two"]),
            ("\u{1b}[1mone\u{1b}[0m two", 6, 2, &["\u{1b}[1mone\u{1b}[0m", "  two"]),
            ("", 4, 2, &[""]),
            ("xy", 0, 9, &["x", "y"]),
        ] {
            assert_eq!(wrapped(line, width, indent), expected, "{line:?} in {width}");
        }
    }

    #[test]
    fn of_a_path_the_end_is_kept() {
        assert_eq!(one_line_end("/home/dev/projects/ledger-api", 12), "…/ledger-api");
        assert_eq!(one_line_end("/srv/one", 12), "/srv/one");
        assert_eq!(one_line_end("/srv/日本語", 7), "…日本語");
    }

    #[test]
    fn of_what_confuses_a_terminal_only_styles_pass_and_only_where_they_are_wanted() {
        let text = "\u{1b}[31mred\u{1b}[0m \u{202e}live\u{200f}\u{61c} \u{1b}[2J\u{1b}]0;t\u{7} \u{1b}[999m\u{1b}[";
        let marked = |styled| harmless(text, styled).replace('\u{fffd}', "?").replace('\u{1b}', "^");
        assert_eq!(marked(true), "^[31mred^[0m ?live?? ?[2J?]0;t? ?[999m?[");
        assert_eq!(marked(false), "?[31mred?[0m ?live?? ?[2J?]0;t? ?[999m?[");
    }

    #[test]
    fn what_was_lost_is_told_with_its_reasons() {
        let why = "lost: the agent named no session in time, or the spool had no room";
        assert_eq!(
            (lost_signals(1), lost_signals(2)),
            (format!("1 signal of a hook was {why}"), format!("2 signals of hooks were {why}"))
        );
        assert_eq!(unreadable_signals(1), "1 file of the spool could not be read");
    }
}
