//! What a decision takes and what it turns down, by name: `sled instead of SQLite`.
//!
//! # Decisions
//!
//! - Only single names next to the contrast count, because `a queue` may be one thing here and another there. Missing
//!   that a decision was reversed costs less than claiming a reversal that did not happen.

use super::claim::{Claim, Claims};
use baton_episode::digest::contrasted;

/// Marks before what was replaced and before what replaces it.
const REPLACING: [(&str, &str); 4] =
    [(" from ", " to "), ("replaced ", " with "), ("replace ", " with "), ("Replaced ", " with ")];
/// Longest name, in bytes.
const NAME_BYTES: usize = 60;
/// A shorter word after a name goes on with the sentence and is no part of the name, in bytes.
const FUNCTION_WORD_BYTES: usize = 3;
/// A longer word before a name describes it: `tested component`; in bytes.
const VERB_BYTES: usize = 5;
/// Words that name nothing.
const PRONOUNS: [&str; 8] = ["it", "that", "this", "them", "these", "those", "one", "the"];

/// Words that begin another name.
const ARTICLES: [&str; 6] = ["a", "an", "the", "der", "die", "das"];

/// What a decision settles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// What is taken, in lower case.
    pub(super) chosen: Option<String>,
    /// What is turned down, in lower case.
    pub(super) rejected: Option<String>,
    /// True if one of both is a name by its form.
    is_named: bool,
}

/// Returns what a text settles. Without a contrast, the only name of the text is chosen.
pub(super) fn settled(text: &str) -> Settled {
    if let Some((chosen, rejected)) = contrasted(text) {
        let ends = [chosen.split_whitespace().next_back(), rejected.split_whitespace().next()];
        let is_named = ends.into_iter().flatten().any(is_telling);
        return Settled { chosen: last_name(chosen), rejected: first_name(rejected), is_named };
    }
    for (from, to) in REPLACING {
        let Some((_, rest)) = text.split_once(from) else { continue };
        let Some((rejected, chosen)) = rest.split_once(to) else { continue };
        let is_named = [rejected, chosen].into_iter().filter_map(|end| end.split_whitespace().next()).any(is_telling);
        if let (false, Some(rejected), Some(chosen)) =
            (rejected.contains(' '), first_name(rejected), first_name(chosen))
        {
            return Settled { chosen: Some(chosen), rejected: Some(rejected), is_named };
        }
    }
    let mut names = text.split_whitespace().filter(|word| is_telling(word)).filter_map(name);
    match (names.next(), names.next()) {
        (Some(only), None) => Settled { chosen: Some(only), ..Settled::default() },
        _ => Settled::default(),
    }
}

impl Settled {
    /// Returns the topic if both options are known, and one is a name by its form: `sled or sqlite`.
    pub(super) fn topic(&self) -> Option<String> {
        let (a, b) = self.chosen.as_ref().zip(self.rejected.as_ref()).filter(|(a, b)| self.is_named && a != b)?;
        Some(format!("{} or {}", a.min(b), a.max(b)))
    }

    /// Returns the claims: a later decision that turns down what this one takes ends it, and vice versa.
    pub(super) fn claims(&self, group: &str) -> Claims {
        let mut claims = Claims::default();
        for (name, value) in [(&self.chosen, "yes"), (&self.rejected, "no")] {
            if let Some(name) = name {
                claims.add(Claim::new(group, "use", name, value));
            }
        }
        claims
    }
}

/// Returns the name at the end of a text: the last word, if no adjective stands before it.
fn last_name(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().rev();
    let last = words.next()?;
    let is_bare = words.next().is_none_or(|before| before.len() <= VERB_BYTES && !before.eq_ignore_ascii_case("the"));
    if is_telling(last) || is_bare { name(last) } else { None }
}

/// Returns the name at the beginning of a text: the first word, if no noun follows it.
fn first_name(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    // An article goes on after a verb: `instead of using the`.
    let ends = |next: &str| {
        let is_short =
            next.len() <= FUNCTION_WORD_BYTES && next.chars().all(|c| c.is_lowercase() || !c.is_alphabetic());
        next == "because" || (is_short && !ARTICLES.contains(&next))
    };
    let is_bare = first.ends_with(['.', ',', ';', ':', ')', '!']) || words.next().is_none_or(ends);
    if is_telling(first) || is_bare { name(first) } else { None }
}

/// Returns true for a word that is a name by its form: `` `sled` ``, `SQLite`, `engine.ts`.
fn is_telling(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    (word.starts_with('`') && word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '`').ends_with('`'))
        || bare.chars().skip(1).any(|c| c.is_uppercase() || matches!(c, '_' | '.' | '/'))
}

/// Returns the word as a name, in lower case.
fn name(word: &str) -> Option<String> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '@' | '#' | '+')).to_lowercase();
    let is_name = bare.len() > 1 && bare.len() <= NAME_BYTES && !PRONOUNS.contains(&&*bare);
    let is_plain = bare.chars().all(|c| c.is_alphanumeric() || "_-./:@#+".contains(c));
    (is_name && is_plain && bare.chars().any(char::is_alphabetic)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_names_beside_a_contrast_count() {
        let check = |text: &str, chosen: Option<&str>, rejected: Option<&str>| {
            let found = settled(text);
            assert_eq!((found.chosen.as_deref(), found.rejected.as_deref()), (chosen, rejected), "{text}");
        };
        check("We use sled instead of SQLite for the log, because it is small.", Some("sled"), Some("sqlite"));
        check(
            "recorder.js now uses AudioWorklet instead of ScriptProcessor",
            Some("audioworklet"),
            Some("scriptprocessor"),
        );
        check("We switched from SQLite to sled for the log", Some("sled"), Some("sqlite"));
        check("Replaced `load()` with `read()`, including costs", Some("read"), Some("load"));
        check("Replaced `.split(\".\")[0]` with `ids[input]`", None, None);
        check("We use SQLite for the log", Some("sqlite"), None);
        check("Wir nehmen Postgres statt Redis.", None, Some("redis"));
        check("Well-tested: an existing, tested component instead of new code", None, None);
        check("Runs on the audio rendering thread instead of main thread", None, None);
        check("Start from scratch instead of using the cache", Some("scratch"), None);
        check("Keep the queue.", None, None);
    }

    #[test]
    fn a_later_contrast_ends_an_earlier_choice() {
        let ends = |later: &str, earlier: &str| {
            let (later, earlier) = (settled(later).claims("g"), settled(earlier).claims("g"));
            later
                .settles
                .iter()
                .any(|new| earlier.rests.iter().any(|old| new.slot == old.slot && new.value != old.value))
        };
        assert!(ends("We switched from SQLite to sled", "We use SQLite for the log"));
        assert!(ends("use SQLite instead of sled", "use sled instead of SQLite"));
        assert!(!ends("use npm instead of yarn", "use sled instead of SQLite"));
    }
}
