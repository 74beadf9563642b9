//! Whether something was said before in other words: nobody wants to read it twice.

use std::collections::BTreeSet;

/// Shortest word that tells one thing from another, in bytes.
const TELLING_BYTES: usize = 4;
/// Of so many parts of the shorter text's words …
const WHOLE: usize = 4;
/// … so many are in the longer one, when both say the same.
const SAME: usize = 3;
/// Most texts that a new one is compared with, the last ones.
const MAX_COMPARED: usize = 200;

/// What was told so far.
#[derive(Default)]
pub(super) struct Told(Vec<BTreeSet<String>>);

impl Told {
    /// Whether a text says anything that was not told yet; it is told from now on.
    pub(super) fn is_new(&mut self, text: &str) -> bool {
        let words = telling(text);
        if self.0.iter().rev().take(MAX_COMPARED).any(|told| same(told, &words)) {
            return false;
        }
        self.0.push(words);
        true
    }
}

fn telling(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= TELLING_BYTES);
    words.map(str::to_lowercase).collect()
}

fn same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let shorter = one.len().min(other.len());
    let common = one.intersection(other).count();
    if shorter == 0 {
        one == other
    } else {
        common * WHOLE >= shorter * SAME && common * 2 >= one.len().max(other.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_in_other_words_is_told_once() {
        let mut told = Told::default();
        for (text, new) in [
            ("Move the deletion of old keys into a periodic job", true),
            ("move deletion of old keys to a periodic job.", false),
            ("Move the deletion of the old index", true),
            ("", true),
            ("a b", false),
            ("キーを消す", true),
            ("キーを消す", false),
        ] {
            assert_eq!(told.is_new(text), new, "{text}");
        }
    }
}
