//! What the result of a command line says about its programs: which succeeded, which may have failed, and which are
//! unknown.
//!
//! # Hazards
//!
//! - A shell's exit code is that of its last program: if `a && b` failed, `b` is taken to have failed; nothing is
//!   known of a program before `;` or `||`.

use super::vocabulary::INTERPRETERS;
use super::words::Joint;
use super::{Command, Family, Pipe, Step};
use baton_conversation::item::Verdict;

/// Error messages of one subcommand that do not begin with the program's name.
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
    /// Returns true if its output, or its end, is what the line shows of it.
    pub(in crate::digest) fn is_shown_to_the_end(&self) -> bool {
        self.pipe <= Pipe::End
    }

    /// Returns true if only what a search finds in its output is shown.
    pub(in crate::digest) fn is_searched(&self) -> bool {
        self.pipe == Pipe::Search
    }

    /// Returns true if the error is a message of this step.
    fn says(&self, error: &str) -> bool {
        let is_its = |(name, words): &(&str, &str)| error.contains(words) && *name == self.name();
        WORDS_OF.iter().any(is_its) || error.strip_prefix(&*self.program).is_some_and(|rest| rest.starts_with(": "))
    }
}

impl<'a> Command<'a> {
    /// Returns true if the exit code of a failed line comes from steps that only look.
    pub(in crate::digest) fn found_nothing(&self) -> bool {
        !self.steps.is_empty() && self.suspects().is_empty()
    }

    /// Returns true if a check is known to have passed.
    pub(in crate::digest) fn passed(&self) -> bool {
        self.proven().into_iter().any(Step::checks)
    }

    /// Returns true if the output says that a step failed whose exit code is hidden.
    pub(in crate::digest) fn failed_unseen(&self) -> bool {
        self.says_failed() && !self.unseen().is_empty()
    }

    fn says_failed(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Failed(_)))
    }

    /// Returns the steps with a hidden exit code of which the output may say how they ended: checks, otherwise what has
    /// hooks or checks something on its way.
    fn unseen(&self) -> Vec<&Step<'a>> {
        let checks: Vec<&Step<'a>> = self.unseen_checks().collect();
        if !checks.is_empty() {
            return checks;
        }
        let works = [Family::Commit, Family::Push, Family::Merge, Family::Install];
        self.hidden().filter(|step| works.contains(&step.family())).collect()
    }

    /// Returns those of the suspects that failed according to the output: the script that it names, or others than the
    /// tests if they passed.
    fn narrowed(&self, mut suspects: Vec<Step<'a>>) -> Vec<Step<'a>> {
        let is_named = |step: &Step<'a>| self.script.is_some() && step.subcommand.as_deref() == self.script;
        if suspects.iter().any(is_named) {
            suspects.retain(|step| is_named(step));
        } else if self.tests_passed && suspects.iter().any(|step| step.family() != Family::Test) {
            suspects.retain(|step| step.family() != Family::Test);
        }
        suspects
    }

    /// Returns the steps that passed before another failed, given that the line failed with an error.
    pub(in crate::digest) fn passed_before_failing(&self, error: &str) -> Vec<&Step<'a>> {
        let suspects = self.blamed(error);
        let [failed] = &suspects[..] else { return Vec::new() };
        let before = self.chained().iter().take_while(|step| *step != failed);
        let stands = |step: &Step<'a>| step.pipe == Pipe::None || self.tests_passed && step.family() == Family::Test;
        let passed: Vec<&Step<'a>> = before.filter(|step| !step.asks && stands(step)).collect();
        if self.chained().contains(failed) { passed } else { Vec::new() }
    }

    /// Returns the steps one of which failed, given that a line in the output shows it.
    pub(in crate::digest) fn hidden_suspects(&self) -> Vec<Step<'a>> {
        self.narrowed(self.hidden().cloned().collect())
    }

    /// Returns the steps one of which failed, given that the line failed: the last step and those joined to it by `&&`;
    /// or the checks that failed according to the output, if only the output shows it. A search after a pipe that finds
    /// nothing is not a failure of what it searched.
    pub(in crate::digest) fn suspects(&self) -> Vec<Step<'a>> {
        if self.failed_unseen() {
            return self.narrowed(self.unseen().into_iter().cloned().collect());
        }
        let may_fail = |step: &&Step<'a>| !step.only_looks() && step.pipe != Pipe::Search;
        let mut suspects: Vec<Step<'a>> = self.chained().iter().filter(may_fail).cloned().collect();
        // Steps that hardly ever fail are excluded if another may have failed.
        if suspects.iter().any(|step| !step.is_harmless()) {
            suspects.retain(|step| !step.is_harmless());
        }
        self.narrowed(suspects)
    }

    /// Returns the steps one of which failed, given that the line failed with an error: the one whose message it is.
    pub(in crate::digest) fn blamed(&self, error: &str) -> Vec<Step<'a>> {
        let its = self.chained().iter().find(|step| step.says(error));
        its.map_or_else(|| self.suspects(), |step| vec![step.clone()])
    }

    /// Returns the last step and those joined to it by `&&`.
    fn chained(&self) -> &[Step<'a>] {
        let first = self.steps[..self.steps.len().saturating_sub(1)].iter().rposition(|step| step.joint != Joint::And);
        &self.steps[first.map_or(0, |at| at + 1)..]
    }

    /// Returns the programs of the line, each once and in order, by their canonical names.
    ///
    /// `succeeded` is the result of the line, if known. If the line succeeded, only programs proven by the exit code or
    /// the output succeeded. If it failed, the program whose message `error` is has failed, otherwise the last of those
    /// that may have.
    pub(in crate::digest) fn ran(&self, succeeded: Option<bool>, error: &str) -> Vec<Ran> {
        let proven = if succeeded == Some(true) { self.proven() } else { Vec::new() };
        let suspect = (succeeded == Some(false)).then(|| self.blamed(error).pop()).flatten();
        let mut ran: Vec<Ran> = Vec::new();
        for step in &self.steps {
            let has_failed = suspect.as_ref() == Some(step);
            let name = if has_failed { step.failed_name(error) } else { step.name() };
            let ended = match succeeded {
                Some(true) if proven.iter().any(|other| std::ptr::eq(*other, step)) => Some(true),
                Some(false) if has_failed => Some(false),
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

    /// Returns what the result of the line says about a step.
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

    /// Returns the steps that succeeded, given that the line succeeded. The exit code proves nothing about a step
    /// before `||`, `;` or a pipe. If the output says that everything passed and shows its end, the only check of the
    /// line passed, unless it ran in a loop: then the output's end belongs to the last run.
    pub(in crate::digest) fn proven(&self) -> Vec<&Step<'a>> {
        let mut proven: Vec<&Step<'a>> = self.proven_by_exit().collect();
        if self.verdict == Some(Verdict::Passed) && !self.loops {
            let mut unseen = self.unseen_checks();
            if let (Some(step), None) = (unseen.next(), unseen.next())
                && (step.pipe <= Pipe::End || step.pipe == Pipe::Search && !finds_only_passes(&self.normal))
            {
                proven.push(step);
            }
        }
        proven
    }

    /// Returns true if it is not known how a line went that ended without an error: something hides the exit code of a
    /// check or of what stands before `||`, and the output does not say how that ended, or not to its end.
    pub(in crate::digest) fn is_inconclusive(&self) -> bool {
        let shows_errors = self.normal.contains("2>&1");
        let is_unknown = |step: &Step<'a>| match step.pipe {
            _ if step.joint == Joint::Or => true,
            Pipe::Part | Pipe::Search => step.checks(),
            // The runner of a script reports that it failed.
            Pipe::None | Pipe::End if step.is_script => step.family() == Family::Test && !shows_errors,
            // The end of an output need not show what went wrong above it.
            Pipe::End => step.checks() || step.family() == Family::Install,
            // Tests say how they went; another check that prints nothing bad went well.
            Pipe::None => step.family() == Family::Test,
        };
        let seen: Vec<&Step<'a>> = self.proven_by_exit().collect();
        let may_fail = |step: &&Step<'a>| !step.asks && !step.only_looks() && !step.is_harmless();
        self.verdict.is_none()
            && self.steps.iter().filter(may_fail).any(|step| !step.is_one_of(seen.iter().copied()) && is_unknown(step))
    }

    /// Returns the steps that only ask a program about itself, which shows that it runs.
    pub(in crate::digest) fn asking(&self) -> impl Iterator<Item = &Step<'a>> {
        self.chained().iter().filter(|step| step.asks && step.pipe <= Pipe::End)
    }

    /// Returns the steps whose exit code something behind them hides, but not their output: after a pipe, before `;`.
    pub(in crate::digest) fn hidden(&self) -> impl Iterator<Item = &Step<'a>> {
        let seen: Vec<&Step<'a>> = self.proven_by_exit().collect();
        let works =
            |step: &&Step<'a>| step.joint != Joint::Or && !step.asks && !step.only_looks() && !step.is_harmless();
        self.steps.iter().filter(works).filter(move |step| !step.is_one_of(seen.iter().copied()))
    }

    /// Returns true if an interpreter runs a script in it.
    pub(in crate::digest) fn interprets(&self) -> bool {
        self.steps.iter().any(|step| INTERPRETERS.contains(&&*step.program))
    }

    /// Returns all steps.
    pub(in crate::digest) fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    fn proven_by_exit(&self) -> impl Iterator<Item = &Step<'a>> {
        let after_or = |at: usize| at > 0 && self.steps[at - 1].joint == Joint::Or;
        let first = self.steps.iter().rposition(|step| step.joint == Joint::Sequence).map_or(0, |at| at + 1);
        let proven = self.steps.iter().enumerate().skip(first);
        let stands = move |at: usize, step: &Step<'_>| {
            let passes_on = step.pipe == Pipe::None && !(step.wrapped && self.says_failed());
            step.joint != Joint::Or && !after_or(at) && !step.asks && passes_on
        };
        proven.filter(move |(at, step)| stands(*at, step)).map(|(_, step)| step)
    }

    /// Returns the checks that the exit code does not prove.
    fn unseen_checks(&self) -> impl Iterator<Item = &Step<'a>> {
        let seen: Vec<&Step<'a>> = self.proven_by_exit().collect();
        let unseen = move |step: &&Step<'a>| step.checks() && !step.asks && !step.is_one_of(seen.iter().copied());
        self.steps.iter().filter(unseen)
    }
}

/// Returns true if what searches an output may find only what passed: `grep "test result: ok"`, `grep " 0 failed"`,
/// `grep -v FAILED`.
fn finds_only_passes(line: &str) -> bool {
    let sought = line.split_once('|').map_or("", |(_, rest)| rest).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| sought.contains(word));
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('v');
    let inverts = sought.split_whitespace().any(|word| is_short(word) || word == "--invert-match");
    let words: Vec<&str> = sought.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_bad = |word: &str| word.starts_with("fail") || word.starts_with("error");
    let counts_none =
        words.windows(2).any(|pair| pair[0] == "0" && is_bad(pair[1]) || is_bad(pair[0]) && pair[1] == "0");
    inverts || counts_none || has(&["ok", "pass", "succe", "✓", " 0 "]) && !has(&["fail", "error"])
}

/// How the result of a line relates to a program in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The line ends like the program, or the output says how the program ended.
    Whole,
    /// Other programs that may fail contribute to the result.
    Shared,
    /// The result is that of a program that shows the end of its output and never fails itself.
    Piped,
    /// The result is that of something else.
    Hidden,
}

/// A program in one run of a command line.
pub struct Ran {
    /// Program and subcommand: `cargo test`.
    pub name: String,
    /// True if it only looks.
    pub looks: bool,
    /// Its relation to the result of the line.
    pub part: Part,
    /// True if it succeeded, as far as that follows from the line's result.
    pub ended: Option<bool>,
}
