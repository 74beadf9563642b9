//! Standing rules of a person: what they want always, never, or from now on.

use super::plan;
use super::sentence::clauses;
use super::steering::without_assent;
use crate::lexicon::{Sign, Signs};
use baton_conversation::quoted_text::own_words;

/// A longer prompt describes a task or contains pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 1_500;
/// A longer clause is not a rule, in bytes.
const MAX_CLAUSE_BYTES: usize = 280;
/// Maximum number of rules of one prompt.
const MAX_RULES: usize = 12;

/// Returns the clauses of a person's prompt that lay down a standing rule, without assent before them.
pub fn standing_rules(prompt: &str) -> Vec<&str> {
    let is_own = prompt.len() <= MAX_PROMPT_BYTES && plan::pasted_plan(prompt).is_none();
    if !is_own || super::is_for_the_harness(prompt.trim()) {
        return Vec::new();
    }
    let rules = clauses(prompt).map(without_assent).filter(|clause| is_standing_rule(clause));
    rules.take(MAX_RULES).collect()
}

/// Returns true if a clause says what is wanted always, never, or from now on.
pub fn is_standing_rule(clause: &str) -> bool {
    let signs = Signs::read(&own_words(clause));
    let says_much = clause.split_whitespace().count() > 2 || !clause.is_ascii();
    clause.len() <= MAX_CLAUSE_BYTES
        && says_much
        && signs.has(Sign::Standing)
        && !signs.asks()
        && !signs.has(Sign::Trouble)
        && !signs.begins(Sign::Order)
}

/// Returns true if a person's clause begins by telling how something shall be done.
pub fn tells_how(clause: &str) -> bool {
    let signs = Signs::read(without_assent(clause));
    signs.begins(Sign::Direct) && !signs.asks()
}
