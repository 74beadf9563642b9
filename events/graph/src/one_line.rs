//! A text on one line.

/// Puts the text on one line of at most `max_chars` characters; a cut text ends in `…`.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut left = max_chars;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let space = usize::from(!line.is_empty());
        let chars = word.chars().take(left + 1).count();
        if chars + space > left {
            // Reserve one character for `…`; a full line gives up its last one.
            let room = left.saturating_sub(space + 1);
            if room > 0 {
                line.extend(" ".chars().take(space));
                line.extend(word.chars().take(room));
            } else if left == 0 {
                line.pop();
            }
            line.push('…');
            return line;
        }
        line.extend(" ".chars().take(space));
        line.push_str(word);
        left -= chars + space;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_bounded_line() {
        let check = |text: &str, max: usize, line: &str| {
            assert_eq!(one_line(text, max), line, "{text:?}");
            assert!(line.chars().count() <= max);
        };
        check(" a\n\tb ", 9, "a b");
        check("one two", 7, "one two");
        check("one two", 6, "one t…");
        check("one two", 5, "one…");
        check("one two", 4, "one…");
        check("one two", 3, "on…");
        check("ünïcode", 4, "ünï…");
        check("", 4, "");
    }
}
