//! Detects texts that repeat an earlier one in other words.

use std::collections::BTreeSet;

use super::Pointed;
use super::label::without_brackets;

/// Minimum length of a word that counts, in bytes.
const TELLING_BYTES: usize = 4;
/// Two texts say the same if of every `WHOLE` words of the shorter …
const WHOLE: usize = 4;
/// … at least `SAME` are in the longer one.
const SAME: usize = 3;
/// Maximum number of texts that a new one is compared with, the last ones.
const MAX_COMPARED: usize = 200;

/// Fewest words of a clause by which two texts say the same, and how many letters of a word count.
const CLAUSE_WORDS: usize = 3;
const STEM_CHARS: usize = 6;

/// The texts so far.
#[derive(Default)]
pub(super) struct SeenTexts(Vec<Words>);

/// What a text adds to the texts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Novelty {
    /// Something new.
    New,
    /// Nothing.
    Same,
    /// The same with other numbers as an earlier text: its index among those that were not `Same`.
    Instead(usize),
}

#[derive(PartialEq, Eq)]
struct Words {
    telling: BTreeSet<String>,
    numbers: BTreeSet<String>,
}

impl SeenTexts {
    /// Records a text; returns true if it adds anything.
    pub(super) fn is_new(&mut self, text: &str) -> bool {
        self.add(text) != Novelty::Same
    }

    /// Records a text and returns what it adds.
    pub(super) fn add(&mut self, text: &str) -> Novelty {
        let words = Words { telling: significant_words(text), numbers: numbers(text) };
        let from = self.0.len().saturating_sub(MAX_COMPARED);
        let mut instead = None;
        for (at, told) in
            self.0.iter().enumerate().skip(from).filter(|(_, told)| is_same_statement(&told.telling, &words.telling))
        {
            if told.numbers == words.numbers {
                return Novelty::Same;
            }
            instead = Some(at);
        }
        self.0.push(words);
        instead.map_or(Novelty::New, Novelty::Instead)
    }
}

/// Sorts what was found by position and drops repetitions, also of what was `told` elsewhere.
pub(super) fn without_repetitions(mut found: Vec<(usize, Pointed)>, mut told: SeenTexts) -> Vec<Pointed> {
    found.sort_by_key(|(place, _)| *place);
    let elsewhere = told.0.len();
    let mut once: Vec<Option<Pointed>> = Vec::new();
    for (_, pointed) in found {
        match told.add(&pointed.text) {
            Novelty::Same => continue,
            Novelty::Instead(earlier) if earlier >= elsewhere => once[earlier - elsewhere] = None,
            Novelty::Instead(_) | Novelty::New => {}
        }
        once.push(Some(pointed));
    }
    once.into_iter().flatten().collect()
}

/// What a text tells, in all and by clause.
pub(super) struct Telling<'t> {
    text: &'t str,
    words: BTreeSet<String>,
    /// Empty if there is only one.
    clauses: Vec<(String, BTreeSet<String>)>,
}

impl<'t> Telling<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        let bare = without_brackets(text);
        let clauses = bare.split([',', ';']).map(|clause| (clause.to_owned(), stems(clause)));
        let mut clauses: Vec<_> = clauses.filter(|(_, words)| !words.is_empty()).collect();
        if clauses.len() == 1 {
            clauses.clear();
        }
        Self { text, words: stems(&bare), clauses }
    }

    /// Returns true if one of several clauses says what another text, of which this one has most words, says.
    pub(super) fn contains(&self, other: &Self) -> bool {
        let tells = |(clause, words): &(String, BTreeSet<String>)| {
            words.len() >= CLAUSE_WORDS
                && words.intersection(&other.words).count() * WHOLE >= words.len() * SAME
                && names_all(clause, other.text)
        };
        let fewest = self.words.len().min(other.words.len());
        !self.clauses.is_empty()
            && self.words.intersection(&other.words).count() * 2 > fewest
            && self.clauses.iter().any(tells)
    }
}

/// Returns the beginnings of the words of a text, and of the parts of its names: `ropeLength` is two.
fn stems(text: &str) -> BTreeSet<String> {
    let mut parted = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_uppercase() && parted.ends_with(char::is_lowercase) {
            parted.push(' ');
        }
        parted.push(c);
    }
    significant_words(&parted).into_iter().map(|word| word.chars().take(STEM_CHARS).collect()).collect()
}

/// Returns true if a text has all code that another names.
pub(super) fn names_all(one: &str, other: &str) -> bool {
    one.split('`').skip(1).step_by(2).all(|code| other.contains(code.trim_end_matches("()")))
}

/// Words with a digit: 30 seconds are not 5 seconds.
fn numbers(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_lowercase).collect()
}

pub(super) fn significant_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= TELLING_BYTES);
    words.filter(|word| !word.contains(|c: char| c.is_ascii_digit())).map(str::to_lowercase).collect()
}

/// Returns true if a longer text says what a text says.
pub(crate) fn is_told_in(text: &str, longer: &str) -> bool {
    let (words, longer) = (significant_words(text), significant_words(longer));
    !words.is_empty() && words.intersection(&longer).count() * WHOLE >= words.len() * SAME
}

fn is_same_statement(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
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
        let mut told = SeenTexts::default();
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

    #[test]
    fn other_numbers_say_something_else() {
        let mut told = SeenTexts::default();
        for (text, news) in [
            ("Set the timeout to 30 seconds, because upstream answers within 20", Novelty::New),
            ("Set the timeout to 30 seconds because upstream answers within 20.", Novelty::Same),
            ("Set the timeout to 5 seconds, because upstream answers within 2", Novelty::Instead(0)),
            ("Use port 8080", Novelty::New),
            ("Use port 9090", Novelty::Instead(2)),
        ] {
            assert_eq!(told.add(text), news, "{text}");
        }
    }

    #[test]
    fn one_of_several_clauses_tells_what_another_text_tells() {
        let list = "Larger parts — bumped the drum from `text-s` to `text-m`, the metal plate from `text-xs` to `text-s`, and WinchLabel from `text-xs` to `text-s`";
        for (text, other, tells) in [
            (list, "Bump the metal plate (tons, time) from `text-xs` to `text-s`", true),
            (list, "Make the winch label slightly larger: `text-s` instead of `text-xs`", true),
            (list, "Bump the metal plate from `text-xs` to `text-xl`", false),
            (list, "Keep the hooks as they are on every crane", false),
            (
                "Wind it twice; also paint the drum when loaded",
                "Drum is also painted below the winch when loaded",
                true,
            ),
            (
                "I rewrite the whole winch, so I'll write the full file",
                "I write the full file as edits fail with tabs",
                false,
            ),
        ] {
            assert_eq!(Telling::read(text).contains(&Telling::read(other)), tells, "{text}: {other}");
        }
    }
}
