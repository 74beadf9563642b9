//! Wallet keys: Ethereum private keys and seed phrases.

use super::Cut;
use super::alphabet::{HEX, LOWER, floor, run_end};
use baton_words::WordList;

/// How far before a key the word that announces it may be, in bytes.
const MAX_BEFORE_BYTES: usize = 80;
/// The same for a listing of several keys.
const MAX_LISTED_BYTES: usize = 1_200;
/// Hexadecimal digits of a key.
const KEY_DIGITS: usize = 64;
/// Fewest words of a phrase.
const MIN_WORDS: usize = 12;
/// Most words of a phrase.
const MAX_WORDS: usize = 24;
/// How far behind its name the separator of a phrase may be, in bytes.
const MAX_BETWEEN_BYTES: usize = 60;

/// Text that announces a private key, in lowercase without separators.
static KEYS: WordList = WordList::new(crate::WORDS, "wallet keys");

/// Returns the Ethereum private key that starts with `0x` at `start`, if the preceding text announces it. Without that,
/// the same digits are the hash of a block or a transaction.
pub(super) fn ethereum(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let end = run_end(bytes, start + 2, HEX);
    if !bytes[start..].starts_with(b"0x") || end - start != KEY_DIGITS + 2 {
        return None;
    }
    let letters_before = |most: usize| -> String {
        let before = &text[floor(bytes, start.saturating_sub(most))..start];
        before.chars().filter(|c| !matches!(c, ' ' | '_' | '-' | '\n')).map(|c| c.to_ascii_lowercase()).collect()
    };
    let near = letters_before(MAX_BEFORE_BYTES);
    // The last announcing word decides: `privateKey: 0x…, hash: 0x…`.
    let other = ["hash", "tx", "block", "publickey", "address", "root", "topic", "salt"];
    let last = |words: &[&str]| words.iter().filter_map(|word| near.rfind(word)).max();
    let announced = match (last(&KEYS), last(&other)) {
        (Some(key), Some(other)) => key > other,
        (Some(_), None) => true,
        // `Private Keys`, a line of `=`, and one key per line.
        (None, _) => near.ends_with(')') && letters_before(MAX_LISTED_BYTES).contains("privatekeys"),
    };
    announced.then_some(Cut { start, end, kind: "private_key" })
}

/// Returns the seed phrase after a name for it that ends at `end`: on one line or several, numbered or not.
pub(super) fn phrase(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = floor(bytes, bytes.len().min(end + MAX_BETWEEN_BYTES));
    let colon = text[end..window].find([':', '=', '\n', '"', '\'', '`', '>']).map(|at| end + at)?;
    let words = |from: usize| {
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut at = from;
        while found.len() < MAX_WORDS {
            let joint =
                |byte: &&u8| byte.is_ascii_whitespace() || byte.is_ascii_digit() || b".):,\"'`>=*".contains(byte);
            let start = at + bytes[at..].iter().take(24).take_while(joint).count();
            let last = run_end(bytes, start, LOWER);
            let ends = bytes.get(last).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80);
            if !(3..=8).contains(&(last - start)) || !ends || bytes[at..start].contains(&b'.') && last == start {
                break;
            }
            // In a sentence the words are separated by commas or full stops; in a list every separator is the same.
            found.push((start, last));
            at = last;
        }
        found
    };
    let found = words(colon);
    let (first, last) = (found.first()?, found.last()?);
    let common = ["the", "and", "for", "are", "was", "has", "must", "that", "with", "this", "not", "you"];
    let sentence = found.iter().filter(|(start, last)| common.contains(&&text[*start..*last])).count() > 1;
    (found.len() >= MIN_WORDS && !sentence).then_some(Cut { start: first.0, end: last.1, kind: "seed_phrase" })
}
