//! Keeps one of several statements of the same decision.

use std::collections::{BTreeMap, BTreeSet};

use super::super::MAX_ENTRIES;
use super::super::agent_choice::Found;
use super::super::repetition::{Telling, names_all, significant_words};
use super::super::steering::without_place;

/// Two texts of fewer words are not compared.
pub(super) const TELLING_WORDS: usize = 4;

/// Drops what prompts say more than once in the same words if they do so with several sentences: that is a text which is
/// pasted each time. Of a single sentence the last one stays.
pub(super) fn without_templates(found: &mut Vec<Found>) {
    let mut lines: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for one in found.iter().filter(|one| one.by_person) {
        lines.entry(one.said.text.clone()).or_default().insert(one.said.line);
    }
    let mut repeated: BTreeMap<&BTreeSet<u64>, usize> = BTreeMap::new();
    lines.values().filter(|lines| lines.len() > 1).for_each(|lines| *repeated.entry(lines).or_default() += 1);
    found.retain(|one| {
        let Some(lines) = lines.get(&one.said.text).filter(|_| one.by_person) else { return true };
        lines.len() == 1 || repeated.get(lines) == Some(&1) && lines.last() == Some(&one.said.line)
    });
}

/// Returns true if two texts share half of the words of the shorter one.
pub(super) fn tells_the_same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let fewest = one.len().min(other.len());
    fewest >= TELLING_WORDS && one.intersection(other).count() * 2 >= fewest
}

/// Returns true if one of two texts has all code that the other names, but for the place that it is told of.
fn is_about_the_same(one: &str, other: &str) -> bool {
    let (one, other) = (without_label(one), without_label(other));
    names_all(one, other) || names_all(other, one)
}

/// Strips the place that a text tells of: `` `src/a.rs` — Added … ``.
fn without_label(text: &str) -> &str {
    let label = text.strip_prefix('`').and_then(|rest| rest.split_once("` — "));
    label.filter(|(place, _)| place.contains(['/', '.'])).map_or(text, |(_, said)| said)
}

/// Drops what is told again at a later line: half of its words, or of those of the later one, and about the same code; of
/// what a person says nothing that has a word of its own: `log errors as JSON`, `log counts as JSON`. Of two texts of the
/// agent of which one says among others what the other says, the fuller one stays.
pub(super) fn told_last(found: Vec<Found>) -> Vec<Found> {
    let matter: Vec<BTreeSet<String>> =
        found.iter().map(|found| significant_words(without_place(&found.said.text))).collect();
    let is_told_again = |at: usize| {
        let until = found.len().min(at + MAX_ENTRIES);
        (at + 1..until).filter(|later| found[*later].said.line != found[at].said.line).any(|later| {
            let says_more = found[at].by_person && !matter[at].is_subset(&matter[later]);
            !says_more
                && tells_the_same(&matter[at], &matter[later])
                && is_about_the_same(&found[at].said.text, &found[later].said.text)
        })
    };
    let mut again: Vec<bool> = (0..found.len()).map(is_told_again).collect();
    let told: Vec<Telling<'_>> = found.iter().map(|found| Telling::read(&found.said.text)).collect();
    for at in 0..found.len() {
        for later in at + 1..found.len().min(at + MAX_ENTRIES) {
            let (one, other) = (&found[at], &found[later]);
            let are_the_agents = !one.by_person && !other.by_person && one.said.line != other.said.line;
            let are_both_told = are_the_agents && !again[at] && !again[later];
            if are_both_told && (told[at].contains(&told[later]) || told[later].contains(&told[at])) {
                again[if matter[at].len() > matter[later].len() { later } else { at }] = true;
            }
        }
    }
    found.into_iter().zip(again).filter(|(_, again)| !again).map(|(found, _)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_about_different_code_are_not_the_same() {
        for (one, other, same) in [
            ("Wind it with `drum()`", "It is wound by `drum`, not `jib`", true),
            ("Wind it with `drum`", "Wind it", true),
            ("Keep `drum` in `winch.toml`", "Keep `jib` in `winch.toml`", false),
            ("`src/drum.rs` — Added `oil` to `parts`", "Add `oil` to `parts` in `refill()`", true),
        ] {
            assert_eq!(is_about_the_same(one, other), same, "{one}");
        }
    }
}
