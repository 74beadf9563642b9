//! What the end of a command line says of the programs in it: which succeeded, which may have failed, and of which nobody
//! knows.
//!
//! # Hazards
//!
//! - A shell's exit code is its last program's: of `a && b` that failed, `b` is taken to have; of a program
//!   before `;` or `||` nothing is known.

use super::words::Joint;
use super::{Command, Pipe, Step};
use baton_conversation::filter::Verdict;

/// What only one subcommand says when it fails, where its program's name does not stand before the error.
const WORDS_OF: [(&str, &str); 7] = [
    ("git add", "did not match any files"),
    ("git add", "ignored by one of your .gitignore files"),
    ("git commit", "nothing to commit"),
    ("git commit", "nothing added to commit"),
    ("git commit", "no changes added to commit"),
    ("git push", "failed to push some refs"),
    ("git push", "has no upstream branch"),
];

impl Step<'_> {
    /// Whether an error is in its own words.
    fn says(&self, error: &str) -> bool {
        let is_its = |(name, words): &(&str, &str)| error.contains(words) && *name == self.name();
        WORDS_OF.iter().any(is_its) || error.strip_prefix(&*self.program).is_some_and(|rest| rest.starts_with(": "))
    }
}

impl<'a> Command<'a> {
    /// Whether the exit code of a line that failed is that of something that only looks.
    pub(in crate::digest) fn found_nothing(&self) -> bool {
        !self.steps.is_empty() && self.suspects().is_empty()
    }

    /// Whether a check is known to have passed.
    pub(in crate::digest) fn passed(&self) -> bool {
        self.proven().into_iter().any(Step::checks)
    }

    /// Whether the output says that a check failed whose exit code cannot tell.
    pub(in crate::digest) fn failed_unseen(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Failed(_))) && self.unseen_checks().next().is_some()
    }

    /// The steps one of which failed, when the whole failed: those bound by `&&` to the last, or it alone; what the output
    /// says failed, where that alone tells. That a search behind a pipe finds nothing is no failure of what it searched.
    pub(in crate::digest) fn suspects(&self) -> Vec<Step<'a>> {
        if self.failed_unseen() {
            return self.unseen_checks().cloned().collect();
        }
        let may_fail = |step: &&Step<'a>| !step.only_looks() && step.pipe != Pipe::Search;
        let mut suspects: Vec<Step<'a>> = self.chained().iter().filter(may_fail).cloned().collect();
        // What hardly ever fails did not, where something else may have.
        if suspects.iter().any(|step| !step.is_harmless()) {
            suspects.retain(|step| !step.is_harmless());
        }
        suspects
    }

    /// The steps bound by `&&` to the last, and that one.
    fn chained(&self) -> &[Step<'a>] {
        let first = self.steps[..self.steps.len().saturating_sub(1)].iter().rposition(|step| step.joint != Joint::And);
        &self.steps[first.map_or(0, |at| at + 1)..]
    }

    /// The programs that the line runs, each once and in order, by the names that all their spellings share.
    ///
    /// `succeeded` is how the line ended, if that is known. Of a line that succeeded only what the exit code or the output
    /// stands for did. Of several that may have failed, the one has whose words the `error` is, else the last is taken to
    /// have.
    pub(in crate::digest) fn ran(&self, succeeded: Option<bool>, error: &str) -> Vec<Ran> {
        let proven = if succeeded == Some(true) { self.proven() } else { Vec::new() };
        let suspect = || self.chained().iter().find(|step| step.says(error)).cloned().or_else(|| self.suspects().pop());
        let suspect = (succeeded == Some(false)).then(suspect).flatten();
        let mut ran: Vec<Ran> = Vec::new();
        for step in &self.steps {
            let name = step.name();
            let ended = match succeeded {
                Some(true) if proven.iter().any(|other| std::ptr::eq(*other, step)) => Some(true),
                Some(false) if suspect.as_ref() == Some(step) => Some(false),
                _ => None,
            };
            let part = self.part(step);
            match ran.iter_mut().find(|known| known.name == name) {
                Some(known) => known.ended = if ended == Some(false) { ended } else { known.ended.or(ended) },
                None => ran.push(Ran { name, looks: step.only_looks(), part, ended }),
            }
        }
        ran
    }

    /// What part a step has in how the line ends.
    fn part(&self, step: &Step<'a>) -> Part {
        let is_other = |other: &&Step<'a>| !std::ptr::eq(*other, step) && !other.only_looks() && !other.is_harmless();
        let tells = self.verdict.is_some() && step.checks() && self.unseen_checks().count() == 1;
        match step.pipe {
            Pipe::None | Pipe::End | Pipe::Part if tells && step.is_one_of(self.unseen_checks()) => Part::Whole,
            Pipe::None if !self.steps.iter().any(|other| is_other(&other)) => Part::Whole,
            Pipe::None => Part::Shared,
            Pipe::End => Part::Piped,
            Pipe::Part | Pipe::Search => Part::Hidden,
        }
    }

    /// The steps that succeeded, when the whole succeeded. A step before `||`, `;` or a pipe proves nothing by the exit
    /// code; if the output says that all passed, and shows its end, the one check of the line did, unless it ran several
    /// times: the end of the output is that of the last.
    pub(in crate::digest) fn proven(&self) -> Vec<&Step<'a>> {
        let mut proven: Vec<&Step<'a>> = self.proven_by_exit().collect();
        if self.verdict == Some(Verdict::Passed) && !self.loops {
            let mut unseen = self.unseen_checks();
            if let (Some(step), None) = (unseen.next(), unseen.next())
                && step.pipe <= Pipe::End
            {
                proven.push(step);
            }
        }
        proven
    }

    /// The steps of which nothing is known, when the whole succeeded.
    pub(in crate::digest) fn unproven(&self) -> Vec<&Step<'a>> {
        let proven = self.proven();
        self.steps.iter().filter(|step| !step.asks && !step.is_one_of(proven.iter().copied())).collect()
    }

    fn proven_by_exit(&self) -> impl Iterator<Item = &Step<'a>> {
        let after_or = |at: usize| at > 0 && self.steps[at - 1].joint == Joint::Or;
        let first = self.steps.iter().rposition(|step| step.joint == Joint::Sequence).map_or(0, |at| at + 1);
        let proven = self.steps.iter().enumerate().skip(first);
        let stands = move |at: usize, step: &Step<'_>| {
            step.joint != Joint::Or && !after_or(at) && !step.asks && step.pipe == Pipe::None
        };
        proven.filter(move |(at, step)| stands(*at, step)).map(|(_, step)| step)
    }

    /// The checks that the exit code does not prove.
    fn unseen_checks(&self) -> impl Iterator<Item = &Step<'a>> {
        let seen: Vec<&Step<'a>> = self.proven_by_exit().collect();
        let unseen = move |step: &&Step<'a>| step.checks() && !step.asks && !step.is_one_of(seen.iter().copied());
        self.steps.iter().filter(unseen)
    }
}

/// What part a program has in how its line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It ends as the program does, or its output says how that went.
    Whole,
    /// Others that may fail have a part in it.
    Shared,
    /// What shows the end of its output ends it, and never fails itself.
    Piped,
    /// Something else ends it.
    Hidden,
}

/// A program of one run of a command line.
pub struct Ran {
    /// Program and subcommand: `cargo test`.
    pub name: String,
    /// Whether it only looks.
    pub looks: bool,
    /// What part it has in how the line ends.
    pub part: Part,
    /// Whether it succeeded, where that follows from how the line ended.
    pub ended: Option<bool>,
}
