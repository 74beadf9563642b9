//! Passwords that a sentence or a setting names in a language other than English.

use super::Cut;
use super::alphabet::floor;
use super::password::looks_chosen;
use super::placeholder::{Held, is_placeholder};
use baton_words::WordList;

/// Longest distance between a name and its value, in bytes: `la contraseña de la base de datos es …`.
const MAX_BETWEEN_BYTES: usize = 80;
/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 256;
/// Shortest value, in bytes.
const MIN_VALUE_BYTES: usize = 6;

/// Words for a password, which [`super::word`] searches for. [`VERBS`] lists what may follow them instead of a
/// separator.
pub(super) static NAMES: WordList = WordList::new(crate::WORDS, "names of passwords");

/// Words between a name and its value in a sentence.
static VERBS: WordList = WordList::new(crate::WORDS, "verbs");
/// Separators.
const SIGNS: &[&str] = &[":", "\u{ff1a}", "=", "\u{ff1d}"];
/// Quotes that open a value.
const QUOTES: &[char] = &['"', '\'', '`', '«', '»', '“', '”', '„', '「', '『', '‘', '’', '*'];

/// Returns the password after a name that ends at `end`.
pub(super) fn password(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &text[end..floor(bytes, bytes.len().min(end + MAX_BETWEEN_BYTES))];
    let window = &window[..window.find(['\n', '。', '!', '?', '{', '}', '(', ';', '[']).unwrap_or(window.len())];
    let window = &window[..window.find(". ").unwrap_or(window.len())];
    let sign = SIGNS.iter().filter_map(|sign| window.find(sign).map(|at| (at, at + sign.len(), true)));
    let verb = VERBS.iter().filter_map(|verb| window.find(verb).map(|at| (at, at + verb.len(), false)));
    let (between, from, signed) = sign.chain(verb).min_by_key(|(at, to, _)| (*at, usize::MAX - to))?;
    // Directly after a name any value is likely; after more words, only one that looks like a password.
    let near = signed && window[..between].chars().filter(|c| c.is_alphanumeric()).count() <= 1;
    let from = end + from;
    let skipped = |c: char| c.is_whitespace() || QUOTES.contains(&c);
    let opened = text[from..].char_indices().take(12).find(|(_, c)| !skipped(*c)).map(|(at, _)| from + at)?;
    let quoted = text[from..opened].contains(QUOTES);
    if text[from..opened].contains('\n') {
        return None;
    }
    let part = |byte: &&u8| byte.is_ascii_graphic() && !matches!(**byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\');
    let count = bytes[opened..].iter().take(MAX_VALUE_BYTES).take_while(part).count();
    let value = text[opened..opened + count].trim_end_matches(['.', ',', ';', ':', ')', '*', '?']);
    let chosen = looks_chosen(value) || (near && quoted && value.len() >= MIN_VALUE_BYTES && has_digit_or_mixed(value));
    let code = value.contains(['(', '[', '{']) || value.starts_with(['$', '/']) || value.contains("://");
    let stays = !chosen || code || value.len() < MIN_VALUE_BYTES || is_placeholder(value, "password", Held::FIRMLY);
    (!stays).then_some(Cut { start: opened, end: opened + value.len(), kind: "secret" })
}

fn has_digit_or_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}
