//! Steps that followed each other within one prompt, and how the last of them ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_SEQUENCES, run};
use baton_episode::digest::{Attempt, What, one_line};
use baton_events::schema::outcomes::{Ended, Sequence};

/// Tools that keep the books of the agent: no step of the work.
const BOOKKEEPING: [&str; 8] =
    ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "ToolSearch", "update_plan", "KillShell"];
/// Longest name of a step, in characters.
const NAME_CHARS: usize = 60;
/// Most steps of a sequence.
const MAX_STEPS: usize = 4;
/// Different steps, and different sequences of one length, that are held at a time.
const MAX_HELD: usize = 20_000;

/// Sequences of two, of three and of four steps, as a session's calls come. The same step several times in a row is one
/// step. Bounded: of too many those that are there least are let go, and counted.
#[derive(Default)]
pub(super) struct Sequences {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    counted: [BTreeMap<Vec<usize>, Sequence>; 3],
    steps: Vec<(usize, Ended)>,
    /// The first step of these with which no counted sequence ends.
    fresh: usize,
    round: usize,
    left_out: usize,
}

impl Sequences {
    /// Takes the next call, of the round with this number.
    pub(super) fn push(&mut self, attempt: &Attempt<'_>, round: usize) {
        if let Some((name, ended)) = step(attempt) {
            self.step(name, ended, round);
        }
    }

    /// Takes the next step.
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
        // A prompt without end is counted as it goes on; the last step may still end otherwise.
        if self.steps.len() >= MAX_HELD {
            self.count(self.steps.len() - 1);
            self.steps.drain(..self.steps.len() - MAX_STEPS);
            self.fresh = self.steps.len() - 1;
        }
    }

    /// Sequences of two, then of three, then of four steps, of each the most frequent first.
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

    /// All that are held, by their steps.
    pub(super) fn all(mut self) -> impl Iterator<Item = Sequence> {
        self.end_round();
        let Self { names, counted, .. } = self;
        counted.into_iter().flatten().map(move |(steps, sequence)| {
            let steps = steps.iter().filter_map(|number| names.get(*number)).cloned().collect();
            Sequence { steps, ..sequence }
        })
    }

    /// Counts every two to four steps that follow each other, up to the step before `end`, each once.
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

/// What a call is in a sequence: of a command line its last program that does more than look.
pub(super) fn step(attempt: &Attempt<'_>) -> Option<(String, Ended)> {
    match &attempt.what {
        What::Command { ran, .. } => {
            let program = ran.iter().rev().find(|program| run::counts(program)).or_else(|| ran.first())?;
            Some((one_line(&program.name, NAME_CHARS), run::ended(attempt.ended, program)))
        }
        _ if attempt.tool.is_empty() || BOOKKEEPING.contains(&attempt.tool) => None,
        _ => Some((one_line(attempt.tool, NAME_CHARS), attempt.ended)),
    }
}
