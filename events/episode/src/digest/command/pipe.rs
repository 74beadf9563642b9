//! What follows a pipe, and what that hides about the program before it.
//!
//! # Decisions
//!
//! - A result that is hidden (`… | tail`, `|| true`) is unknown, unless the output's own summary says how it went.

use super::words::{self, Joint, Word};
use super::{Command, Step};

/// What took a program's output; later variants hide more about the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pipe {
    /// Nothing: the exit code is its own.
    #[default]
    None,
    /// A program that shows all of it, or its end, and does not fail itself: `tail`, `cat`, `tee`.
    End,
    /// Anything else.
    Part,
    /// A program that fails if it finds nothing: `grep`.
    Search,
}

/// Programs that show the end of their input.
const END: [&str; 5] = ["tail", "cat", "tee", "less", "more"];
/// Programs that search.
const SEARCH: [&str; 7] = ["grep", "egrep", "fgrep", "rg", "ag", "zgrep", "diff"];

impl Pipe {
    /// Classifies the program after a pipe.
    pub(super) fn into(words: &[Word<'_>]) -> Self {
        let name = words.first().map_or("", Word::as_str).rsplit('/').next().unwrap_or_default();
        if END.contains(&name) {
            Self::End
        } else if SEARCH.contains(&name) {
            Self::Search
        } else {
            Self::Part
        }
    }
}

/// Returns true if something takes the output of a program of the line.
pub(in crate::digest) fn is_piped(line: &str) -> bool {
    words::parts(line).iter().any(|part| part.joint == Joint::Pipe)
}

/// Returns true if a program of the line, also one that takes another's output, says this: `cat: illegal option`.
pub(in crate::digest) fn is_said_by_one(line: &str, said: &str) -> bool {
    let name = said.split_once(": ").map_or("", |(name, _)| name);
    let is_it = |word: &Word<'_>| word.as_str().rsplit('/').next() == Some(name);
    !name.is_empty() && words::parts(line).iter().any(|part| part.words.first().is_some_and(is_it))
}

/// Beginnings of what prepares the environment of the programs behind it.
const PREPARING: [&str; 3] = ["source ", ". ", "export "];

/// Returns a step of a line as typed, without what takes its output, behind what prepares its environment; the whole
/// line if it is not found.
pub(in crate::digest) fn separate(line: &str, step: &Step<'_>) -> String {
    let mut prepared = String::new();
    for part in split(line) {
        let part = part.trim_matches(['(', ')', ' ']);
        if Command::read(part).steps().iter().any(|own| own.text() == step.text()) {
            return prepared + part;
        }
        match PREPARING.iter().any(|start| part.starts_with(start)) {
            true => prepared = format!("{prepared}{part} && "),
            false => prepared.clear(),
        }
    }
    line.to_owned()
}

/// Splits a line at `&&`, `||` and `;`, and drops pipes and redirections.
fn split(line: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut end) = (Vec::new(), 0, None);
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != c),
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, ';' | '&') if !line[..at].ends_with('>') && !line[at + 1..].starts_with('>') => {
                parts.push(&line[begin..end.take().unwrap_or(at).max(begin)]);
                begin = at + 1;
            }
            (None, '|') => end = end.or(Some(at)),
            // The number of what is redirected, or a `&`, stands before it.
            (None, '>') => end = end.or(Some(line[..at].trim_end_matches(['1', '2', '&']).len())),
            _ => {}
        }
    }
    parts.push(&line[begin..end.unwrap_or(line.len()).max(begin)]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_without_what_takes_its_output() {
        let check = |line: &str, at: usize, expected: &str| {
            let command = Command::read(line);
            assert_eq!(separate(command.normal_form(), &command.steps()[at]), expected, "{line}");
        };
        check("make test 2>&1 | tail -20", 0, "make test");
        check("cd api && make lint && pytest -k \"a | b\" > log.txt 2>&1", 1, "pytest -k \"a | b\"");
        check("(source .venv/bin/activate && ruff check src/)", 0, "source .venv/bin/activate && ruff check src/");
        check("ls; cargo test --all &> out; echo done", 1, "cargo test --all");
    }
}
