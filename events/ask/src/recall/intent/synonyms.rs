//! Words that mean about the same, so that a question finds what was said in other words.

use std::sync::LazyLock;

use super::is_same_stem;

/// One group per line.
static GROUPS: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| include_str!("synonyms.txt").lines().map(|line| line.split_whitespace().collect()).collect());

/// Returns the synonyms of a word in lower case, of all groups that have it.
pub(super) fn of(word: &str) -> Vec<&'static str> {
    let of_word = |group: &&Vec<&str>| group.iter().any(|known| is_same_stem(known, word));
    let mut synonyms: Vec<&str> = GROUPS.iter().filter(of_word).flatten().copied().collect();
    synonyms.retain(|synonym| !is_same_stem(synonym, word));
    synonyms.sort_unstable();
    synonyms.dedup();
    synonyms
}
