//! Notes on pieces that look like syntax but are only words.

use super::piece::Piece;
use super::{Field, PREFIX_CHARS, excerpt, parse_prefix};

/// Names of filters other than fields.
const OTHERS: [&str; 5] = ["path", "before", "until", "after", "since"];

/// Returns a note on a piece that may have been meant otherwise, given the piece before it.
pub(super) fn for_piece(before: Option<&Piece<'_>>, piece: &Piece<'_>) -> Option<String> {
    if piece.quoted || piece.field.is_some() {
        return None;
    }
    let written = excerpt(piece.raw);
    if is_without_value(piece.text) {
        return Some(format!("{written:?} was searched for as a word: put a filter's value directly after the colon"));
    }
    if before.is_some_and(|before| before.raw == "NOT") && piece.text.contains(char::is_lowercase) {
        return Some(format!("\"NOT\" is a word like others; -{} leaves out what has it", excerpt(piece.text)));
    }
    wildcard_reason(piece.text).map(|why| format!("{written:?} is words: {why}"))
}

/// Returns true for `file:` without a value.
fn is_without_value(text: &str) -> bool {
    let name = text.strip_suffix(':').unwrap_or_default();
    Field::ALL.iter().map(|field| field.as_str()).chain(OTHERS).any(|known| known == name)
}

/// Returns why a star or a question mark in a word is not a wildcard.
fn wildcard_reason(text: &str) -> Option<String> {
    let is_word = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '*' | '?' | '.' | '_' | '-' | '/'));
    let asks = text.trim_end_matches('?').contains('?');
    if parse_prefix(text).is_some() || !is_word || text.contains("**") || !text.contains(char::is_alphanumeric) {
        return None;
    }
    match text.find('*') {
        Some(at) => {
            let begun = text[..at].chars().filter(|c| c.is_alphanumeric()).count() >= PREFIX_CHARS;
            let instead = if begun { excerpt(&text[..=at]) } else { "migrat*".to_owned() };
            Some(format!(
                "a star stands for the rest of a word, behind {PREFIX_CHARS} letters or more, as in {instead}"
            ))
        }
        None if asks => Some("a question mark stands for no letter; migrat* is every word that begins so".to_owned()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use baton_conversation::record::Timestamp;

    #[test]
    fn what_may_be_meant_otherwise_is_told() {
        for (text, note) in [
            ("lo*k", "as in lo*"),
            ("*ock", "as in migrat*"),
            ("a*", "behind 2 letters or more"),
            ("dat?base", "a question mark stands for no letter"),
            ("file: x", "value directly after the colon"),
            ("x after:", "value directly after the colon"),
            ("lock NOT sqlite", "-sqlite leaves out what has it"),
            ("-lock", "-lock is searched for as text"),
            ("lock -\"thread pool\"", "without its dash the phrase is searched for"),
        ] {
            let notes = parse(text, Timestamp(0)).notes;
            assert!(notes.len() == 1 && notes[0].contains(note), "{text}: {notes:?}");
        }
        for text in [
            "migrat*",
            "why?",
            "**bold**",
            "SELECT * FROM t",
            "NOT NULL",
            "is NOT",
            "a?b=c",
            "*",
            "?",
            "“file:”",
            "x: y",
            "src/au*",
            "std::vec",
            "not lock",
            "char *argv[]",
        ] {
            assert_eq!(parse(text, Timestamp(0)).notes, [""; 0], "{text}");
        }
    }
}
