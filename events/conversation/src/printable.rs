//! Printable text: without characters that move the cursor or change the direction of writing.

/// Makes a text of several lines printable.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable_char(c) }).collect()
}

/// Makes a remark a sentence: printable, with a capital letter, unless it begins with no word such as a path, and a full
/// stop.
pub fn sentence(text: &str) -> String {
    let mut sentence = plain(text);
    let is_word = sentence.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    if let Some(first) = sentence.chars().next().filter(|_| is_word) {
        sentence.replace_range(..first.len_utf8(), &first.to_uppercase().collect::<String>());
    }
    sentence.push('.');
    sentence
}

/// Makes a character printable on a line: U+FFFD replaces harmful ones.
pub fn printable_char(c: char) -> char {
    // Directional marks, embeddings, overrides and isolates make a line read differently from its content.
    let harmful = c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if harmful { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_becomes_a_sentence() {
        for (text, expected) in [("", "."), ("in 2 sessions", "In 2 sessions."), ("src/a.rs: none", "src/a.rs: none.")]
        {
            assert_eq!(sentence(text), expected);
        }
    }

    #[test]
    fn plain_text_keeps_its_lines() {
        assert_eq!(plain("a\n\u{7}b\t\u{9b}c\u{202d}"), "a\n\u{fffd}b\t\u{fffd}c\u{fffd}");
    }
}
