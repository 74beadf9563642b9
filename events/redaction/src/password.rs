//! Tests whether a value may be a password that a person chose.

use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, is};
use super::placeholder::{Held, is_placeholder};
use super::randomness::is_words;

/// Shortest password, in bytes.
const MIN_PASSWORD_BYTES: usize = 3;
/// Shortest password of digits alone, in bytes. Shorter numbers are ports and counts.
const MIN_NUMBER_BYTES: usize = 6;

/// True if a value in the place of a password may be one.
pub(super) fn is_password(value: &str) -> bool {
    // A number, but not a port, an address or a date.
    let digits = value.bytes().filter(|byte| is(*byte, DIGIT)).count();
    let number = value.bytes().all(|byte| is(byte, DIGIT) || b":./-".contains(&byte));
    let fits =
        if number { digits == value.len() && digits >= MIN_NUMBER_BYTES } else { value.len() >= MIN_PASSWORD_BYTES };
    fits && !value.starts_with(['-', '<', '['])
        && !value.contains("$(")
        && !value.contains('`')
        && !is_placeholder(value, "password", Held::FIRMLY)
}

/// True if a word looks like a chosen password: letters with digits or punctuation, and no ordinary word.
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
