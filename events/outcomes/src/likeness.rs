//! How similar two failures are, by the words of their names.

use std::collections::BTreeSet;

use baton_graph::error_name;
use baton_words::WordList;

/// Words that occur in many failures, or only say that a test failed.
static COMMON: WordList = WordList::words(crate::WORDS, "common words");
/// Minimum share of common words of similar failures.
const ALIKE: f32 = 0.5;
/// A failure that has all words of the other is similar, too, if these are at least so many …
const WHOLE: usize = 3;
/// … or one of them is at least so long, in bytes.
const TELLING_BYTES: usize = 8;
/// A line of so many times the words of a failure may have them by chance.
const LONGER: usize = 4;

/// A failure, prepared for comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Likeness {
    /// Its name: the line without what differs between two runs.
    pub(super) name: String,
    words: BTreeSet<String>,
    codes: BTreeSet<String>,
}

/// Lengths of the random ends that libraries give to the names of temporary files.
const RANDOM_CHARS: [usize; 3] = [6, 8, 10];
/// Shortest name before a random end, in bytes.
const STEM_BYTES: usize = 3;

/// Returns a name without the random ends of temporary paths: `crane-UUDzya` and `crane-eqYk1k` are one. Only ends that
/// no word has are removed: digits among letters, or several capitals before small letters.
pub(super) fn without_random_tails(name: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut out = String::with_capacity(name.len());
    for piece in name.split_inclusive(|c| !is_part(c)) {
        let bare = piece.trim_end_matches(|c| !is_part(c));
        match bare.rsplit_once('-').filter(|(stem, tail)| stem.len() >= STEM_BYTES && is_random(tail)) {
            Some((stem, _)) => {
                out.push_str(stem);
                out.push_str("-N");
                out.push_str(&piece[bare.len()..]);
            }
            None => out.push_str(piece),
        }
    }
    out
}

fn is_random(tail: &str) -> bool {
    let bytes = tail.as_bytes();
    let any = |of: fn(&u8) -> bool| bytes.iter().any(of);
    let small = any(u8::is_ascii_lowercase);
    let mixed = any(u8::is_ascii_digit) && small && any(u8::is_ascii_uppercase);
    let capitals = small && bytes.windows(2).any(|two| two.iter().all(u8::is_ascii_uppercase));
    RANDOM_CHARS.contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_alphanumeric) && (mixed || capitals)
}

impl Likeness {
    /// From a line of output.
    pub(super) fn of(line: &str) -> Self {
        Self::named(without_random_tails(&error_name(line.trim())))
    }

    /// From a normalised name.
    pub(super) fn named(name: String) -> Self {
        let split = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let codes = split.clone().filter(|word| is_code(word)).map(str::to_lowercase).collect();
        let lower = split.map(str::to_lowercase);
        let words = lower.filter(|word| !COMMON.has(word)).collect();
        Self { words, codes, name }
    }

    /// Returns true if it has no word that distinguishes it from other failures.
    pub(super) fn is_general(&self) -> bool {
        self.words.is_empty() && self.codes.is_empty()
    }

    /// Returns its distinguishing words, in lower case.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Returns true if it says enough to recognise the failure in a longer line.
    pub(super) fn is_telling(&self) -> bool {
        self.words.len() >= 2 || !self.codes.is_empty()
    }

    /// Returns the share of its words that a line has; 0 if it has too few words, or the line is much longer and may
    /// have them by chance. Always less than 1.
    pub(super) fn share_in(&self, line: &Self) -> f32 {
        let common = self.words.intersection(&line.words).count();
        let is_short = self.words.len() < WHOLE || line.words.len() > LONGER * self.words.len();
        if is_short { 0.0 } else { 0.99 * common as f32 / self.words.len() as f32 }
    }

    /// Returns 1 for the same failure, 0.5 and more for a similar one, `None` for any other. Different error codes are
    /// different failures.
    pub(super) fn similarity_to(&self, other: &Self) -> Option<f32> {
        if self.name == other.name {
            return Some(1.0);
        }
        let same_code = self.codes.intersection(&other.codes).next().is_some();
        if !same_code && !self.codes.is_empty() && !other.codes.is_empty() {
            return None;
        }
        let common = self.words.intersection(&other.words).count();
        let (least, most) = (self.words.len().min(other.words.len()), self.words.len().max(other.words.len()));
        if least == 0 || common == 0 {
            return None;
        }
        let share = 2.0 * common as f32 / (least + most) as f32;
        let shorter = if self.words.len() <= other.words.len() { &self.words } else { &other.words };
        let telling = shorter.len() >= WHOLE || shorter.iter().any(|word| word.len() >= TELLING_BYTES);
        let whole = common == least && telling;
        let alike = share >= ALIKE || whole || same_code;
        // Always less than 1.
        alike.then(|| if same_code { 0.6 + 0.39 * share } else { (0.5 + 0.45 * share).min(0.95) })
    }
}

/// Returns true for an error code: `E0382`, `TS2345`, `ENOENT`, `ERR_MODULE_NOT_FOUND`, `SQLITE_BUSY`.
fn is_code(word: &str) -> bool {
    let upper = word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let letters = word.bytes().filter(u8::is_ascii_uppercase).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    upper
        && ((letters > 0 && digits >= 2)
            || word.contains('_') && letters >= 6
            || (letters >= 5 && word.starts_with('E') && word != "ERROR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_alike_by_their_words() {
        let check = |one: &str, other: &str, expected: &str| {
            let (one_of, other_of) = (Likeness::of(one), Likeness::of(other));
            let found = match one_of.similarity_to(&other_of) {
                Some(1.0) => "same",
                Some(_) => "alike",
                None => "other",
            };
            assert_eq!(found, expected, "{one:?} {other:?}");
            assert_eq!(other_of.similarity_to(&one_of), one_of.similarity_to(&other_of));
        };
        check("thread 'main' panicked at src/a.rs:4:2:", "thread 'main' panicked at src/a.rs:19:7:", "same");
        check("error[E0382]: borrow of moved value: `token`", "error[E0382]: borrow of moved value: `key`", "alike");
        check("error[E0382]: borrow of moved value: `token`", "error[E0502]: borrow of moved value: `token`", "other");
        check("E0382", "error[E0382]: use of moved value: `x`", "alike");
        check("borrow of moved value", "error[E0382]: borrow of moved value: `token`", "alike");
        check("connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED ::1:5432", "alike");
        check("connect ECONNREFUSED", "connect ETIMEDOUT", "other");
        check(
            "ModuleNotFoundError: No module named 'yaml'",
            "ModuleNotFoundError: No module named 'requests'",
            "alike",
        );
        check("cannot find module", "assertion failed: left == right", "other");
        let left = "assertion `left == right` failed, left: 2, right: 1";
        check(&format!("test auth::is_slow: {left}"), &format!("test webhooks::is_gone: {left}"), "other");
        check("guessing_is_slowed_down", &format!("test auth::guessing_is_slowed_down: {left}"), "alike");
        let left = "assertion `left == right` failed, left: 2, right: 1";
        check(&format!("test auth::is_slow: {left}"), &format!("test webhooks::is_gone: {left}"), "other");
        check("guessing_is_slowed_down", &format!("test auth::guessing_is_slowed_down: {left}"), "alike");
        check("", "x", "other");
        check("error", "error failed", "other");
    }
}
