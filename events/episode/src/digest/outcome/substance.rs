//! Which sentences of a conclusion say something about the work.

use super::super::sentence::{Sentence, is_of_links, plain};
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;

/// Words for all of something.
static ALL: WordList = WordList::new(crate::WORDS, "words of completeness");
/// Fewest words of a sentence.
pub(super) const MIN_WORDS: usize = 3;

/// Words for what checks a work tree, and for how that went.
static CHECKS: WordList = WordList::new(crate::WORDS, "words of checks");
static VERDICTS: WordList = WordList::new(crate::WORDS, "words of verdicts");

/// Words that claim that something stayed as it was, or was looked at.
static ASSURANCES: WordList = WordList::new(crate::WORDS, "assurances");

/// Words for what is in a commit and what is not.
const TREE: [&str; 5] = ["committed", "staged", "uncommitted", "unstaged", "untracked"];

/// Returns true for a sentence of substance that is not about a check or a commit.
pub(super) fn tells(sentence: &Sentence<'_>) -> bool {
    let signs = Signs::read(sentence.text);
    let words = sentence.text.split_whitespace().count();
    let is_long =
        words >= MIN_WORDS || !sentence.text.is_ascii() || sentence.point && (words > 1 || names_thing(sentence.text));
    let is_idle = signs.asks() || signs.begins(Sign::Announce) || signs.has_any(&[Sign::Offer, Sign::Next]);
    is_long
        && !is_idle
        && !is_label(sentence.text)
        && !claims_all(sentence.text)
        && !only_assures(sentence.text)
        && !is_of_links(sentence.text)
        && !sentence.quoted
        && !is_of_checks(sentence.text)
        && !is_of_a_commit(sentence.text)
}

/// Returns true for a sentence that claims that all of something unnamed is done.
fn claims_all(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`');
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let begins = ALL.has(&first) || ALL.iter().any(|all| !all.is_ascii() && text.starts_with(all));
    begins && !is_lead(text) && !text.contains('`') && !has_path(text)
}

/// Returns true for a sentence that assures that something stayed as it was, or was looked at, without naming what shows it.
pub(super) fn only_assures(text: &str) -> bool {
    let text = plain(text);
    // The label of an item names it.
    let said = text.split_once(": ").map_or("", |(_, said)| said);
    let begins = |text: &str| {
        let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        first.is_some_and(|first| ASSURANCES.has(&first.to_lowercase()))
            || ASSURANCES.iter().any(|word| !word.is_ascii() && text.starts_with(word))
    };
    !text.contains('`') && !has_path(&text) && (begins(&text) || begins(said))
}

/// Returns true for a sentence behind a label of few words: `In short: …`.
pub(super) fn sums_up(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(label, _)| label.split_whitespace().count() <= MIN_WORDS)
}

/// Returns true for a label with nothing but code behind it.
fn is_label(text: &str) -> bool {
    let text = plain(text);
    let rest = text.split_once(": ").map_or("", |(_, rest)| rest.trim().trim_end_matches('.'));
    rest.len() > 1 && rest.starts_with('`') && rest.ends_with('`') && rest.matches('`').count() == 2
}

/// Returns true for a sentence that only says how checks went.
fn is_of_checks(text: &str) -> bool {
    reports_checks(text) && !Signs::read(text).has(Sign::Change) && !has_path(text)
}

/// Returns true for a sentence that says how checks went.
pub(super) fn reports_checks(text: &str) -> bool {
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let has = |list: &[&str]| words().any(|word| list.contains(&word.as_str()));
    let is_wide = CHECKS.iter().any(|word| !word.is_ascii() && text.contains(word));
    let went = has(&VERDICTS) || Signs::read(text).has_any(&[Sign::Result, Sign::Works]) || text.contains('✅');
    went && (is_wide || has(&CHECKS))
}

/// Returns true for a sentence that only says that something was committed or pushed.
fn is_of_a_commit(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let bare = bare.strip_prefix("the ").or_else(|| bare.strip_prefix("all ")).unwrap_or(&bare);
    let delivers = ["commit", "pushed", "changelog", "pre-commit"].iter().any(|word| bare.starts_with(word));
    let is_hash = |word: &str| word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = || bare.split(|c: char| !c.is_alphanumeric());
    let names_one = words().any(is_hash);
    let names_tree = ["origin/", "working tree", "work tree"].iter().any(|name| bare.contains(name));
    let is_of_the_tree =
        (names_tree || words().any(|word| TREE.contains(&word))) && !Signs::read(text).has(Sign::Change);
    is_of_the_tree
        || delivers
            && (names_one
                || ["success", "created", "updated", "pass", "to main", "committed"]
                    .iter()
                    .any(|word| bare.contains(word)))
}

/// Returns true if a sentence names a thing: code, a path, an identifier, a name, a number, a quotation.
pub(super) fn names_thing(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '`' | '"' | '/' | '.' | '@'));
    let is_name = |(at, word): (usize, &str)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mut chars = word.chars();
        let capital = chars.next().is_some_and(char::is_uppercase) && word.len() > 1 && at > 0;
        capital || chars.any(char::is_uppercase) || word.contains('_')
    };
    text.contains(['`', '"', '“', '「'])
        || text.chars().any(|c| c.is_ascii_digit())
        || !text.is_ascii() && text.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
        || has_path(text)
        || text.split_whitespace().enumerate().any(is_name)
}

fn has_path(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
        let ending = word.rsplit_once('.').map(|(stem, ending)| !stem.is_empty() && (1..=5).contains(&ending.len()));
        word.len() > 3
            && (word.contains('/') && word.chars().filter(|c| c.is_alphanumeric()).count() > 3 || ending == Some(true))
            && word.chars().any(char::is_alphabetic)
    })
}

pub(super) fn is_lead(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}
