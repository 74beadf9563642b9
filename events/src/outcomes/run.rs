//! Programs and the lines they were run by, with how they ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_COMMANDS, MAX_LINES, MAX_LINES_OF_ONE};
use crate::digest::{Attempt, Part, Ran, What};
use crate::graph::is_program;
use crate::schema::outcomes::{Command, Ended, Line, Said, Tally, millis};

/// The programs of a session, the most frequent first. What only looks is left out.
pub(super) fn commands(attempts: &[Attempt<'_>], left_out: &mut impl FnMut(usize)) -> Vec<Command> {
    let mut known: BTreeMap<&str, (Command, BTreeMap<&str, Line>)> = BTreeMap::new();
    for attempt in attempts {
        let What::Command { text, ran, .. } = &attempt.what else { continue };
        for program in ran.iter().filter(|program| counts(program)) {
            let (command, lines) = known.entry(&program.name).or_default();
            let run = tally(attempt.ended, program);
            command.runs = command.runs.plus(&run);
            let line = lines.entry(text).or_default();
            if ended(attempt.ended, program) == Ended::Failed {
                let text = attempt.error.clone();
                let failure = Some(Said { text, line: attempt.result_line, at: millis(attempt.at) });
                command.last_failure.clone_from(&failure);
                line.last_failure = failure;
            }
            line.runs = line.runs.plus(&run);
            (line.line, line.at) = (attempt.line, millis(attempt.at));
            (line.ended, line.exit_code) = (ended(attempt.ended, program), attempt.exit_code);
        }
    }
    let mut commands: Vec<Command> = known
        .into_iter()
        .map(|(name, (command, lines))| {
            let lines = lines.into_iter().map(|(text, line)| {
                // What the program has already is not kept twice.
                let last_failure = line.last_failure.filter(|failure| Some(failure) != command.last_failure.as_ref());
                Line { text: text.to_owned(), last_failure, ..line }
            });
            Command { name: name.to_owned(), lines: lines.collect(), ..command.clone() }
        })
        .collect();
    commands.sort_by(|a, b| (Reverse(a.runs.all()), &a.name).cmp(&(Reverse(b.runs.all()), &b.name)));
    left_out(commands.len().saturating_sub(MAX_COMMANDS));
    commands.truncate(MAX_COMMANDS);
    let mut room = MAX_LINES;
    for command in &mut commands {
        command.lines.sort_by_key(|line| (Reverse(line.runs.all()), Reverse(line.line)));
        let kept = command.lines.len().min(MAX_LINES_OF_ONE).min(room);
        left_out(command.lines.len() - kept);
        command.lines.truncate(kept);
        room -= kept;
    }
    commands
}

/// Whether a program's runs are counted.
pub(super) fn counts(program: &Ran) -> bool {
    !program.looks && is_program(&program.name)
}

/// How a program ended in a line that ended so.
pub(super) fn ended(line: Ended, program: &Ran) -> Ended {
    match (line, program.ended) {
        (Ended::Ok | Ended::Failed, Some(true)) => Ended::Ok,
        (Ended::Ok | Ended::Failed, Some(false)) => Ended::Failed,
        (Ended::Ok | Ended::Failed, None) => Ended::Unknown,
        (other, _) => other,
    }
}

/// How a run counts: for its program, for its line with others, for what stood behind its pipe, or as unknown.
fn tally(line: Ended, program: &Ran) -> Tally {
    let mut tally = Tally::default();
    let count = match (line, ended(line, program), program.part) {
        (Ended::Ok, _, Part::Piped) => &mut tally.piped_ok,
        (_, Ended::Failed, Part::Piped) => &mut tally.piped_failed,
        (_, Ended::Ok, Part::Whole) => &mut tally.ok,
        (_, Ended::Failed, Part::Whole) => &mut tally.failed,
        (_, Ended::Ok, Part::Shared) => &mut tally.shared_ok,
        (_, Ended::Failed, Part::Shared) => &mut tally.shared_failed,
        (_, Ended::Denied, _) => &mut tally.denied,
        (_, Ended::Interrupted, _) => &mut tally.interrupted,
        (_, Ended::Unknown, _) | (_, _, Part::Piped | Part::Hidden) => &mut tally.unknown,
    };
    *count = 1;
    tally
}
