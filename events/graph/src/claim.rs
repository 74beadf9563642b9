//! Claims that exclude each other, and when a fact that rests on one ends.
//!
//! A **slot** is a question with one answer at a time: which of two databases, whether a file exists. An assertion
//! *rests on* answers, and some assertions *settle* them. A fact ends when a slot that it rests on is settled with
//! another value after the fact was last stated. This is computed at query time from everything that was ever stated,
//! so it does not depend on the order of indexing, and nothing is deleted.
//!
//! # Decisions
//!
//! - A fact has a slot only if a name or a fixed phrase gives it: missing a reversal costs less than inventing one. A
//!   failure holds until it is resolved, so most facts with `invalid_at` are repaired failures.

use uuid::Uuid;

use super::uuid_of_names;
use baton_conversation::record::Timestamp;
use baton_episode::digest;

/// An answer to a question that has one answer at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// The question, within one group.
    pub slot: u64,
    /// The answer.
    pub value: u64,
}

impl Claim {
    /// Creates the claim that `question` has the answer `value`. `kind` separates questions with the same text.
    pub fn new(group: &str, kind: &str, question: &str, value: &str) -> Self {
        Self { slot: first_half(&["slot", group, kind, question]), value: first_half(&["value", value]) }
    }
}

fn first_half(parts: &[&str]) -> u64 {
    uuid_of_names(parts).as_u64_pair().0
}

/// The claims of an assertion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) rests: Vec<Claim>,
    pub(super) settles: Vec<Claim>,
}

impl Claims {
    /// Returns the claims of a choice of a person or an agent. `kind` is what rests on it: `use` or `wish`. What a person
    /// wishes ends by a person's word only.
    pub(super) fn of(settled: &digest::Settled, group: &str, kind: &str, by_person: bool) -> Self {
        let claim = |kind: &str, (question, answer): &(String, &str)| Claim::new(group, kind, question, answer);
        let kinds: &[&str] = if by_person { &["use", "wish"] } else { &["use"] };
        let (rests, settles) = (settled.rests(), settled.settles());
        Self {
            rests: rests.iter().map(|it| claim(kind, it)).collect(),
            settles: kinds.iter().flat_map(|kind| settles.iter().map(move |it| claim(kind, it))).collect(),
        }
    }

    /// Adds a claim that the assertion rests on and settles.
    pub(super) fn add(&mut self, claim: Claim) {
        self.rests.push(claim);
        self.settles.push(claim);
    }
}

/// A settlement of a slot, as one session states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The slot and its value.
    pub claim: Claim,
    /// The fact that settles the slot: the first half of its uuid.
    pub fact: u64,
    /// When it was first stated.
    pub since: Option<Timestamp>,
    /// When it was last stated.
    pub last: Option<Timestamp>,
    /// When the episode that states it was recorded.
    pub recorded: Option<Timestamp>,
}

/// The end of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// When the contradiction began to hold.
    pub invalid_at: Timestamp,
    /// When the end was known: the later of the two recording times.
    pub expired_at: Option<Timestamp>,
    /// The contradicting fact: the first half of its uuid.
    pub by: u64,
}

/// Returns the end of a fact that rests on `claim` and was last stated at `last`: the earliest settlement of the same
/// slot to another value after that, ordered by time, then uuid. A fact or settlement without a time neither ends nor
/// is ended.
pub fn claim_end(
    fact: u64,
    last: Option<Timestamp>,
    recorded: Option<Timestamp>,
    claim: Claim,
    settled: impl Iterator<Item = Settled>,
) -> Option<End> {
    let after = (last?, fact);
    let against = settled
        .filter(|other| other.fact != fact && other.claim.slot == claim.slot && other.claim.value != claim.value);
    let began = against.filter_map(|other| {
        let moment = [other.since, other.last].into_iter().flatten().find(|at| (*at, other.fact) > after)?;
        Some((moment, other.fact, other.recorded))
    });
    began.min().map(|(invalid_at, by, known)| End { invalid_at, expired_at: known.max(recorded), by })
}

/// Returns the uuid of a fact with a value: facts with different values are different facts.
pub(super) fn valued_uuid(base: Uuid, value: &str) -> Uuid {
    if value.is_empty() { base } else { uuid_of_names(&["valued", &base.to_string(), value]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `settled` lists `(value, since, last)` of facts 1, 2, ….
    fn check(value: &str, last: i64, settled: &[(&str, i64, i64)], invalid_at: Option<i64>) {
        let claim = |value| Claim::new("g", "use", "database", value);
        let all: Vec<Settled> = settled
            .iter()
            .zip(1..)
            .map(|((value, since, last), fact)| Settled {
                claim: claim(value),
                fact,
                since: Some(Timestamp(*since)),
                last: Some(Timestamp(*last)),
                recorded: Some(Timestamp(1000 + fact as i64)),
            })
            .collect();
        let fact = 100;
        let ended = |all: Vec<Settled>| {
            claim_end(fact, Some(Timestamp(last)), Some(Timestamp(5)), claim(value), all.into_iter())
        };
        let found = ended(all.clone());
        assert_eq!(found.map(|end| end.invalid_at.0), invalid_at, "{value} {last} {settled:?}");
        assert_eq!(ended(all.into_iter().rev().collect()), found, "whatever the order");
    }

    #[test]
    fn a_fact_ends_with_the_first_other_answer_after_it_was_last_given() {
        check("sled", 10, &[], None);
        check("sled", 10, &[("sled", 20, 20)], None);
        check("sled", 10, &[("redis", 20, 20)], Some(20));
        check("sled", 10, &[("redis", 5, 5)], None);
        check("sled", 10, &[("redis", 5, 15)], Some(15));
        check("sled", 10, &[("redis", 30, 30), ("sqlite", 20, 20), ("sqlite", 40, 40)], Some(20));
        // Stated again after the contradiction, so it holds again.
        check("sled", 50, &[("redis", 20, 20)], None);
    }

    #[test]
    fn of_two_at_once_the_greater_uuid_wins() {
        let claim = |value| Claim::new("g", "use", "x", value);
        let at = Some(Timestamp(7));
        let said = |fact, value| Settled { claim: claim(value), fact, since: at, last: at, recorded: at };
        let ended = |fact, value, other| claim_end(fact, at, at, claim(value), [other].into_iter()).is_some();
        assert!(ended(1, "a", said(2, "b")) && !ended(2, "b", said(1, "a")));
    }

    #[test]
    fn it_is_known_when_the_later_of_both_is_recorded() {
        let claim = |value| Claim::new("g", "use", "x", value);
        let at = |at| Some(Timestamp(at));
        let other = Settled { claim: claim("b"), fact: 2, since: at(20), last: at(20), recorded: at(100) };
        let known = |recorded| claim_end(1, at(10), recorded, claim("a"), [other].into_iter()).unwrap().expired_at;
        assert_eq!((known(at(50)), known(at(200))), (at(100), at(200)));
    }

    #[test]
    fn what_has_no_time_neither_ends_nor_is_ended() {
        let claim = |value| Claim::new("g", "use", "x", value);
        let at = Some(Timestamp(7));
        let other = |since| Settled { claim: claim("b"), fact: 2, since, last: since, recorded: at };
        assert_eq!(claim_end(1, None, at, claim("a"), [other(at)].into_iter()), None);
        assert_eq!(claim_end(1, at, at, claim("a"), [other(None)].into_iter()), None);
    }
}
