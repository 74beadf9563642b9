//! Decisions and preferences, as facts that can be reversed.

use super::{Extractor, text};
use crate::builder::{FactDraft, Moment};
use crate::claim::{Claim, Claims};
use crate::one_line::one_line;
use crate::preference::{Rule, rule_in_refusal, rules};
use crate::{Label, Relation};
use baton_conversation::item::{Body, Item, Outcome};
use baton_episode::digest::{
    Episode, Pointed, is_commit_scope, is_left_to_the_reader, questions_with_answers, settled, tells_how,
};

/// Maximum length of a command inside a fact, in characters.
const SHORT_CHARS: usize = 80;
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
            if matches!(item.body, Body::Answer { .. }) && !questions_with_answers(said).is_empty() {
                continue;
            }
            let of = super::moment(item);
            for rule in rules(self.builder.group(), said) {
                self.prefers(rule, "", of);
            }
            let refused = self.result(item.line, Outcome::Denied).and_then(|result| self.calls.get(&*result.id));
            if let Some(line) = refused.and_then(|(call, _)| text(call, "command"))
                && let Some(program) = line.split_whitespace().next()
                && let Some(rule) = rule_in_refusal(self.builder.group(), said, program)
            {
                self.prefers(rule, &format!(" (said on refusing `{}`)", one_line(line, SHORT_CHARS)), of);
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

    /// Adds the decisions. One that a person objected to ends with the next of the session. A subagent reports to another
    /// agent, which decides what of it holds.
    pub(super) fn decisions(&mut self, episode: &Episode) {
        if self.at.parent.is_some() {
            return;
        }
        let all = episode.decisions.iter().chain(&episode.superseded);
        let choices: Vec<_> = all.map(|decision| (decision.line, settled(&decision.text))).collect();
        let is_replaced = |earlier: &Pointed| {
            let was = settled(&earlier.text);
            choices.iter().any(|(line, later)| *line > earlier.line && later.replaces(&was))
        };
        let objected: Vec<_> = episode.superseded.iter().filter(|earlier| !is_replaced(earlier)).collect();
        for decision in &episode.superseded {
            if episode.decisions.iter().any(|later| later.line > decision.line) {
                self.decision(decision, episode, &[]);
            }
        }
        let mut overruled = &objected[..];
        for decision in &episode.decisions {
            let until = overruled.partition_point(|earlier| earlier.line < decision.line);
            let (ended, rest) = overruled.split_at(until);
            overruled = rest;
            self.decision(decision, episode, ended);
        }
    }

    /// Adds a decision about the two options that it names, else about what the session's title says.
    fn decision(&mut self, decision: &Pointed, episode: &Episode, ended: &[&Pointed]) {
        if !is_lasting(&decision.text) {
            return;
        }
        let of = Moment { line: decision.line, at: decision.at };
        let settled = settled(&decision.text);
        let topic = settled.topic();
        let is_named = topic.is_some();
        let source = self.project.unwrap_or(self.session);
        let target = match topic {
            // A session's title names the session.
            None if self.project.is_some() => Some(self.session),
            topic => self.builder.mention(Label::Topic, &topic.unwrap_or_else(|| episode.title.clone()), "", of, 1),
        };
        let Some(target) = target else { return };
        let mut claims = Claims::of(&settled, self.builder.group(), "use", decision.text.contains(PERSON.trim_start()));
        let answer = decision.text.split_once(PERSON);
        // `Shall I commit it?` is another question each time.
        let is_one = |question: &str| is_left_to_the_reader(question) && !question.ends_with('…');
        if let Some((question, answer)) = answer.filter(|(question, _)| is_one(question)) {
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
/// unless it tells how; a question that was acted on states nothing; and the files of one commit are no rule.
fn is_lasting(text: &str) -> bool {
    if is_commit_scope(text) || text.starts_with(PERSON.trim_start()) && text.ends_with(['?', '？']) {
        return false;
    }
    text.strip_prefix(REFUSED).is_none_or(|rest| rest.split_once(": ").is_some_and(|(_, said)| tells_how(said)))
}

#[cfg(test)]
mod tests {
    use super::is_lasting;

    #[test]
    fn the_files_of_one_commit_are_decided_for_that_commit_alone() {
        assert!(is_lasting("We use sled instead of SQLite because it is embedded"));
        assert!(!is_lasting("I'll commit only the files of the jib: `jib.rs`; not `mast.rs`"));
        assert!(!is_lasting("User: shall I commit it?"));
    }
}
