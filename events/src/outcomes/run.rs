//! Programs and the lines they were run by, with how they ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_COMMANDS, MAX_LINES, MAX_LINES_OF_ONE};
use crate::digest::{Attempt, Ran, What};
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
            if run.failed + run.shared_failed > 0 {
                let text = attempt.error.clone();
                command.last_failure = Some(Said { text, line: attempt.result_line, at: millis(attempt.at) });
            }
            let line = lines.entry(text).or_default();
            line.runs = line.runs.plus(&run);
            (line.line, line.at) = (attempt.line, millis(attempt.at));
            (line.ended, line.exit_code) = (ended(attempt.ended, program), attempt.exit_code);
        }
    }
    let mut commands: Vec<Command> = known
        .into_iter()
        .map(|(name, (command, lines))| {
            let lines = lines.into_iter().map(|(text, line)| Line { text: text.to_owned(), ..line });
            Command { name: name.to_owned(), lines: lines.collect(), ..command }
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

fn tally(line: Ended, program: &Ran) -> Tally {
    let mut tally = Tally::default();
    let count = match ended(line, program) {
        Ended::Ok if program.alone => &mut tally.ok,
        Ended::Ok => &mut tally.shared_ok,
        Ended::Failed if program.alone => &mut tally.failed,
        Ended::Failed => &mut tally.shared_failed,
        Ended::Denied => &mut tally.denied,
        Ended::Interrupted => &mut tally.interrupted,
        Ended::Unknown => &mut tally.unknown,
    };
    *count = 1;
    tally
}
