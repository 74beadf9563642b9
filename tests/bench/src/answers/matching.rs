//! When two statements mean the same: by their place in the transcript, or by their words.

use std::collections::BTreeSet;

use super::gold::Item;

/// Distance in lines within which two statements have the same place.
const NEAR_LINES: u64 = 3;
/// Minimum length of a content word, in characters.
const WORD_CHARS: usize = 3;
/// Words of three and more letters that say nothing by themselves; sorted.
const STOP_WORDS: &[&str] = &[
    "about", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before", "being", "between",
    "both", "but", "can", "could", "did", "does", "done", "during", "each", "else", "few", "for", "from", "get", "got",
    "had", "has", "have", "her", "here", "his", "how", "into", "its", "just", "let", "like", "may", "more", "most",
    "not", "now", "off", "one", "only", "other", "our", "out", "over", "own", "per", "same", "she", "should", "since",
    "some", "still", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "too", "under", "until", "use", "used", "uses", "using", "very", "was", "were", "what", "when", "where", "whether",
    "which", "while", "who", "why", "will", "with", "without", "would", "yet", "you", "your",
];

/// Something that Baton says, and the line it points to.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) text: String,
    pub(super) line: u64,
}

impl Item {
    /// True if the claim means this: within three lines of one of its lines, or with at least half of its content words.
    pub(super) fn matches(&self, claim: &Claim) -> bool {
        let is_near = self.lines.iter().any(|line| line.abs_diff(claim.line) <= NEAR_LINES);
        let (shared, all) = shared_words(&self.text, &claim.text);
        is_near || (all > 0 && 2 * shared >= all)
    }
}

/// Number of content words of `gold` that occur in `given`, and number of all of them.
pub(super) fn shared_words(gold: &str, given: &str) -> (usize, usize) {
    let (gold, given) = (content_words(gold), content_words(given));
    (gold.intersection(&given).count(), gold.len())
}

fn content_words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let telling = |word: &&str| word.chars().count() >= WORD_CHARS && STOP_WORDS.binary_search(word).is_err();
    words.filter(telling).map(|word| stem(word).to_owned()).collect()
}

/// The word without a plural or verb ending and a final vowel, so that `renames`, `renamed` and `rename` are one.
fn stem(word: &str) -> &str {
    let shorter = |end: &&str| word.strip_suffix(*end).filter(|stem| stem.len() >= WORD_CHARS && !stem.ends_with('s'));
    let stem = ["ing", "ied", "ies", "ed", "es", "s"].iter().find_map(shorter).unwrap_or(word);
    stem.strip_suffix(['e', 'y', 'i']).filter(|stem| stem.len() >= WORD_CHARS).unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_right_by_place_or_by_half_of_the_words() {
        assert!(STOP_WORDS.is_sorted());
        let gold = Item { text: "Use Ark UI directly, without the ChakraProvider".to_owned(), lines: vec![40, 90] };
        for (line, text, expected) in [
            (43, "", true),
            (87, "anything", true),
            (44, "anything", false),
            (1, "directly by ARK", true),
            (1, "use the ui of ark without a provider", false),
            (1, "", false),
        ] {
            let claim = Claim { text: text.to_owned(), line };
            assert_eq!(gold.matches(&claim), expected, "{line} {text}");
        }
        let without_words = Item { text: "to be".to_owned(), lines: vec![] };
        assert!(!without_words.matches(&Claim { text: "to be".to_owned(), line: 1 }));
    }

    #[test]
    fn forms_of_a_word_are_one_word() {
        for (one, other) in [
            ("renames renamed renaming", "rename"),
            ("dependencies", "dependency"),
            ("files boxes classes", "file box class"),
            ("retried retries", "retry"),
        ] {
            assert_eq!(content_words(one), content_words(other), "{one}");
        }
        assert_eq!(shared_words("a red fox", "the fox was red"), (2, 2));
    }
}
