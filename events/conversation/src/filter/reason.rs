//! The line that says why something failed, for what is not hashed: the best line of a failed output, the cause in an
//! output that may be no failure, the error in a text that a person pasted.
//!
//! Unlike [`telling_line`](super::telling::telling_line), the choice may change.

mod test_log;

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::one_line;
use super::summary::{counts_successes, summary};
use super::telling::{
    FAILURE_STARTS, MAX_CHARS, MAX_LINES, Rank, WRAPPER_FAILED, bare, best_of, failed_test, finder, finding,
    is_exception, rank,
};
use baton_words::WordList;

/// Longest output of which the first line is taken to say why although it does not look so, in lines.
const MAX_UNCLEAR_LINES: usize = 5;
/// Files that a shell runs before a command: what fails in them is no reason.
const START_FILES: [&str; 6] = [".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile"];
/// Marks that tools draw around and behind their lines.
const DRAWN: [char; 5] = ['┃', '│', '━', '─', ' '];

/// The line that says why, with at most 300 characters; `None` if the output has no words. Unlike [`telling_line`] it
/// passes over what was printed before a summary of success, as tests of error handling print errors, and of a longer
/// output in which no line says why it has none.
pub(super) fn reason_line(text: &str) -> Option<String> {
    let lines = lines(text);
    let is_long = lines.iter().filter(|line| is_said(line) && !counts_successes(line)).nth(MAX_UNCLEAR_LINES).is_some();
    best_reason(lines).filter(|(rank, _)| *rank < Rank::Other || !is_long).map(|(_, line)| line)
}

/// True for a line that a program says something with.
fn is_said(line: &str) -> bool {
    line.contains(char::is_alphanumeric) && !line.starts_with("Exit code ")
}

/// Returns true if a line only repeats that something failed, as a runner does after its program: `error: script "lint"
/// exited with code 1`.
pub fn is_echo(line: &str) -> bool {
    reason_rank(bare(line)) == Rank::Echo
}

/// As [`reason_line`], but only a line that names a cause: for output that may be no failure at all.
pub(super) fn cause_line(text: &str) -> Option<String> {
    cause(lines(text))
}

fn cause(lines: Vec<&str>) -> Option<String> {
    best_reason(lines).filter(|(rank, _)| *rank == Rank::Cause).map(|(_, line)| line)
}

/// The line of a pasted output that has the form of an error, in a text that a person typed around it.
pub fn pasted_line(text: &str) -> Option<String> {
    let rank = |line: &str| match reason_rank(line) {
        Rank::Cause => Rank::Cause,
        Rank::Failure if failed_test(line).is_some() || FAILURE_STARTS.begins(line) => Rank::Failure,
        _ => Rank::Other,
    };
    let lines: Vec<&str> = text.lines().take(MAX_LINES).map(bare).collect();
    let traced = || {
        let is_frame =
            |line: &&str| line.starts_with("at ") && line.ends_with(|c: char| c.is_ascii_digit() || c == ')');
        let first = lines.windows(2).position(|pair| pair.iter().all(is_frame))?;
        let reason = lines[..first].iter().rfind(|line| !line.is_empty() && !line.starts_with("at "))?;
        Some(one_line(reason, MAX_CHARS))
    };
    let best = best_of(&lines, rank).filter(|(rank, _)| *rank <= Rank::Failure).map(|(_, line)| line);
    best.or_else(traced)
}

/// As [`cause_line`], or a linter's finding, or a program's complaint about its own options: for the output of a program
/// whose exit code is hidden.
pub(super) fn finding_line(text: &str) -> Option<String> {
    let found = |line: &str| match finding(line) {
        Some(2..) => Rank::Cause,
        _ if !line.starts_with("! ") && is_marked(line) || is_crossed(line) || refuses_option(line) => Rank::Cause,
        _ => Rank::Other,
    };
    let lines = lines(text);
    cause(lines.clone())
        .or_else(|| best_of(&lines, found).filter(|(rank, _)| *rank == Rank::Cause).map(|(_, line)| line))
}

/// The lines of an output without marks around them and without code frames. Hooks print what other programs said as one line with escaped line breaks.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = match text.contains("\\n") {
        true => text.lines().flat_map(|line| line.split("\\n")).collect(),
        false => text.lines().collect(),
    };
    lines.truncate(MAX_LINES);
    lines.iter_mut().for_each(|line| *line = bare(line).trim_matches(DRAWN));
    for at in 0..lines.len() {
        if lines[at].starts_with('×') {
            lines[at] = lines[at].trim_end_matches(':');
        }
        if is_frame(lines[at]) {
            lines[at] = "";
            // The heading of a code frame says it all.
            let heading = lines[..at].iter_mut().rfind(|line| !line.is_empty());
            heading.into_iter().for_each(|line| *line = line.trim_end_matches(':'));
        }
    }
    lines
}

/// True for a line of a code frame or of a difference with numbers: `302 302 │ let x`, `> 12 | x`.
fn is_frame(line: &str) -> bool {
    if !line.trim_start_matches(['>', ' ']).starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let (gutter, _) = line.split_once(['│', '|']).unwrap_or((line, ""));
    gutter.trim_start_matches(['>', ' ']).chars().all(|c| c.is_ascii_digit() || c == ' ')
}

fn best_reason(mut lines: Vec<&str>) -> Option<(Rank, String)> {
    if let Some(reason) = test_log::failed(&lines) {
        return Some((Rank::Cause, one_line(&reason, MAX_CHARS)));
    }
    test_log::remove(&mut lines, |line| reason_rank(line) == Rank::Echo);
    let passed = lines.iter().rposition(|line| summary(line) == Some(true));
    lines.iter_mut().filter(|line| counts_successes(line)).for_each(|line| *line = "");
    let rest = passed.map_or(&lines[..], |at| &lines[at + 1..]);
    let best = best_of(rest, reason_rank)
        .filter(|(rank, _)| passed.is_none() || *rank <= Rank::Failure)
        .or_else(|| best_of(&lines, reason_rank))?;
    match best {
        (Rank::Echo, line) if line.starts_with(WRAPPER_FAILED) => Some(wrapped(&lines).unwrap_or((Rank::Echo, line))),
        best => Some(best),
    }
}

/// The first line after that of a wrapper which only repeats the command, with the next if it announces that.
fn wrapped(lines: &[&str]) -> Option<(Rank, String)> {
    let wrapper = lines.iter().position(|line| line.starts_with(WRAPPER_FAILED))?;
    let mut rest = lines[wrapper + 1..].iter().filter(|line| {
        line.chars().any(char::is_alphanumeric) && !matches!(reason_rank(line), Rank::Echo | Rank::Preamble)
    });
    let line = *rest.next()?;
    let what = rest.next().filter(|_| line.ends_with(':')).map_or("", |next| next);
    Some((Rank::Hint, one_line(&format!("{line} {what}"), MAX_CHARS)))
}

/// As [`rank`], with more forms.
fn reason_rank(line: &str) -> Rank {
    if REPEATS.is_match(line) {
        return Rank::Echo;
    }
    // `a.c:9:2: note: declared here` adds to a warning or an error.
    if is_of_the_start(line) || is_note(line) {
        return Rank::Preamble;
    }
    // The lines below it say why.
    if line.split_once(" while ").is_some_and(|(name, _)| is_exception(name)) {
        return Rank::Failure;
    }
    if has_no_rule(line) {
        return Rank::Cause;
    }
    match rank(line) {
        Rank::Hint | Rank::Other if is_call(line) => Rank::Other,
        Rank::Other if line.starts_with("Command timed out") => Rank::Failure,
        Rank::Other | Rank::Mention if warns(line) || line == "[ERROR]" => Rank::Preamble,
        // The tool puts the first label before whatever a failed program printed.
        _ if line.strip_prefix("Error: ").is_some_and(warns) => Rank::Preamble,
        _ if line.starts_with(CONFLICT) => Rank::Cause,
        Rank::Other if NOTHING_DONE.iter().any(|part| line.contains(part)) => Rank::Hint,
        same @ (Rank::Preamble | Rank::Echo | Rank::Cause) => same,
        _ if finding(line).is_some() || line.starts_with("(fail) ") || is_marked(line) => Rank::Hint,
        other => other,
    }
}

/// True for what a compiler adds to another line: `a.c:9:2: note: declared here`.
fn is_note(line: &str) -> bool {
    line.split_once(": note: ").is_some_and(|(place, _)| place.ends_with(|c: char| c.is_ascii_digit()))
}

/// Parts of lines that only repeat a failure, besides [`ECHOES`].
static REPEATED: WordList = WordList::new(crate::WORDS, "repeated reasons");
static REPEATS: LazyLock<AhoCorasick> = LazyLock::new(|| finder(REPEATED.iter().copied()));

/// Begins a line in which git names a file that it could not merge: `CONFLICT (content): Merge conflict in a.rs`.
const CONFLICT: &str = "CONFLICT (";

/// Parts of lines in which git says why it did nothing.
const NOTHING_DONE: &[&str] = &["nothing to commit", "nothing added to commit", "no changes added to commit"];

/// True for a line of what a shell runs before a command: `/root/.bashrc: line 1: x: command not found`, in zsh
/// `/root/.zshrc:3: …`.
fn is_of_the_start(line: &str) -> bool {
    START_FILES.iter().any(|name| {
        let rest = line.split_once(name).and_then(|(_, rest)| rest.strip_prefix(':')).unwrap_or_default();
        let place = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(" line ") || place.len() < rest.len() && place.starts_with(": ")
    })
}

/// True for the line in which make says that there is nothing that it could do; others that begin so repeat a failure.
fn has_no_rule(line: &str) -> bool {
    line.starts_with("make") && line.contains("*** No ") && line.ends_with("Stop.")
}

/// True for a place in a chain of calls: `lib/importer.py:88: in import_module`.
fn is_call(line: &str) -> bool {
    let is_place = |place: &str| place.ends_with(|c: char| c.is_ascii_digit());
    line.split_once(": in ").is_some_and(|(place, name)| is_place(place) && !name.contains(' '))
}

fn warns(line: &str) -> bool {
    line.starts_with("WARNING: ") || line.contains(" warning: ") || line.contains("(WARN)")
}

/// True for a message of a linter: `! Unused variable`, `[D] ↘ Nested modules`.
fn is_marked(line: &str) -> bool {
    let letter = line.strip_prefix('[').and_then(|rest| rest.get(1..)).and_then(|rest| rest.strip_prefix("] "));
    line.starts_with("! ") || letter.is_some_and(|rest| rest.starts_with(['↘', '→', '↗', '↑', '↓']))
}

/// True for an error of a linter or a failed test: `× Formatter would have printed the following content`.
fn is_crossed(line: &str) -> bool {
    line.strip_prefix("× ").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// True for a program's complaint about an option: `cat: illegal option -- A`.
fn refuses_option(line: &str) -> bool {
    let (program, complaint) = line.split_once(": ").unwrap_or_default();
    !program.is_empty() && !program.contains(' ') && REFUSED.iter().any(|words| complaint.starts_with(words))
}

/// Beginnings of such complaints.
const REFUSED: [&str; 4] = ["illegal option ", "invalid option ", "unrecognized option ", "unknown option "];

#[cfg(test)]
mod tests;
