//! What a person always or never wants: the clauses of their prompts that lay down a standing rule, as opposed to a task.

use super::claim::{Claim, Claims};
use baton_conversation::quoted_text::without_blocks;
use baton_episode::digest::{is_standing_rule, settled, standing_rules, tells_how};

/// Subjects whose wishes a note states.
const WHO: [&str; 4] = ["the user ", "user ", "the team ", "our team "];
/// Words that forbid what follows.
const NEVER: [&str; 7] = ["never", "nie", "niemals", "nunca", "jamais", "никогда", "永远不要"];
/// Most words of a refusal that only names another program.
const REFUSAL_WORDS: usize = 3;

/// A rule of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    /// Their sentence without the final stop.
    pub(super) text: String,
    pub(super) claims: Claims,
}

/// Returns the rules that a prompt lays down, in order.
pub(super) fn rules(group: &str, prompt: &str) -> Vec<Rule> {
    let prompt = without_blocks(prompt);
    standing_rules(&prompt).into_iter().map(|clause| rule(group, clause, clause)).collect()
}

/// Returns the rule in a sentence of a note, which may be about its author or about the user: `The user prefers tabs`.
pub(super) fn rule_in_note(group: &str, sentence: &str) -> Option<Rule> {
    let low = sentence.to_ascii_lowercase();
    let who = WHO.iter().find(|who| low.starts_with(**who)).map_or(0, |who| who.len());
    let said = &sentence[who..];
    is_standing_rule(said).then(|| rule(group, sentence, said))
}

/// Returns the rule in the refusal of a command line of `program`: it only names another to be used.
pub(super) fn rule_in_refusal(group: &str, said: &str, program: &str) -> Option<Rule> {
    let is_short = said.split_whitespace().count() <= REFUSAL_WORDS && tells_how(said);
    let names_another = settled(said).chosen.is_some_and(|chosen| chosen != program);
    (is_short && names_another).then(|| rule(group, said, &format!("{said} instead of {program}")))
}

/// Creates the rule with the text of `sentence`; `said` is its predicate.
fn rule(group: &str, sentence: &str, said: &str) -> Rule {
    let text = sentence.trim().trim_end_matches(['.', '!', ',', '。', '！', ' ']);
    let mut chars = text.chars();
    let text = match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    };
    let mut claims = Claims::of(&settled(said), group, "wish", true);
    let said = said.trim_end_matches(['.', '!', ' ']).to_lowercase();
    // `always push` and `never push` are two answers to one question.
    if let Some((mark, act)) = said.split_once(' ') {
        claims.add(Claim::new(group, "rule", act, if NEVER.contains(&mark) { "never" } else { "always" }));
    }
    Rule { text, claims }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(prompt: &str) -> Vec<String> {
        rules("g", prompt).into_iter().map(|rule| rule.text).collect()
    }

    #[test]
    fn a_rule_is_said_as_one_and_a_task_is_none() {
        let check = |prompt: &str, expected: &[&str]| assert_eq!(texts(prompt), expected, "{prompt}");
        check("Fix the test. Always use tabs!", &["always use tabs"]);
        check("From now on use spaces instead of tabs", &["from now on use spaces instead of tabs"]);
        check("I prefer short answers.", &["I prefer short answers"]);
        check("Ab jetzt bitte nur Deutsch.", &["ab jetzt bitte nur Deutsch"]);
        check("Use pnpm here", &[]);
        check("Never mind the last one", &[]);
        check("should we always use tabs?", &[]);
        check("```\nnever use npm\n```\ngo on", &[]);
        check("Implement the following plan:\n\n# Merge\n\n- Never duplicate information", &[]);
    }

    #[test]
    fn two_answers_to_one_question_exclude_each_other() {
        let ends = |later: &str, earlier: &str| {
            let (later, earlier) = (rules("g", later).remove(0).claims, rules("g", earlier).remove(0).claims);
            later
                .settles
                .iter()
                .any(|new| earlier.rests.iter().any(|old| new.slot == old.slot && new.value != old.value))
        };
        assert!(ends("never push to main", "always push to main"));
        assert!(ends("from now on use spaces instead of tabs", "always use tabs"));
        assert!(!ends("always run the tests", "never push to main"));
    }
}
