//! Text as it may be printed: without what moves a cursor or turns the direction of writing.

/// A text of several lines as it may be printed.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// A character as it may be printed on a line.
pub fn shown(c: char) -> char {
    // Marks, embeddings, overrides and isolates of direction make a line read otherwise than it is.
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
