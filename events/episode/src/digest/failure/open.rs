//! Failures that are not over yet, and what shows that they are.

use std::collections::BTreeSet;

use super::super::command::{Command, Family, Step};
use super::super::excerpt::one_line;
use super::super::timeline::Deed;
use super::super::{ERROR_CHARS, INSTEAD_OF, Mending, Pointed};
use super::Failure;

/// Ends the resolution by another command that failed for another reason: how it is called is known.
const THEN_FAILED: &str = ", which then failed otherwise";

/// A failure without a success so far.
pub(super) struct Open<'a> {
    pub(super) error: usize,
    pub(super) subject: Subject<'a>,
    pub(super) complaint: String,
    pub(super) directory: Directory<'a>,
    /// Position of the last failed result.
    pub(super) ended: usize,
    pub(super) seen: Seen<'a>,
    /// True if the command was called wrongly, or in the wrong place.
    pub(super) is_usage: bool,
    /// True if something else of its family passed since, or failed in its place.
    pub(super) is_past: bool,
    /// True if it did fail.
    pub(super) fails_otherwise: bool,
    /// Positions of the first runs since, after a change each, that failed otherwise although they cover it.
    pub(super) otherwise: Vec<usize>,
    /// Position of the first of them that shows it to be over: what was changed later was for something else.
    pub(super) gone: Option<usize>,
    /// True if the last run of its family passed.
    pub(super) passed: bool,
    /// What mended it, if a command that mends such findings ran through and the check did not fail alike since.
    pub(super) mended: Option<(Pointed, Mending)>,
}

/// What showed a failure, which decides what shows that it is over.
pub(super) enum Seen<'a> {
    /// The exit code.
    Exit,
    /// A summary at the end of the output.
    Summary,
    /// A line in the output of this command line, which may not show everything.
    Line(&'a str),
}

impl Seen<'_> {
    /// Returns true if the output of a step with an unknown exit code would have shown the failure.
    pub(super) fn would_show(&self, line: &str, step: &Step<'_>) -> bool {
        match self {
            Self::Exit => step.family().is_silent() && step.is_shown_to_the_end(),
            Self::Summary => step.is_shown_to_the_end(),
            Self::Line(before) => line.trim_end().ends_with(before.trim()),
        }
    }
}

pub(super) enum Subject<'a> {
    /// The steps of a command that have not succeeded since, and all of them.
    Command { steps: Vec<Step<'a>>, all: Vec<Step<'a>> },
    /// A file, as shown to people.
    File(&'a str),
    /// Any other tool and its target.
    Tool(&'a str, Option<&'a str>),
}

/// Where a command ran, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory<'a> {
    pub(super) cwd: Option<&'a str>,
    /// Target of the line's own `cd`.
    pub(super) below: &'a str,
}

impl<'a> Directory<'a> {
    pub(super) fn of(deed: &Deed<'a>, command: &Command<'a>) -> Self {
        let below = command.steps().first().map_or("", Step::directory);
        Self { cwd: deed.input("workdir").or(deed.cwd).filter(|_| !below.starts_with(['/', '~'])), below }
    }

    /// As [`of`](Self::of), for a call that runs a command.
    pub(super) fn of_call(deed: &Deed<'a>) -> Option<Self> {
        Some(Self::of(deed, deed.kept_command()?))
    }

    /// Returns its last name, if it is known.
    pub(super) fn name(self) -> Option<&'a str> {
        let whole = if self.below.is_empty() { self.cwd? } else { self.below };
        whole.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty() && *name != "..")
    }

    /// Returns its path from another directory that contains it.
    pub(super) fn below(self, other: Self) -> Option<String> {
        let (inner, outer) = (self.path(), other.path());
        let rest = inner.strip_prefix(&outer).filter(|_| !outer.is_empty())?.strip_prefix('/')?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }

    fn path(self) -> String {
        let parts = [self.cwd.unwrap_or_default(), self.below].into_iter().filter(|part| !part.is_empty());
        parts.map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/")
    }

    /// Returns true if this may be the same place, or one above it.
    pub(super) fn contains(self, other: Self) -> bool {
        let (outer, inner) = (self.path(), other.path());
        let is_known = self.cwd.is_some() == other.cwd.is_some() || self.below == other.below;
        !is_known || outer == inner || inner.strip_prefix(&outer).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl<'a> Open<'a> {
    /// Returns true if a step is a check of the same kind as what failed, or runs the same.
    pub(super) fn is_of(&self, step: &Step<'a>) -> bool {
        let Subject::Command { all, .. } = &self.subject else { return true };
        step.family().is_check() || all.iter().any(|failed| failed.text() == step.text())
    }

    /// Notes that other steps of its family passed in a later call, if they did.
    pub(super) fn note_pass<'s>(
        &mut self,
        deed: &Deed<'a>,
        directory: Directory<'a>,
        passed: impl Iterator<Item = &'s Step<'a>>,
    ) where
        'a: 's,
    {
        let Subject::Command { steps, .. } = &self.subject else { return };
        if deed.began <= self.ended || !directory.contains(self.directory) {
            return;
        }
        // Other parts say nothing of those that failed, unless a commit's own hook is content with them.
        let is_about = |step: &Step<'a>, failed: &Step<'a>| {
            step.is_same_check(failed) && !step.is_less_than(failed) && (deed.commits() || !step.is_apart_from(failed))
        };
        for step in passed.filter(|step| steps.iter().any(|failed| is_about(step, failed))) {
            let narrows = |failed: &Step<'a>| step.is_same_check(failed) && step.narrows(failed);
            let is_narrower = steps.iter().any(narrows);
            // A part of the tests says nothing of all of them, unless a commit's own hook is content with it.
            self.is_past |= !(is_narrower && steps.iter().any(Step::is_of_all_tests)) || deed.commits();
            // Another script is another check.
            if step.family() != Family::Run && !is_narrower {
                self.passed = true;
            }
        }
    }
}

/// Says of a command that took the place of another that it then failed itself, unless that was mended.
pub(super) fn note_what_then_failed(errors: &mut [Failure]) {
    let left: BTreeSet<u64> =
        errors.iter().map(|one| &one.line).filter(|line| line.resolution.is_none()).map(|line| line.line).collect();
    for error in errors {
        let fails = error.mending.as_ref().is_some_and(|mending| left.contains(&mending.line));
        let told = error.line.resolution.as_mut().filter(|told| fails && told.text.contains(INSTEAD_OF));
        told.into_iter().for_each(|told| told.text = one_line(&format!("{}{THEN_FAILED}", told.text), ERROR_CHARS));
    }
}
