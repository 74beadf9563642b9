//! The episode that an extractive one becomes by a model's answer: what programs have measured and people have said stays,
//! and what only the model says is marked as the model's.

use std::collections::BTreeSet;

use super::answer::{Answer, Claim};
use super::lines::Lines;
use crate::digest::{Episode, ErrorLine, Pointed};

/// How a decision of the person who types the prompts begins.
const PERSON: &str = "User: ";
/// The share of the fewer words of two texts that both have where they say the same, of one line and of any.
const SAME_OF_LINE: f32 = 0.6;
const SAME: f32 = 0.9;

impl Answer {
    /// The episode that an extractive one becomes by it. What programs and files say stays the digest's: files, commands,
    /// changes, prompts, title and numbers, what failed, what was looked up and stored; so does what the person decided. Of
    /// which the answer says nothing, stays too. A claim whose line is not among `lines` is left out.
    pub fn tell(&self, mut episode: Episode, lines: &Lines) -> Episode {
        let teller = Teller { lines };
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
            let claims = teller.all(claims);
            mark(&claims);
            let list = episode.work_completed.entry(category.clone()).or_default();
            list.extend(claims);
            list.sort_by_key(|entry| entry.line);
        }
        episode.work_completed.retain(|_, list| !list.is_empty());

        let decisions = teller.all(&self.decisions);
        let (person, agent): (Vec<_>, Vec<_>) =
            std::mem::take(&mut episode.decisions).into_iter().partition(|said| said.text.starts_with(PERSON));
        episode.decisions = match decisions.is_empty() {
            true => joined(agent, person, |_, _| false),
            // In their own words.
            false => {
                let new = decisions.into_iter().filter(|claim| !person.iter().any(|said| says_the_same(said, claim)));
                let new: Vec<Pointed> = new.collect();
                mark(&new);
                joined(new, person, |_, _| false)
            }
        };
        let of_line = |said: &Pointed, claim: &Pointed| said.line == claim.line;
        let research = teller.all(&self.external_research);
        mark(&research);
        episode.external_research = joined(research, std::mem::take(&mut episode.external_research), of_line);
        let stored: Vec<(&String, Vec<Pointed>)> =
            self.knowledge_stored.iter().map(|(tool, claims)| (tool, teller.all(claims))).collect();
        let told: BTreeSet<u64> = stored.iter().flat_map(|(_, claims)| claims).map(|claim| claim.line).collect();
        episode.knowledge_stored.values_mut().for_each(|list| list.retain(|entry| !told.contains(&entry.line)));
        for (tool, claims) in stored {
            mark(&claims);
            episode.knowledge_stored.entry(tool.clone()).or_default().extend(claims);
        }
        episode.knowledge_stored.retain(|_, list| !list.is_empty());

        // What was measured and is open is open whatever a model says.
        let measured: BTreeSet<u64> = episode.errors.iter().map(|error| error.line).collect();
        for (claims, list) in [(&self.unresolved, &mut episode.unresolved), (&self.next_steps, &mut episode.next_steps)]
        {
            let claims = teller.all(claims);
            if !claims.is_empty() {
                mark(&claims);
                let failed = std::mem::take(list).into_iter().filter(|open| measured.contains(&open.line));
                *list = joined(claims, failed.collect(), of_line);
            }
        }

        let errors = self.errors.iter().filter_map(|failed| {
            let (error, resolution) = (teller.one(&failed.error)?, failed.resolution.as_ref());
            let resolution = resolution.and_then(|resolution| teller.one(resolution));
            Some(ErrorLine { text: error.text, line: error.line, at: error.at, resolution })
        });
        let mut errors: Vec<ErrorLine> = errors.collect();
        let claimed: BTreeSet<u64> = errors.iter().map(|error| error.line).collect();
        for error in &errors {
            said.insert((error.line, error.text.clone()));
            said.extend(error.resolution.iter().map(|resolution| (resolution.line, resolution.text.clone())));
        }
        errors.extend(std::mem::take(&mut episode.errors).into_iter().filter(|error| !claimed.contains(&error.line)));
        errors.sort_by_key(|error| error.line);
        episode.errors = errors;
        episode.said_by_model = said;
        episode
    }
}

/// Knows the lines.
struct Teller<'a> {
    lines: &'a Lines,
}

impl Teller<'_> {
    fn one(&self, claim: &Claim) -> Option<Pointed> {
        let is_there = self.lines.has(claim.line);
        is_there.then(|| Pointed { text: claim.text.clone(), line: claim.line, at: self.lines.at(claim.line) })
    }

    fn all(&self, claims: &[Claim]) -> Vec<Pointed> {
        claims.iter().filter_map(|claim| self.one(claim)).collect()
    }
}

/// What a model claims and what was there before, but for what is in it again; in the order of the lines.
fn joined(claims: Vec<Pointed>, before: Vec<Pointed>, is_again: impl Fn(&Pointed, &Pointed) -> bool) -> Vec<Pointed> {
    let kept: Vec<Pointed> =
        before.into_iter().filter(|said| !claims.iter().any(|claim| is_again(said, claim))).collect();
    let is_mixed = !kept.is_empty();
    let mut all: Vec<Pointed> = claims.into_iter().chain(kept).collect();
    if is_mixed {
        all.sort_by_key(|entry| entry.line);
    }
    all
}

/// Whether a claim says what somebody has said.
fn says_the_same(said: &Pointed, claim: &Pointed) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let text = text.trim_start_matches(PERSON).to_lowercase();
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (said_words, claim_words) = (words(&said.text), words(&claim.text));
    let both = said_words.intersection(&claim_words).count() as f32;
    let fewer = said_words.len().min(claim_words.len()).max(1) as f32;
    both / fewer >= if said.line == claim.line { SAME_OF_LINE } else { SAME }
}
