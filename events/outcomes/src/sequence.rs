//! Steps that followed each other within one prompt's round, and how the last one ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_SEQUENCES, run};
use baton_conversation::item::Act;
use baton_episode::digest::{Action, Attempt, one_line};
use baton_events::schema::outcomes::{Ended, Sequence};

/// Maximum length of a step's name, in characters.
const NAME_CHARS: usize = 60;
/// Maximum number of steps of a sequence.
const MAX_STEPS: usize = 4;
/// Maximum number of distinct steps, and of distinct sequences of one length, held at a time.
const MAX_HELD: usize = 20_000;

/// Counts sequences of two, three and four steps in a session's calls. Consecutive repetitions of a step are one step.
/// Bounded: if there are too many, the least frequent are dropped and counted.
#[derive(Default)]
pub(super) struct Sequences {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    counted: [BTreeMap<Vec<usize>, Sequence>; 3],
    steps: Vec<(usize, Ended)>,
    /// Index of the first step that no counted sequence ends with.
    fresh: usize,
    round: usize,
    left_out: usize,
}

impl Sequences {
    /// Adds the next call, of the given round.
    pub(super) fn push(&mut self, attempt: &Attempt<'_>, round: usize) {
        if let Some((name, ended)) = step(attempt) {
            self.step(name, ended, round);
        }
    }

    /// Adds the next step.
    pub(super) fn step(&mut self, name: String, ended: Ended, round: usize) {
        if round != self.round {
            self.end_round();
            self.round = round;
        }
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None if self.names.len() >= MAX_HELD => {
                self.left_out += 1;
                return;
            }
            None => {
                self.names.push(name.clone());
                self.numbers.insert(name, self.names.len() - 1);
                self.names.len() - 1
            }
        };
        match self.steps.last_mut() {
            Some(last) if last.0 == number => last.1 = ended,
            _ => self.steps.push((number, ended)),
        }
        // A long round is counted as it goes on, except its last step, whose result may still change.
        if self.steps.len() >= MAX_HELD {
            self.count(self.steps.len() - 1);
            self.steps.drain(..self.steps.len() - MAX_STEPS);
            self.fresh = self.steps.len() - 1;
        }
    }

    /// Returns sequences of two, then three, then four steps, each group with the most frequent first.
    pub(super) fn finish(mut self, left_out: &mut impl FnMut(usize)) -> Vec<Sequence> {
        self.end_round();
        let Self { names, counted, left_out: let_go, .. } = self;
        left_out(let_go);
        let mut found = Vec::new();
        for (counted, most) in counted.into_iter().zip(MAX_SEQUENCES) {
            let mut sequences: Vec<Sequence> = counted
                .into_iter()
                .map(|(steps, sequence)| {
                    let steps = steps.iter().filter_map(|number| names.get(*number)).cloned().collect();
                    Sequence { steps, ..sequence }
                })
                .collect();
            sequences.sort_by(|a, b| (Reverse(times(a)), &a.steps).cmp(&(Reverse(times(b)), &b.steps)));
            left_out(sequences.len().saturating_sub(most));
            sequences.truncate(most);
            found.append(&mut sequences);
        }
        found
    }

    /// Returns all sequences held, by their steps.
    pub(super) fn all(mut self) -> impl Iterator<Item = Sequence> {
        self.end_round();
        let Self { names, counted, .. } = self;
        counted.into_iter().flatten().map(move |(steps, sequence)| {
            let steps = steps.iter().filter_map(|number| names.get(*number)).cloned().collect();
            Sequence { steps, ..sequence }
        })
    }

    /// Counts every new window of two to four steps before `end`.
    fn count(&mut self, end: usize) {
        for (counted, length) in self.counted.iter_mut().zip(2..=MAX_STEPS) {
            let fresh = (self.fresh + 1).saturating_sub(length);
            for window in self.steps[..end].windows(length).skip(fresh) {
                let Some((_, ended)) = window.last() else { continue };
                let sequence = counted.entry(window.iter().map(|(number, _)| *number).collect()).or_default();
                let count = match ended {
                    Ended::Ok => &mut sequence.ok,
                    Ended::Failed => &mut sequence.failed,
                    Ended::Denied | Ended::Interrupted | Ended::Unknown => &mut sequence.other,
                };
                *count = count.saturating_add(1);
            }
            let mut least = 1;
            while counted.len() > MAX_HELD {
                let before = counted.len();
                counted.retain(|_, sequence| times(sequence) > least);
                self.left_out += before - counted.len();
                least = least.saturating_mul(2);
            }
        }
    }

    fn end_round(&mut self) {
        self.count(self.steps.len());
        self.steps.clear();
        self.fresh = 0;
    }
}

fn times(sequence: &Sequence) -> u32 {
    sequence.ok.saturating_add(sequence.failed).saturating_add(sequence.other)
}

/// Returns the step of a call; for a command line, its last program that does more than look.
pub(super) fn step(attempt: &Attempt<'_>) -> Option<(String, Ended)> {
    match &attempt.what {
        Action::Command { ran, .. } => {
            let program = ran.iter().rev().find(|program| run::is_counted(program)).or_else(|| ran.first())?;
            Some((one_line(&program.name, NAME_CHARS), run::ended(attempt.ended, program)))
        }
        // The agent's own list of tasks is no step of the work.
        _ if attempt.tool.is_empty() || attempt.call.is_some_and(|call| call.act == Act::Todo) => None,
        _ => Some((one_line(attempt.tool, NAME_CHARS), attempt.ended)),
    }
}
