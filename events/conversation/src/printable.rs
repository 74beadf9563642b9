//! Printable text: without characters that move the cursor or change the direction of writing.

/// Makes a text of several lines printable.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable_char(c) }).collect()
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
    fn plain_text_keeps_its_lines() {
        assert_eq!(plain("a\n\u{7}b\t\u{9b}c\u{202d}"), "a\n\u{fffd}b\t\u{fffd}c\u{fffd}");
    }
}
