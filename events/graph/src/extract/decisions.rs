//! Decisions and preferences, as facts that can be reversed.

use super::{Extractor, text};
use crate::builder::{FactDraft, Moment};
use crate::claim::Claim;
use crate::one_line::one_line;
use crate::preference;
use crate::preference::Rule;
use crate::stance;
use crate::stance::Claims;
use crate::{Label, Relation, program};
use baton_conversation::item::{Body, Item, Outcome};
use baton_episode::digest::{Episode, answered, is_laid_down};

/// Maximum length of a topic that is the beginning of the decision's text, in characters.
const HEAD_CHARS: usize = 90;
/// Maximum length of a command inside a fact, in characters.
const SHORT_CHARS: usize = 80;
/// Prefix by which the digest marks a person's words on refusing a call.
const REFUSED: &str = "User refused ";
/// Prefix by which the digest marks a person's words.
const PERSON: &str = "User: ";
/// Entity name of the person who types the prompts.
pub(crate) const NAME: &str = "user";
/// Detail of that entity.
pub(crate) const WHO: &str = "who types the prompts";
/// Minimum number of words of a question whose answers can contradict each other.
const QUESTION_WORDS: usize = 5;
/// Beginnings of such a question: it asks for one of several things, not whether to continue.
const ASKING_FOR_ONE: [&str; 6] =
    ["which ", "what ", "where ", "how should ", "how do you want ", "how would you like "];

impl Extractor<'_> {
    /// Adds the preferences in prompts and answers of the person. A subagent has none, as no person prompts it.
    pub(super) fn preferences(&mut self, items: &[Item]) {
        if self.at.parent.is_some() {
            return;
        }
        for item in items.iter().filter(|item| !item.sidechain) {
            let (Body::Prompt { text: said } | Body::Answer { text: said }) = &item.body else { continue };
            // An answer that settles a question states nothing beyond it.
            if matches!(item.body, Body::Answer { .. }) && !answered(said).is_empty() {
                continue;
            }
            let of = super::moment(item);
            for rule in preference::rules(self.builder.group(), said) {
                self.prefers(rule, "", of);
            }
            let refused = matches!(item.body, Body::Answer { .. }).then(|| self.refused(item.line)).flatten();
            if let Some(line) = refused {
                let program = program::commands(line).pop().and_then(|name| name.split(' ').next().map(str::to_owned));
                let rule = preference::rule_in_refusal(self.builder.group(), said, program.as_deref());
                let on = format!(" (said on refusing `{}`)", one_line(line, SHORT_CHARS));
                rule.into_iter().for_each(|rule| self.prefers(rule, &on, of));
            }
        }
    }

    fn prefers(&mut self, rule: Rule, on: &str, of: Moment) {
        let person = self.builder.mention(Label::Person, NAME, WHO, of, 1);
        let wanted = self.builder.mention(Label::Preference, &rule.text, "", of, 1);
        if let (Some(person), Some(wanted)) = (person, wanted) {
            let fact = format!("the user prefers: {}{on}", rule.text);
            self.builder.add(FactDraft::new(Relation::Prefers, person, wanted).with_claims(rule.claims), &fact, of);
        }
    }

    /// Returns the command line whose refusal is recorded at a line.
    fn refused(&self, line: u64) -> Option<&str> {
        let (call, _) = self.calls.get(&*self.result(line, Outcome::Denied)?.id)?;
        text(call, "command")
    }

    /// Adds the decisions, with their reasons, by topic.
    pub(super) fn decisions(&mut self, episode: &Episode) {
        for decision in &episode.decisions {
            let said = decision.text.split_once(PERSON);
            let is_rule = |before: &str, said: &str| before.is_empty() && preference::is_rule(said);
            if said.is_some_and(|(before, said)| self.at.parent.is_some() || is_rule(before, said)) {
                continue;
            }
            if !settles(&decision.text) {
                continue;
            }
            let of = Moment { line: decision.line, at: decision.at };
            let settled = self.settled(&decision.text);
            let Some(topic) = self.builder.mention(Label::Topic, &settled.topic, "", of, 1) else { continue };
            let source = self.project.unwrap_or(self.session);
            let fact = format!("decided{}: {}", self.place, decision.text);
            let said =
                FactDraft::new(Relation::Decided, source, topic).with_value(settled.value).with_claims(settled.claims);
            self.builder.add(said, &fact, of);
        }
    }

    fn settled(&self, text: &str) -> Settled {
        // For a question with its answer, the answer is the value.
        if let Some((question, answer)) = text.split_once(PERSON).filter(|(question, _)| question.len() > 1) {
            let question = question.trim();
            let claims = self.answered(question, answer);
            return Settled { topic: one_line(question, HEAD_CHARS), value: answer.trim().to_owned(), claims };
        }
        settled(self.builder.group(), text.strip_prefix(PERSON).unwrap_or(text))
    }

    /// Returns the claims of an answered question: another answer to the same question reverses the first, if it asks
    /// for one of several things.
    fn answered(&self, question: &str, answer: &str) -> Claims {
        let question = question.to_lowercase();
        let telling = ASKING_FOR_ONE.iter().any(|start| question.starts_with(start))
            && question.split_whitespace().count() >= QUESTION_WORDS
            && !question.ends_with('…');
        let mut claims = Claims::default();
        if telling {
            let claim = Claim::new(self.builder.group(), "question", &question, &answer.trim().to_lowercase());
            claims.rests.push(claim);
            claims.settles.push(claim);
        }
        claims
    }
}

/// Returns true if a decision also matters later. What a person says on stopping the agent or refusing a call mostly
/// concerns that one call, and an answer without its question decides nothing.
fn settles(text: &str) -> bool {
    if let Some(said) = text.strip_prefix(PERSON) {
        return is_laid_down(said);
    }
    let Some(rest) = text.strip_prefix(REFUSED) else { return true };
    let said = match rest.strip_prefix('`') {
        Some(command) => command.split_once("`: ").map(|(_, said)| said),
        None => rest.split_once(": ").map(|(_, said)| said),
    };
    said.is_some_and(|said| is_laid_down(said) || preference::rule_in_refusal("", said, None).is_some())
}

/// What a decision is about, how it is settled, and what that excludes.
pub(crate) struct Settled {
    pub(crate) topic: String,
    pub(crate) value: String,
    pub(crate) claims: Claims,
}

/// Returns what a sentence of choice settles.
pub(crate) fn settled(group: &str, text: &str) -> Settled {
    let stances = stance::stances(text);
    let mut claims = Claims::default();
    for stance in &stances {
        let more = stance.claims(group);
        claims.rests.extend(more.rests);
        claims.settles.extend(more.settles);
    }
    match stances.iter().find_map(|stance| Some((stance.topic()?, stance.value()))) {
        Some((topic, value)) => Settled { topic, value, claims },
        None => Settled { topic: one_line(text, HEAD_CHARS), value: String::new(), claims },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_one_thing_alone_is_no_decision() {
        let mut wrong = Vec::new();
        let mut check = |expected: bool, texts: &[&str]| {
            wrong.extend(texts.iter().filter(|text| settles(text) != expected).map(|text| (*text).to_owned()));
        };
        check(
            true,
            &[
                "I decided to use sled instead of SQLite.",
                "Which of them? User: the second",
                "User: no, use a systemd timer instead, because cron on that box doesn't catch up",
                "User: keep it as one file, because the service copies one",
                "User: don't store the token in the config",
                "User refused `npm install`: use pnpm",
                "User refused the plan: Let's keep the name of the py file but change the script to reference it",
                "User refused Edit src/a.rs: not in this module, the parser should not know of it",
            ],
        );
        check(
            false,
            &[
                "User: You can set group.visible using the vis library which is less work",
                "User: I think the library is setting it, it's an inline style",
                "User: Never mind! But I'd like to ask you to add a list of details.",
                "User: So the link is https://x.org/a and the upgrade is already done, otherwise all good",
                "User: Keep it same overall length as the pros or cons.",
                "User: OK, so first commit the changes of the previous task, then proceed with this new plan.",
                "User: since settings.json is in the repo perhaps we don't need it and the local one will do right",
                "User refused `git commit -m \"Add: files\"`: please add transformer.js too first",
                "User refused `git add -A`: Wait a sec, we need to copy the icon to the other repo too",
            ],
        );
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
