//! Words with realistic frequencies: the second word is half as frequent as the first, and thousands are rare.

use super::random::Random;

/// A word that every session contains.
pub(super) const COMMON: &str = "test";
/// A word that only a few sessions contain.
pub(super) const RARE: &str = "quillvane";

/// Octaves of ranks; each is as likely as every other, which approximates Zipf's law.
const OCTAVES: usize = 13;

/// The most frequent words, in about this order.
const FREQUENT: &str = "the to a and is in of it that for this on with not be we test file i as \
error if so you code from by are now run one fix all add at but can have first check which when use function then \
value it's line tests should an or no what after let was where has only new out call before does set same still read \
there more because into name do type up list also build two used path return change next just instead them two make \
find here fails each request branch config user default state key data server client module update case response \
write time more token handler check table session log commit any query both missing field start other response \
already version timeout string already between without every message look while process once result would current \
page service create remove index need review job want cache retry than failed works merge how into event order \
number last rather expected import task parse right stream down given empty against left deploy option id keep \
schema lock wrong record migration second over note output input works own account passes header could later \
body keeps under most payload open see close thread until component buffer different actor again database connection \
directory worker bytes done stored matches reader writer done limit length either memory route small upload";

const ONSETS: &[&str] = &[
    "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "cl", "cr", "dr", "fl", "gr",
    "pl", "pr", "sh", "sl", "sp", "st", "str", "th", "tr",
];
const NUCLEI: &[&str] = &["a", "e", "i", "o", "u", "ea", "io", "ou", "ai"];
const CODAS: &[&str] = &["", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "ng", "st", "rt", "ct"];
const ENDINGS: &[&str] = &["", "", "", "", "s", "ed", "ing", "er", "tion", "ment", "able", "ly"];

/// All words, the most frequent first.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<String>);

impl Vocabulary {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::for_part(seed, 1);
        let mut words: Vec<String> = Vec::with_capacity(1 << OCTAVES);
        let mut known = std::collections::BTreeSet::from([RARE.to_owned()]);
        let mut take = |word: String, words: &mut Vec<String>| {
            if known.insert(word.clone()) {
                words.push(word);
            }
        };
        FREQUENT.split_ascii_whitespace().for_each(|word| take(word.to_owned(), &mut words));
        while words.len() < 1 << OCTAVES {
            let mut word = String::new();
            for _ in 0..random.between(1, 2) {
                for part in [ONSETS, NUCLEI, CODAS] {
                    word.push_str(random.pick::<&str>(part));
                }
            }
            word.push_str(random.pick::<&str>(ENDINGS));
            take(word, &mut words);
        }
        Self(words)
    }

    /// A word according to Zipf's law.
    pub(super) fn word(&self, random: &mut Random) -> &str {
        let octave = 1 << random.below(OCTAVES);
        &self.0[octave - 1 + random.below(octave)]
    }

    /// A word that is not among the most frequent ones, for names and topics.
    pub(super) fn uncommon_word(&self, random: &mut Random) -> &str {
        let octave = 1 << random.between(8, OCTAVES - 1);
        &self.0[octave - 1 + random.below(octave)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn few_words_are_said_often_and_thousands_seldom() {
        let vocabulary = Vocabulary::new(1);
        assert_eq!(vocabulary.0.len(), 1 << OCTAVES);
        assert!(!vocabulary.0.iter().any(|word| word == RARE));
        let mut random = Random::new(1);
        let mut counts = BTreeMap::new();
        for _ in 0..100_000 {
            *counts.entry(vocabulary.word(&mut random)).or_insert(0_u32) += 1;
        }
        assert!(counts.len() > 5000, "{}", counts.len());
        assert!(counts["the"] > 5000 && counts[COMMON] > 300, "{} {}", counts["the"], counts[COMMON]);
        assert!(vocabulary.0.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'')));
    }
}
