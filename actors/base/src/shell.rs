//! Words as a shell reads them.

/// Quotes a word for a shell, if it needs quotes.
pub fn quoted(word: &str) -> String {
    let is_literal = |letter: char| !"\"$`\\!".contains(letter);
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.chars().all(is_literal) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// True if no shell gives the character a special meaning outside quotes.
pub fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-+@%:,=~".contains(letter)
}
