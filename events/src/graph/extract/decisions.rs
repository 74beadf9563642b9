//! What was decided and what a person prefers, as facts that can be reversed.

use super::Walk;
use crate::conversation::{Body, Item};
use crate::digest::Episode;
use crate::graph::claim::Claim;
use crate::graph::gather::{Moment, Said, one_line};
use crate::graph::stance::{self, Claims};
use crate::graph::{Label, Relation, preference};

/// Longest name of a topic that is no more than the beginning of what was decided, in characters.
const HEAD_CHARS: usize = 90;
/// How the digest marks what a person said.
const PERSON: &str = "User: ";
/// What the person who types prompts is called.
pub(in crate::graph) const NAME: &str = "user";
/// What is said of them.
pub(in crate::graph) const WHO: &str = "who types the prompts";
/// Words that a question has at least whose answers can contradict each other.
const QUESTION_WORDS: usize = 5;
/// How such a question begins: it asks for one of several, and not whether to go on.
const ASKING_FOR_ONE: [&str; 6] =
    ["which ", "what ", "where ", "how should ", "how do you want ", "how would you like "];

impl Walk<'_> {
    /// What a person wants always, by their prompts and answers. A subagent is prompted by no person.
    pub(super) fn preferences(&mut self, items: &[Item]) {
        if self.at.parent.is_some() {
            return;
        }
        for item in items.iter().filter(|item| !item.sidechain) {
            let (Body::Prompt { text } | Body::Answer { text }) = &item.body else { continue };
            let of = super::moment(item);
            for rule in preference::rules(self.gather.group(), text) {
                let person = self.gather.mention(Label::Person, NAME, WHO, of, 1);
                let wanted = self.gather.mention(Label::Preference, &rule.text, "", of, 1);
                if let (Some(person), Some(wanted)) = (person, wanted) {
                    let fact = format!("the user prefers: {}", rule.text);
                    self.gather.say(Said::of(Relation::Prefers, person, wanted).claiming(rule.claims), &fact, of);
                }
            }
        }
    }

    /// What was settled, with its reason, by topic.
    pub(super) fn decisions(&mut self, episode: &Episode) {
        for decision in &episode.decisions {
            let said = decision.text.split_once(PERSON);
            if said.is_some_and(|(_, said)| self.at.parent.is_some() || preference::is_rule(said)) {
                continue;
            }
            let of = Moment { line: decision.line, at: decision.at };
            let settled = self.settled(&decision.text);
            let Some(topic) = self.gather.mention(Label::Topic, &settled.topic, "", of, 1) else { continue };
            let source = self.project.unwrap_or(self.session);
            let fact = format!("decided{}: {}", self.place, decision.text);
            let said = Said::of(Relation::Decided, source, topic).valued(settled.value).claiming(settled.claims);
            self.gather.say(said, &fact, of);
        }
    }

    fn settled(&self, text: &str) -> Settled {
        // A question with its answer: the answer is the value.
        if let Some((question, answer)) = text.split_once(PERSON).filter(|(question, _)| question.len() > 1) {
            let question = question.trim();
            let claims = self.answered(question, answer);
            return Settled { topic: one_line(question, HEAD_CHARS), value: answer.trim().to_owned(), claims };
        }
        settled(self.gather.group(), text.strip_prefix(PERSON).unwrap_or(text))
    }

    /// Another answer to the same question reverses the first, when it asks for one of several things.
    fn answered(&self, question: &str, answer: &str) -> Claims {
        let question = question.to_lowercase();
        let telling = ASKING_FOR_ONE.iter().any(|start| question.starts_with(start))
            && question.split_whitespace().count() >= QUESTION_WORDS
            && !question.ends_with('…');
        let mut claims = Claims::default();
        if telling {
            let claim = Claim::new(self.gather.group(), "question", &question, &answer.trim().to_lowercase());
            claims.rests.push(claim);
            claims.settles.push(claim);
        }
        claims
    }
}

/// What a decision is about, how it is settled, and what that excludes.
pub(in crate::graph) struct Settled {
    pub(in crate::graph) topic: String,
    pub(in crate::graph) value: String,
    pub(in crate::graph) claims: Claims,
}

/// What a sentence of choice settles.
pub(in crate::graph) fn settled(group: &str, text: &str) -> Settled {
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
