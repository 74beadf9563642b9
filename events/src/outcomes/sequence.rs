//! Steps that followed each other within one prompt, and how the last of them ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_SEQUENCES, run};
use crate::digest::{Attempt, What, one_line};
use crate::schema::outcomes::{Ended, Sequence};

/// Tools that keep the books of the agent: no step of the work.
const BOOKKEEPING: [&str; 8] =
    ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "ToolSearch", "update_plan", "KillShell"];
/// Longest name of a step, in characters.
const NAME_CHARS: usize = 60;

/// Sequences of two, then of three, then of four steps, of each the most frequent first. The same step several times in a
/// row is one step.
pub(super) fn sequences(attempts: &[Attempt<'_>], left_out: &mut impl FnMut(usize)) -> Vec<Sequence> {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut counted: [BTreeMap<Vec<usize>, Sequence>; 3] = Default::default();
    let mut steps: Vec<(usize, Ended)> = Vec::new();
    let mut round = 0;
    for attempt in attempts {
        if attempt.round != round {
            count(&mut steps, &mut counted);
            round = attempt.round;
        }
        let Some((name, ended)) = step(attempt) else { continue };
        let number = *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() - 1
        });
        match steps.last_mut() {
            Some(last) if last.0 == number => last.1 = ended,
            _ => steps.push((number, ended)),
        }
    }
    count(&mut steps, &mut counted);
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

fn times(sequence: &Sequence) -> u32 {
    sequence.ok.saturating_add(sequence.failed).saturating_add(sequence.other)
}

/// Counts every two to four steps that follow each other, and empties them.
fn count(steps: &mut Vec<(usize, Ended)>, counted: &mut [BTreeMap<Vec<usize>, Sequence>; 3]) {
    for (counted, length) in counted.iter_mut().zip(2..) {
        for window in steps.windows(length) {
            let Some((_, ended)) = window.last() else { continue };
            let sequence = counted.entry(window.iter().map(|(number, _)| *number).collect()).or_default();
            let count = match ended {
                Ended::Ok => &mut sequence.ok,
                Ended::Failed => &mut sequence.failed,
                Ended::Denied | Ended::Interrupted | Ended::Unknown => &mut sequence.other,
            };
            *count = count.saturating_add(1);
        }
    }
    steps.clear();
}

/// What a call is in a sequence: of a command line its last program that does more than look.
fn step(attempt: &Attempt<'_>) -> Option<(String, Ended)> {
    match &attempt.what {
        What::Command { ran, .. } => {
            let program = ran.iter().rev().find(|program| run::counts(program)).or_else(|| ran.first())?;
            Some((one_line(&program.name, NAME_CHARS), run::ended(attempt.ended, program)))
        }
        _ if attempt.tool.is_empty() || BOOKKEEPING.contains(&attempt.tool) => None,
        _ => Some((one_line(attempt.tool, NAME_CHARS), attempt.ended)),
    }
}
