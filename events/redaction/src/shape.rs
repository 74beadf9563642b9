//! Credentials recognised by their format, without a prefix: by dots, lengths and marks.

use super::alphabet::{ALNUM, DIGIT, DOT, HYPHEN, LOWER, UNDERSCORE, is, run_end, run_start};
use super::randomness::is_hex;
use super::{Cut, MIN_KEY_CHARS, past_word};
use baton_words::WordList;

/// Longest 1Password account secret key, in characters.
const MAX_ACCOUNT_KEY_CHARS: usize = 40;
const BODY: u8 = ALNUM | UNDERSCORE | HYPHEN;

/// Returns the credential whose first letter or digit is at `start`. The caller has checked that a word starts here and
/// ends at `word`. `no_jwt_before` stores the end of a run without a JSON Web Token, so that a text with many
/// candidates is searched once.
#[inline]
pub(super) fn find_at(text: &str, start: usize, word: usize, no_jwt_before: &mut usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    if start.checked_sub(1).is_some_and(|at| matches!(bytes[at], b'$' | b'}'))
        && let Some(cut) = password_hash(text, start)
    {
        return Some(cut);
    }
    let fits = match (bytes.get(word), word - start) {
        (Some(b'.'), _) | (_, 32) | (Some(b'-'), 2) | (Some(b'~'), 5) | (Some(b'_'), 6) => true,
        _ => bytes[start] == b'e',
    };
    if !fits { None } else { of_form(text, start, word, no_jwt_before) }
}

fn of_form(text: &str, start: usize, word: usize, no_jwt_before: &mut usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let rest = &bytes[start..];
    if rest.starts_with(b"eyJ") {
        return jwt(text, start, no_jwt_before);
    }
    let cut = |end: usize, kind| Some(Cut { start, end: past_word(text, end), kind });
    match (word - start, bytes.get(word)) {
        // Mailchimp: the key ends in its data centre, `…-us21`. mailchimp.com/developer
        (32, Some(b'-')) if bytes[word..].starts_with(b"-us") && is_hex(&bytes[start..word]) => {
            let end = run_end(bytes, word + 3, DIGIT);
            (end > word + 3).then_some(end).and_then(|end| cut(end, "mailchimp_key"))
        }
        // Terraform Cloud: `….atlasv1.…`. developer.hashicorp.com/terraform
        (_, Some(b'.')) if bytes[word..].starts_with(b".atlasv1.") => {
            let end = run_end(bytes, word + 9, BODY);
            (end - start >= MIN_KEY_CHARS).then_some(end).and_then(|end| cut(end, "terraform_token"))
        }
        // Discord bots: three parts, the first a number in Base64. discord.com/developers
        (23..=28, Some(b'.')) if matches!(rest[0], b'M' | b'N' | b'O') => {
            let second = run_end(bytes, word + 1, BODY);
            let third = run_end(bytes, (second + 1).min(bytes.len()), BODY);
            let fits =
                (6..=7).contains(&(second - word - 1)) && bytes.get(second) == Some(&b'.') && third > second + 27;
            fits.then_some(third).and_then(|end| cut(end, "discord_token"))
        }
        // Azure client secret: three characters, a digit, `Q~`. learn.microsoft.com/entra
        (5, Some(b'~')) if rest[3].is_ascii_digit() && rest[4] == b'Q' => {
            let end = run_end(bytes, word, BODY | DOT);
            let end = end - usize::from(bytes[end - 1] == b'.');
            (end - start >= 34).then_some(end).and_then(|end| cut(end, "azure_secret"))
        }
        // Braintree: `access_token$production$…$…`. developer.paypal.com/braintree
        (32, _) if bytes[..start].ends_with(b"$") && is_hex(&bytes[start..word]) => {
            let merchant = run_start(bytes, start - 1, 24, ALNUM);
            let before = &bytes[..merchant];
            let known = before.ends_with(b"$production$") || before.ends_with(b"$sandbox$");
            known.then_some(word).and_then(|end| cut(end, "braintree_token"))
        }
        // MaxMind: `…_…_mmk`. dev.maxmind.com
        (6, Some(b'_')) => {
            let end = run_end(bytes, word + 1, ALNUM);
            (end - word == 30 && bytes[end..].starts_with(b"_mmk"))
                .then_some(end + 4)
                .and_then(|end| cut(end, "maxmind_key"))
        }
        // 1Password account secret key: `A3-…`. support.1password.com
        (2, Some(b'-')) if rest.starts_with(b"A3-") => {
            let end = run_end(&bytes[..bytes.len().min(start + MAX_ACCOUNT_KEY_CHARS)], word, ALNUM | HYPHEN);
            let capitals = !bytes[start..end].iter().any(|byte| is(*byte, LOWER));
            (end - start >= 34 && capitals).then_some(end).and_then(|end| cut(end, "onepassword_key"))
        }
        _ => None,
    }
}

/// Beginnings of password hashes, which can be cracked.
static HASHES: WordList = WordList::new(crate::WORDS, "hashes");
/// Marks of password hashes in directories.
const SCHEMES: &[&str] =
    &["{SSHA}", "{SHA}", "{SSHA256}", "{SSHA512}", "{SHA256}", "{SHA512}", "{MD5}", "{SMD5}", "{CRYPT}"];
/// Longest part of a hash before its last part, in bytes.
const MAX_HASH_HEAD: usize = 100;

/// Returns the password hash whose last part starts at `start`: `$6$salt$…`, `{SSHA}…`.
fn password_hash(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let head = ALNUM | UNDERSCORE | HYPHEN | DOT | super::alphabet::PLUS;
    let part = |byte: &&u8| is(**byte, head) || matches!(**byte, b'$' | b',');
    let first = start - bytes[..start].iter().rev().take(MAX_HASH_HEAD).take_while(part).count();
    let begins = HASHES.iter().filter_map(|hash| text[first..start].find(hash)).min().map(|at| first + at);
    let marked = SCHEMES.iter().any(|mark| text[..start].ends_with(mark)).then_some(start);
    let begins = begins.or(marked)?;
    let end = start + bytes[start..].iter().take_while(part).count();
    (end - start >= MIN_KEY_CHARS).then_some(Cut { start: begins, end, kind: "password_hash" })
}

/// A JSON Web Token: `eyJ….eyJ….signature`, also if it is truncated after the first dot.
fn jwt(text: &str, start: usize, none_before: &mut usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let known = is_header(&bytes[start..]);
    if start < *none_before && !known {
        return None;
    }
    let header = run_end(bytes, start, BODY);
    if !bytes[header..].starts_with(b".eyJ") && !known {
        *none_before = header;
        return None;
    }
    let mut end = header;
    for _ in 0..4 {
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(|byte| is(*byte, BODY)) {
            end = run_end(bytes, end + 1, BODY);
        }
    }
    (end - start >= MIN_KEY_CHARS).then(|| Cut { start, end: past_word(text, end), kind: "jwt" })
}

/// True if a text begins like a token's header: `{"alg":`, `{"typ":`, `{"enc":`, `{"kid":`, `{"cty":`, `{"zip":`.
fn is_header(bytes: &[u8]) -> bool {
    let headers: &[&[u8]] = &[b"eyJhbGciOi", b"eyJ0eXAiOi", b"eyJlbmMiOi", b"eyJraWQiOi", b"eyJjdHkiOi", b"eyJ6aXAiOi"];
    headers.iter().any(|header| bytes.starts_with(header))
}

/// The token of a Telegram bot, at its colon. core.telegram.org/bots
pub(super) fn telegram(text: &str, colon: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    if bytes.get(colon + 1) != Some(&b'A') {
        return None;
    }
    let start = run_start(bytes, colon, 16, DIGIT);
    let end = run_end(bytes, colon + 1, BODY);
    let fits = (6..=12).contains(&(colon - start)) && (30..=50).contains(&(end - colon - 1));
    fits.then(|| Cut { start, end: past_word(text, end), kind: "telegram_token" })
}
