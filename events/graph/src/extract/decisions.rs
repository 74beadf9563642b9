//! Decisions and preferences, as facts that can be reversed.

use super::Extractor;
use crate::builder::{FactDraft, Moment};
use crate::claim::Claim;
use crate::preference::{Rule, rules};
use crate::settled::settled;
use crate::{Label, Relation};
use baton_conversation::item::{Body, Item};
use baton_episode::digest::{Episode, Pointed, answered, tells_how};

/// Prefix by which the digest marks a person's words on refusing a call.
const REFUSED: &str = "User refused ";
/// What the digest puts between a question and a person's answer.
const PERSON: &str = " User: ";
/// Entity name of the person who types the prompts.
pub(crate) const NAME: &str = "user";
/// Detail of that entity.
pub(crate) const WHO: &str = "who types the prompts";

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
            for rule in rules(self.builder.group(), said) {
                self.prefers(rule, super::moment(item));
            }
        }
    }

    fn prefers(&mut self, rule: Rule, of: Moment) {
        let person = self.builder.mention(Label::Person, NAME, WHO, of, 1);
        let wanted = self.builder.mention(Label::Preference, &rule.text, "", of, 1);
        if let (Some(person), Some(wanted)) = (person, wanted) {
            let fact = format!("the user prefers: {}", rule.text);
            self.builder.add(FactDraft::new(Relation::Prefers, person, wanted).with_claims(rule.claims), &fact, of);
        }
    }

    /// Adds the decisions. One that the session overruled ends with the next that it made.
    pub(super) fn decisions(&mut self, episode: &Episode) {
        for decision in &episode.superseded {
            let ends = episode.decisions.iter().any(|later| later.line > decision.line);
            if ends {
                self.decision(decision, episode, &[]);
            }
        }
        let mut overruled = &episode.superseded[..];
        for decision in &episode.decisions {
            let until = overruled.partition_point(|earlier| earlier.line < decision.line);
            let (ended, rest) = overruled.split_at(until);
            overruled = rest;
            self.decision(decision, episode, ended);
        }
    }

    /// Adds a decision about the two options that it names, else about what the session's title says.
    fn decision(&mut self, decision: &Pointed, episode: &Episode, ended: &[Pointed]) {
        if !is_lasting(&decision.text) {
            return;
        }
        let of = Moment { line: decision.line, at: decision.at };
        let settled = settled(&decision.text);
        let topic = settled.topic();
        let is_named = topic.is_some();
        let source = self.project.unwrap_or(self.session);
        let target = match topic {
            // The beginning of a prompt names no topic.
            None if !episode.is_titled && self.project.is_some() => Some(self.session),
            topic => self.builder.mention(Label::Topic, &topic.unwrap_or_else(|| episode.title.clone()), "", of, 1),
        };
        let Some(target) = target else { return };
        let mut claims = settled.claims(self.builder.group());
        let answer = decision.text.split_once(PERSON);
        if let Some((question, answer)) = answer.filter(|(question, _)| !question.ends_with('…')) {
            claims.add(self.claim("question", &question.to_lowercase(), &answer.to_lowercase()));
        }
        claims.rests.push(self.in_force(&decision.text, "yes"));
        claims.settles.extend(ended.iter().map(|earlier| self.in_force(&earlier.text, "no")));
        let value = match (settled.chosen, answer) {
            (Some(chosen), _) if settled.rejected.is_some() => chosen,
            (_, Some((_, answer))) => answer.to_owned(),
            _ if is_named => String::new(),
            _ => decision.text.clone(),
        };
        let fact = format!("decided{}: {}", self.place, decision.text);
        let said = FactDraft::new(Relation::Decided, source, target).with_value(value).with_claims(claims);
        self.builder.add(said, &fact, of);
    }

    /// Returns the claim that this session's decision holds, or does not.
    fn in_force(&self, decision: &str, value: &str) -> Claim {
        self.claim("decision", &format!("{} {decision}", self.session), value)
    }
}

/// Returns true if a decision also matters later. What a person says on refusing a call mostly concerns that one call,
/// unless it tells how; and a question that was acted on states nothing.
fn is_lasting(text: &str) -> bool {
    if text.starts_with(PERSON.trim_start()) && text.ends_with(['?', '？']) {
        return false;
    }
    text.strip_prefix(REFUSED).is_none_or(|rest| rest.split_once(": ").is_some_and(|(_, said)| tells_how(said)))
}
