//! Splits texts between paragraphs, then lines, then words, and never inside a character.

/// Longest part, in characters.
pub(super) const PART_CHARS: usize = 1_600;

/// The parts of a text in order: paragraphs together as long as they fit; a longer one is split at a line, a word or,
/// if there is none in its second half, a character. Parts are trimmed and never empty; nothing but white space is
/// lost.
pub(super) fn parts(text: &str) -> Parts<'_> {
    Parts { rest: text }
}

pub(super) struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        if rest.is_empty() {
            self.rest = rest;
            return None;
        }
        let limit = prefix_len(rest, PART_CHARS);
        let end = if limit == rest.len() { limit } else { border(&rest[..limit]) };
        self.rest = &rest[end..];
        Some(rest[..end].trim_end())
    }
}

/// The last suitable border in a text that is too long to stay whole. Never 0 if the text begins with a letter.
fn border(window: &str) -> usize {
    let half = window.len() / 2;
    let paragraph = blank_line(window);
    let line = || window.rfind('\n').filter(|&at| at >= half);
    let word = || window.rfind(char::is_whitespace).filter(|&at| at >= half);
    paragraph.or_else(line).or_else(word).unwrap_or(window.len())
}

/// Start of the last blank line that leaves a part of reasonable size (a tenth of the window).
fn blank_line(window: &str) -> Option<usize> {
    let bytes = window.as_bytes();
    let mut last_break = bytes.len();
    for at in memchr::memrchr_iter(b'\n', bytes) {
        if at < window.len() / 10 {
            return None;
        }
        if last_break < bytes.len() && window[at..last_break].trim().is_empty() {
            return Some(at);
        }
        last_break = at;
    }
    None
}

/// The first `max` characters.
pub(super) fn truncated_prefix(text: &str, max: usize) -> &str {
    &text[..prefix_len(text, max)]
}

/// Bytes of the first `max` characters.
fn prefix_len(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    if text.as_bytes()[..max].is_ascii() {
        return max;
    }
    text.char_indices().nth(max).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(word: &str, count: usize) -> String {
        vec![word; count].join(" ")
    }

    #[track_caller]
    fn check(text: &str, expected: &[usize]) {
        let found: Vec<_> = parts(text).collect();
        assert_eq!(found.iter().map(|part| part.chars().count()).collect::<Vec<_>>(), expected);
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeeze(&found.concat()), squeeze(text), "nothing but white space is lost");
    }

    #[test]
    fn a_text_is_cut_at_the_best_border_there_is() {
        check("", &[]);
        check(" \n\n ", &[]);
        check("short\n\ntext", &[11]);
        let paragraph = words("abcd", 200); // 999 characters
        check(&format!("{paragraph}\n\n{paragraph}\n \n{paragraph}"), &[999, 999, 999]);
        check(&format!("{}\n\n{}", words("ab", 100), words("cd", 100)), &[600]);
        check(&format!("{}\n{}", words("ab", 400), words("cd", 400)), &[1199, 1199]);
        check(&words("abc", 500), &[1599, 399]);
        check(&"x".repeat(4_000), &[1600, 1600, 800]);
        check(&"語".repeat(2_000), &[1600, 400]);
    }

    #[test]
    fn the_start_of_a_text_is_cut_on_characters() {
        assert_eq!(truncated_prefix("añb", 2), "añ");
        assert_eq!(truncated_prefix("abc", 3), "abc");
        assert_eq!(truncated_prefix("語語語", 1), "語");
        assert_eq!(truncated_prefix("", 2), "");
    }
}
