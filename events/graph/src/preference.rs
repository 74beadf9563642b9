//! What a person always or never wants: the clauses of their prompts that lay down a standing rule, as opposed to a task.

use super::claim::{Claim, Claims};
use super::settled::settled;
use baton_conversation::quoted_text::without_blocks;
use baton_episode::digest::{is_standing_rule, standing_rules};

/// Subjects whose wishes a note states.
const WHO: [&str; 4] = ["the user ", "user ", "the team ", "our team "];

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
    let settled = settled(said);
    let mut claims = settled.claims(group);
    let said = said.trim_end_matches(['.', '!', ' ']).to_lowercase();
    // `always push` and `never push` are two answers to one question.
    if let Some((mark, act)) = said.split_once(' ') {
        claims.add(Claim::new(group, "rule", act, mark));
        if let (None, Some((_, thing))) = (&settled.rejected, act.split_once(' '))
            && !thing.contains(' ')
        {
            claims.add(Claim::new(group, "use", thing, "yes"));
        }
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
