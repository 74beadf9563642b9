//! Words that mean about the same, so that a question finds what was said in other words.

use std::sync::LazyLock;

use baton_words::language::{Line, things};

/// One group per line.
static GROUPS: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| include_str!("synonyms.txt").lines().map(|line| line.split_whitespace().collect()).collect());
/// Minimum length of a part of a compound.
const PART_CHARS: usize = 4;

/// Returns the parts of a word that is written together, as in German, if both are known.
pub(super) fn parts(word: &str) -> Option<(&str, &str)> {
    let is_known =
        |part: &str| things().iter().any(|line| line.has(part) || line.words().any(|known| is_form(part, known)));
    let ends = word.char_indices().map(|(at, _)| at).filter(|at| *at >= PART_CHARS && word.len() - at >= PART_CHARS);
    ends.map(|at| word.split_at(at)).find(|(one, other)| is_known(one) && is_known(other))
}

/// Returns the synonyms of a word in lower case, of all groups that have it.
pub(super) fn synonyms_of(word: &str) -> Vec<&'static str> {
    let of_groups = GROUPS.iter().filter(|group| group.iter().any(|known| is_form(word, known))).flatten().copied();
    let is_of = |line: &&Line| line.has(word) || line.words().any(|known| is_form(word, known));
    let of_lines = things().iter().filter(is_of).flat_map(Line::words);
    let mut synonyms: Vec<&str> = of_groups.chain(of_lines).collect();
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
        let check = |word: &str, known: &str, expected: bool| {
            assert_eq!(synonyms_of(word).contains(&known), expected, "{word}");
        };
        check("folder", "directory", true);
        check("folders", "directory", true);
        check("hiding", "conceal", true);
        check("stopped", "halt", true);
        check("folder", "folder", false);
        check("folders", "folder", false);
        check("broker", "break", false);
        check("numbat", "directory", false);
        assert_eq!(synonyms_of(""), Vec::<&str>::new());
    }

    #[test]
    fn foreign_words_have_english_ones() {
        for (word, english) in [("einträge", "entry"), ("onglet", "tab"), ("修复", "repair"), ("carpetas", "folder")]
        {
            assert!(synonyms_of(word).contains(&english), "{word}");
        }
        assert_eq!(parts("ordneransicht"), Some(("ordner", "ansicht")));
        assert_eq!(parts("numbatansicht"), None);
    }

    #[test]
    fn a_group_has_several_words_in_lower_case() {
        for group in &*GROUPS {
            let is_lower = |word: &&str| !word.chars().any(char::is_uppercase);
            assert!(group.len() > 1 && group.iter().all(is_lower), "{group:?}");
        }
    }
}
