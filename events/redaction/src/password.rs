//! What a person may have chosen for a password.

use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, is};
use super::chance::is_words;
use super::placeholder::{Held, is_placeholder};

/// Shortest password, in bytes.
const MIN_PASSWORD_BYTES: usize = 3;
/// Shortest password of digits alone, in bytes: shorter ones are ports and counts.
const MIN_NUMBER_BYTES: usize = 6;

/// Whether what stands in a password's place can be one.
pub(super) fn is_password(value: &str) -> bool {
    // A number, but no port, address or date.
    let digits = value.bytes().filter(|byte| is(*byte, DIGIT)).count();
    let number = value.bytes().all(|byte| is(byte, DIGIT) || b":./-".contains(&byte));
    let fits =
        if number { digits == value.len() && digits >= MIN_NUMBER_BYTES } else { value.len() >= MIN_PASSWORD_BYTES };
    fits && !value.starts_with(['-', '<', '['])
        && !value.contains("$(")
        && !value.contains('`')
        && !is_placeholder(value, "password", Held::FIRMLY)
}

/// Whether a word is what a person chooses for a password: letters with digits or signs, no word of a language.
pub(super) fn looks_chosen(value: &str) -> bool {
    let has = |class| value.bytes().any(|byte| is(byte, class));
    let digits = value.bytes().filter(|byte| is(*byte, DIGIT)).count();
    let signs = value.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:,".contains(&byte));
    let mixed = has(UPPER) && value.bytes().skip(1).any(|byte| is(byte, UPPER)) && has(LOWER);
    value.len() >= 6
        && value.bytes().any(|byte| is(byte, ALNUM))
        && has(LOWER | UPPER)
        && (signs || (digits > 0 && (digits > 1 || mixed || !is_words(value.as_bytes()))))
}
