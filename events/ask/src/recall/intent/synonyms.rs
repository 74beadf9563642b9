//! Words that mean about the same, so that a question finds what was said in other words.

use std::sync::LazyLock;

/// One group per line.
static GROUPS: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| include_str!("synonyms.txt").lines().map(|line| line.split_whitespace().collect()).collect());

/// Returns the synonyms of a word in lower case, of all groups that have it.
pub(super) fn of(word: &str) -> Vec<&'static str> {
    let of_word = |group: &&Vec<&str>| group.iter().any(|known| is_form(word, known));
    let mut synonyms: Vec<&str> = GROUPS.iter().filter(of_word).flatten().copied().collect();
    synonyms.retain(|synonym| !is_form(word, synonym));
    synonyms.sort_unstable();
    synonyms.dedup();
    synonyms
}

/// Returns true for a word, or an inflected form of it.
fn is_form(word: &str, of: &str) -> bool {
    let stem = of.strip_suffix(['e', 'y']).unwrap_or(of);
    let Some(ending) = word.strip_prefix(stem) else { return false };
    let doubled = ending.strip_prefix(|c| stem.ends_with(c)).unwrap_or(ending);
    word == of
        || [ending, doubled]
            .iter()
            .any(|ending| matches!(*ending, "s" | "es" | "ies" | "ed" | "ied" | "ing" | "ying" | "ly"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_synonyms_of_its_groups_in_any_form() {
        let check = |word: &str, known: &str, expected: bool| assert_eq!(of(word).contains(&known), expected, "{word}");
        check("folder", "directory", true);
        check("folders", "directory", true);
        check("hiding", "conceal", true);
        check("stopped", "halt", true);
        check("folder", "folder", false);
        check("folders", "folder", false);
        check("broker", "break", false);
        check("numbat", "directory", false);
        assert_eq!(of(""), Vec::<&str>::new());
    }

    #[test]
    fn a_group_has_several_words_in_lower_case() {
        for group in &*GROUPS {
            assert!(group.len() > 1 && group.iter().all(|word| word.chars().all(char::is_lowercase)), "{group:?}");
        }
    }
}
