//! Printable text: without characters that move the cursor, change the direction of writing or hide what is written.
//!
//! # Decisions
//!
//! - The joiners U+200C and U+200D stay, although they have no width: words of some scripts and many emoji need them.

/// Makes a text of several lines printable.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable_char(c) }).collect()
}

/// Makes a remark a sentence: printable, with a capital letter, unless it begins with no word such as a path, and a full
/// stop.
pub fn to_sentence(text: &str) -> String {
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
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Characters without a width part words that look whole, and tags spell texts that nobody sees.
    let hides = matches!(
        c,
        '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    );
    if c.is_control() || turns || hides { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_becomes_a_sentence() {
        for (text, expected) in [("", "."), ("in 2 sessions", "In 2 sessions."), ("src/a.rs: none", "src/a.rs: none.")]
        {
            assert_eq!(to_sentence(text), expected);
        }
    }

    #[test]
    fn plain_text_keeps_its_lines() {
        assert_eq!(plain("a\n\u{7}b\t\u{9b}c\u{202d}"), "a\n\u{fffd}b\t\u{fffd}c\u{fffd}");
    }

    #[test]
    fn what_is_hidden_is_shown_and_what_joins_stays() {
        assert_eq!(plain("pa\u{200b}ss\u{feff}\u{e0041}"), "pa\u{fffd}ss\u{fffd}\u{fffd}");
        assert_eq!(plain("👩\u{200d}🚒 می\u{200c}خواهم"), "👩\u{200d}🚒 می\u{200c}خواهم");
    }
}
