//! Merges a model's answer into an extractive episode: measurements and people's words are kept, and what only the
//! model says is marked.

use std::collections::BTreeSet;

use super::answer::{Answer, Claim};
use super::lines::Lines;
use baton_episode::digest::{Episode, ErrorLine, Pointed};

/// Prefix of a person's decision, or of a person's answer after a question.
const PERSON: &str = "User: ";
/// Prefix of what a person refused.
const REFUSED: &str = "User refused ";
/// Minimum share of the shorter text's words that two statements with the same meaning have in common, on one line and
/// on different ones.
const SAME_OF_LINE: f32 = 0.6;
const SAME: f32 = 0.9;

impl Answer {
    /// Merges the answer into an extractive episode. Measured fields are kept: files, commands, changes, prompts, title
    /// and numbers, errors and their resolutions, research and stored knowledge; so are the person's decisions, and
    /// fields on which the answer says nothing. Claims whose lines are not in `lines` are dropped.
    pub fn merge_into(&self, mut episode: Episode, lines: &Lines) -> Episode {
        let check = LineCheck { lines };
        let mut said = BTreeSet::new();
        let mut mark = |claims: &[Pointed]| said.extend(claims.iter().map(|claim| (claim.line, claim.text.clone())));
        if !self.objective.is_empty() {
            episode.objective.clone_from(&self.objective);
            mark(&[Pointed { text: self.objective.clone(), line: 0, at: None }]);
        }
        if !self.continuation_context.is_empty() {
            episode.continuation_context.clone_from(&self.continuation_context);
            mark(&[Pointed { text: self.continuation_context.clone(), line: 0, at: None }]);
        }
        if !self.work_completed.is_empty() {
            episode.work_completed.remove("answers");
        }
        for (category, claims) in &self.work_completed {
            let claims = check.all_pointed(claims);
            mark(&claims);
            let list = episode.work_completed.entry(category.clone()).or_default();
            list.extend(claims);
            list.sort_by_key(|entry| entry.line);
        }
        episode.work_completed.retain(|_, list| !list.is_empty());

        // An overruled choice is no decision, whoever made it.
        let is_over = |claim: &Pointed| {
            let said = |known: &Pointed| says_the_same(known, claim);
            episode.superseded.iter().any(said) && !episode.decisions.iter().any(said)
        };
        let decisions: Vec<Pointed> =
            check.all_pointed(&self.decisions).into_iter().filter(|claim| !is_over(claim)).collect();
        let (person, agent): (Vec<_>, Vec<_>) =
            std::mem::take(&mut episode.decisions).into_iter().partition(|said| is_of_person(&said.text));
        episode.decisions = match decisions.is_empty() {
            true => in_line_order(agent, person),
            // In the person's own words.
            false => {
                let new = decisions.into_iter().filter(|claim| !person.iter().any(|said| says_the_same(said, claim)));
                let new: Vec<Pointed> = new.collect();
                mark(&new);
                in_line_order(new, person)
            }
        };
        // Measured entries are kept; the model's claims about other things stand beside them.
        let research = without_known(check.all_pointed(&self.external_research), &episode.external_research);
        mark(&research);
        episode.external_research = in_line_order(research, std::mem::take(&mut episode.external_research));
        let measured: Vec<Pointed> = episode.knowledge_stored.values().flatten().cloned().collect();
        for (tool, claims) in &self.knowledge_stored {
            let claims = without_known(check.all_pointed(claims), &measured);
            mark(&claims);
            episode.knowledge_stored.entry(tool.clone()).or_default().extend(claims);
        }
        episode.knowledge_stored.retain(|_, list| !list.is_empty());

        // A measured open failure stays open whatever a model says.
        let failed: BTreeSet<u64> = episode.errors.iter().map(|error| error.line).collect();
        for (claims, list) in [(&self.unresolved, &mut episode.unresolved), (&self.next_steps, &mut episode.next_steps)]
        {
            let claims = check.all_pointed(claims);
            if !claims.is_empty() {
                list.retain(|open| failed.contains(&open.line));
                let claims = without_known(claims, list);
                mark(&claims);
                *list = in_line_order(claims, std::mem::take(list));
            }
        }

        for failed in &self.errors {
            let Some(error) = check.pointed(&failed.error) else { continue };
            let resolution = failed.resolution.as_ref().and_then(|resolution| check.pointed(resolution));
            let is_it = |known: &&mut ErrorLine| known.line == error.line && adds_nothing(&known.text, &error.text);
            match episode.errors.iter_mut().find(is_it) {
                Some(known) => {
                    if let (None, Some(resolution)) = (&known.resolution, resolution) {
                        mark(std::slice::from_ref(&resolution));
                        known.resolution = Some(resolution);
                    }
                }
                None => {
                    mark(std::slice::from_ref(&error));
                    mark(resolution.as_slice());
                    episode.errors.push(ErrorLine { text: error.text, line: error.line, at: error.at, resolution });
                }
            }
        }
        episode.errors.sort_by_key(|error| error.line);
        episode.said_by_model = said;
        episode
    }
}

/// Converts claims whose lines exist.
struct LineCheck<'a> {
    lines: &'a Lines,
}

impl LineCheck<'_> {
    fn pointed(&self, claim: &Claim) -> Option<Pointed> {
        let is_there = self.lines.contains(claim.line);
        is_there.then(|| Pointed { text: claim.text.clone(), line: claim.line, at: self.lines.at(claim.line) })
    }

    fn all_pointed(&self, claims: &[Claim]) -> Vec<Pointed> {
        claims.iter().filter_map(|claim| self.pointed(claim)).collect()
    }
}

/// Merges a model's claims with the existing entries, in the order of their lines.
fn in_line_order(claims: Vec<Pointed>, before: Vec<Pointed>) -> Vec<Pointed> {
    let is_mixed = !before.is_empty();
    let mut all: Vec<Pointed> = before.into_iter().chain(claims).collect();
    if is_mixed {
        all.sort_by_key(|entry| entry.line);
    }
    all
}

/// Returns the claims that say more than the known entries of their lines.
fn without_known(claims: Vec<Pointed>, known: &[Pointed]) -> Vec<Pointed> {
    let is_known =
        |claim: &Pointed| known.iter().any(|it| it.line == claim.line && adds_nothing(&it.text, &claim.text));
    claims.into_iter().filter(|claim| !is_known(claim)).collect()
}

/// Returns true if every word of the claim is known.
fn adds_nothing(known: &str, claim: &str) -> bool {
    words(claim).is_subset(&words(known))
}

fn words(text: &str) -> BTreeSet<String> {
    let text = text.trim_start_matches(PERSON).to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns true if a decision of a digest comes from the person who types the prompts.
fn is_of_person(decision: &str) -> bool {
    // An answer follows its question.
    let is_answer = || decision.find(PERSON).is_some_and(|at| decision[..at].ends_with(' '));
    decision.starts_with(PERSON) || decision.starts_with(REFUSED) || is_answer()
}

/// Returns true if a claim repeats what a person said.
fn says_the_same(said: &Pointed, claim: &Pointed) -> bool {
    let (said_words, claim_words) = (words(&said.text), words(&claim.text));
    let both = said_words.intersection(&claim_words).count() as f32;
    let fewer = said_words.len().min(claim_words.len()).max(1) as f32;
    both / fewer >= if said.line == claim.line { SAME_OF_LINE } else { SAME }
}
