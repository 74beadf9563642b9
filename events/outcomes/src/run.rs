//! Programs and the lines that ran them, with their results.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MAX_COMMANDS, MAX_LINES, MAX_LINES_OF_ONE};
use baton_episode::digest::{Action, Attempt, Part, Ran, one_line};
use baton_events::schema::outcomes::{Command, Ended, Excerpt, Kind, Line, Tally, millis};
use baton_graph::is_program;

/// Maximum number of programs, and of lines over all programs, held at a time.
const MAX_HELD: usize = 8_000;

/// Maximum length of the purpose of a line, in characters.
const PURPOSE_CHARS: usize = 80;

/// Collects the programs of a session from its calls. Bounded: if there are too many lines, the least frequent are
/// dropped and counted.
#[derive(Default)]
pub(super) struct Programs {
    known: BTreeMap<String, (Command, BTreeMap<String, Line>)>,
    lines: usize,
    left_out: usize,
}

impl Programs {
    /// Adds the next call. Programs that only look are ignored.
    pub(super) fn push(&mut self, attempt: &Attempt<'_>) {
        let Action::Command { text, ran, .. } = &attempt.what else { return };
        for program in ran.iter().filter(|program| is_counted(program)) {
            if !self.known.contains_key(&program.name) {
                self.known.insert(program.name.clone(), <(Command, BTreeMap<String, Line>)>::default());
            }
            let Some((command, lines)) = self.known.get_mut(&program.name) else { continue };
            if !lines.contains_key(text) {
                lines.insert(text.clone(), Line::default());
                self.lines += 1;
            }
            let Some(line) = lines.get_mut(text) else { continue };
            let run = Tally::one(kind(attempt.ended, program));
            command.runs = command.runs.plus(&run);
            if ended(attempt.ended, program) == Ended::Failed {
                let text = attempt.error.clone();
                let failure = Some(Excerpt { text, line: attempt.result_line, at: millis(attempt.at) });
                command.last_failure.clone_from(&failure);
                line.last_failure = failure;
            }
            line.runs = line.runs.plus(&run);
            if let Some(purpose) = attempt.call.and_then(|call| call.input.get("description")?.as_str()) {
                line.purpose = one_line(purpose, PURPOSE_CHARS);
            }
            (line.line, line.at) = (attempt.line, millis(attempt.at));
            (line.ended, line.exit_code) = (ended(attempt.ended, program), attempt.exit_code);
        }
        if self.lines.max(self.known.len()) > MAX_HELD {
            self.drop_least_frequent();
        }
    }

    /// Drops the least frequent lines, then programs without lines, until half of the limit remains.
    fn drop_least_frequent(&mut self) {
        let mut least = 1;
        while self.lines.max(self.known.len()) > MAX_HELD / 2 {
            for (_, lines) in self.known.values_mut() {
                let before = lines.len();
                lines.retain(|_, line| line.runs.all() > least);
                self.lines -= before - lines.len();
                self.left_out += before - lines.len();
            }
            let before = self.known.len();
            self.known.retain(|_, (command, lines)| !lines.is_empty() || command.runs.all() > least);
            self.left_out += before - self.known.len();
            least = least.saturating_mul(2);
        }
    }

    /// Returns the programs, the most frequent first.
    pub(super) fn finish(self, left_out: &mut impl FnMut(usize)) -> Vec<Command> {
        left_out(self.left_out);
        let mut commands: Vec<Command> = self
            .known
            .into_iter()
            .map(|(name, (command, lines))| {
                let lines = lines.into_iter().map(|(text, line)| {
                    // A failure that its program stores already is not stored again.
                    let last_failure =
                        line.last_failure.filter(|failure| Some(failure) != command.last_failure.as_ref());
                    Line { text, last_failure, ..line }
                });
                Command { name, lines: lines.collect(), ..command.clone() }
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
}

/// Returns true if runs of the program are counted.
pub(super) fn is_counted(program: &Ran) -> bool {
    !program.looks && is_program(&program.name)
}

/// Returns how a program ended, given how its line ended.
pub(super) fn ended(line: Ended, program: &Ran) -> Ended {
    match (line, program.ended) {
        (Ended::Ok | Ended::Failed, Some(true)) => Ended::Ok,
        (Ended::Ok | Ended::Failed, Some(false)) => Ended::Failed,
        (Ended::Ok | Ended::Failed, None) => Ended::Unknown,
        (other, _) => other,
    }
}

/// Returns how a run counts: alone, with others in its line, before a pipe, or as unknown.
pub(super) fn kind(line: Ended, program: &Ran) -> Kind {
    match (line, ended(line, program), program.part) {
        (Ended::Ok, _, Part::Piped) => Kind::PipedOk,
        (_, Ended::Failed, Part::Piped) => Kind::PipedFailed,
        (_, Ended::Ok, Part::Whole) => Kind::Ok,
        (_, Ended::Failed, Part::Whole) => Kind::Failed,
        (_, Ended::Ok, Part::Shared) => Kind::SharedOk,
        (_, Ended::Failed, Part::Shared) => Kind::SharedFailed,
        (_, Ended::Denied, _) => Kind::Denied,
        (_, Ended::Interrupted, _) => Kind::Interrupted,
        (_, Ended::Unknown, _) | (_, _, Part::Piped | Part::Hidden) => Kind::Unknown,
    }
}
