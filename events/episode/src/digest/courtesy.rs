//! Greetings, thanks and praise, which ask for nothing.

use baton_words::WordList;

/// Maximum length of a prompt that may be a mere courtesy, in bytes.
const MAX_BYTES: usize = 80;
/// Words of thanks, praise and agreement.
static COURTESIES: WordList = WordList::new(crate::WORDS, "courtesies");
/// Words with which a person greets.
static GREETINGS: WordList = WordList::new(crate::WORDS, "greetings");

/// Returns true if a prompt only thanks, praises or agrees.
pub(crate) fn is_courtesy(text: &str) -> bool {
    text.len() <= MAX_BYTES
        && text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .all(|word| COURTESIES.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns true for a text of greetings alone.
pub(crate) fn is_greeting(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    text.len() <= MAX_BYTES && words.peek().is_some() && words.all(is_greeting_word)
}

/// Returns true for a word that greets.
pub(super) fn is_greeting_word(word: &str) -> bool {
    GREETINGS.has(&word.to_lowercase())
}
