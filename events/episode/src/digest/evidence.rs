//! How a call ended: decided once, from the result's mark and, where something hides the exit code, from what the output
//! says. Everything that an episode tells of a call follows from it.
//!
//! A command that only looks has no verdict from its output, which may be anything: a log, a transcript, a test's source.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::command::{Command, Family, Step, is_misuse, is_piped, is_said_by_one};
use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline, Undone};
use super::{ERROR_CHARS, Show, file};
use baton_conversation::item::{Item, Outcome, Verdict};

/// Messages of the harness: another call failed, there is no such tool.
const HARNESS: [&str; 4] =
    ["Sibling tool call errored", "Cancelled: parallel tool call", "Tool use was cancelled", "No such tool available"];
/// Messages of the harness: nobody was there to allow the call.
const NOT_PERMITTED: [&str; 3] =
    ["This command requires approval", "The following part requires approval", "you haven't granted it yet"];
/// What shows that a call failed, which decides what shows that the failure is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The result is marked as failed.
    Exit,
    /// A summary in the output.
    Summary,
    /// A line in the output, which may not show everything.
    Line,
}

impl Evidence {
    /// Returns what shows that a call failed, if it did.
    pub(super) fn of(deed: &Deed<'_>) -> Option<Self> {
        let result = deed.result?;
        if result.outcome == Outcome::Failed {
            return (!deed.was_cancelled()).then_some(Self::Exit);
        }
        if result.outcome != Outcome::Ok || deed.in_background() {
            return None;
        }
        let verdict = result.verdict();
        if verdict == Some(&Verdict::Passed)
            || verdict.is_none() && (deed.prints_as_when_passing || result.failing().is_none())
        {
            return None;
        }
        let command = deed.parsed_command()?;
        if let Some(said) = result.failing()
            && is_misuse(said)
            && deed.command().is_some_and(|line| is_said_by_one(line, said))
        {
            return Some(Self::Line);
        }
        if command.failed_unseen() {
            return Some(Self::Summary);
        }
        (result.failing().is_some() && !deed.prints_as_when_passing && command.hidden().next().is_some())
            .then_some(Self::Line)
    }
}

impl<'a> Timeline<'a> {
    /// Reads the items once, and decides how each call ended. See [`Timeline::undecided`].
    pub(super) fn new(items: &'a [Item], show: &Show) -> Self {
        let mut timeline = Self::undecided(items, show);
        let home = timeline.cwd;
        timeline.deeds.iter_mut().for_each(|deed| deed.parse(home));
        mark_logged_errors(&mut timeline);
        for deed in &mut timeline.deeds {
            let is_known = !deed.hides_exit() || deed.verdict().is_some();
            let ended = deed
                .result
                .filter(|_| is_known && !deed.was_cancelled() && !deed.misused_before_a_pipe())
                .map(|result| result.outcome);
            deed.outcome = if Evidence::of(deed).is_some() { Some(Outcome::Failed) } else { ended };
        }
        timeline.undone = Undone::read(&timeline);
        timeline
    }
}

impl Deed<'_> {
    /// Parses the shell command in a session whose directory is `home`: once for all that ask.
    fn parse(&mut self, home: Option<&str>) {
        let Some(kept) = self.command() else { return };
        let command = Command::read(self.git_line().unwrap_or(kept)).with_verdict(self.verdict());
        let command = if self.hides_exit() { command.with_hidden_exit() } else { command };
        self.parsed = Some(match self.result {
            Some(result) => command.with_report(result),
            None => command,
        });
        self.touched = file::touched_by_shell(kept, home, self.cwd);
        self.kept = self.call.and_then(|call| call.git_line.as_ref()).map(|_| Command::read(kept));
    }

    /// Returns how it ended. See [`Evidence`].
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Returns how it ended as lists tell it: `None` also if a pipe or `||` hides that, or a script caught its error.
    pub(super) fn told_outcome(&self) -> Option<Outcome> {
        let is_hidden = || self.parsed_command().is_some_and(Command::is_inconclusive);
        self.outcome.filter(|outcome| *outcome != Outcome::Ok || !is_hidden() && !self.caught_error())
    }

    /// Returns true if it ran a script that printed an error, and ended well nevertheless.
    pub(super) fn caught_error(&self) -> bool {
        let result = self.result.filter(|result| result.outcome == Outcome::Ok);
        let says_failed = result.is_some_and(|result| match result.verdict() {
            Some(verdict) => *verdict != Verdict::Passed,
            None => result.failing().is_some(),
        });
        says_failed && self.parsed_command().is_some_and(Command::interprets)
    }

    /// Returns true if a program complains of how it was called, and the result is that of what took its output: how it
    /// ended is not known.
    fn misused_before_a_pipe(&self) -> bool {
        let result = self.result.filter(|result| result.outcome == Outcome::Ok && result.exit_code.is_none());
        let said = result.filter(|result| result.verdict().is_none()).and_then(|result| result.failing());
        said.is_some_and(|said| said.starts_with("error: ") && is_misuse(said)) && self.command().is_some_and(is_piped)
    }

    /// Returns true if the harness did not make the call: another one failed, or it was not allowed.
    pub(super) fn was_cancelled(&self) -> bool {
        self.harness_says(&HARNESS) || self.lacked_permission()
    }

    /// Returns true if the harness did not make the call because nobody allowed it.
    pub(super) fn lacked_permission(&self) -> bool {
        self.harness_says(&NOT_PERMITTED)
    }

    fn harness_says(&self, messages: &[&str]) -> bool {
        let result = self.result.filter(|result| result.outcome == Outcome::Failed);
        let said = result.map(|result| result.error.as_deref().unwrap_or(&result.text));
        said.is_some_and(|said| messages.iter().any(|words| said.contains(words)))
    }
}

/// Marks the calls whose failing line also stands in a run of the same check that passed: it is what a test of error
/// handling prints, and shows nothing.
fn mark_logged_errors(timeline: &mut Timeline<'_>) {
    let mut passed: BTreeMap<String, Vec<Family>> = BTreeMap::new();
    let checks = |steps: Vec<&Step<'_>>| -> Vec<Family> {
        steps.iter().map(|step| step.family()).filter(|family| family.is_check()).collect()
    };
    let line =
        |deed: &Deed<'_>| deed.result.filter(|result| result.outcome == Outcome::Ok)?.failing().map(without_numbers);
    for deed in &timeline.deeds {
        if let (Some(line), Some(command)) = (line(deed), deed.parsed_command()) {
            let known = passed.entry(line).or_default();
            for family in checks(command.proven()) {
                if !known.contains(&family) {
                    known.push(family);
                }
            }
        }
    }
    passed.retain(|_, families| !families.is_empty());
    if passed.is_empty() {
        return;
    }
    for deed in &mut timeline.deeds {
        let (Some(line), Some(command)) = (line(deed), deed.parsed_command()) else { continue };
        let families = checks(command.hidden().collect());
        deed.prints_as_when_passing =
            passed.get(&line).is_some_and(|of| of.iter().any(|family| families.contains(family)));
    }
}

/// Returns the most informative line of a failed result, without the tool's name and target.
pub(super) fn complaint(deed: &Deed<'_>) -> String {
    let Some(result) = deed.result else { return String::new() };
    if let Some(Verdict::Failed(line)) = deed.verdict() {
        return one_line(&without_filter_mark(&line), ERROR_CHARS);
    }
    if result.outcome == Outcome::Ok
        && let Some(line) = result.failing()
    {
        return one_line(&without_filter_mark(line), ERROR_CHARS);
    }
    if deed.command().is_some() && result.error.is_none() && result.report.is_some() {
        return String::new();
    }
    let telling = result.error.as_deref().map(str::trim).filter(|error| !error.is_empty());
    let text = telling.unwrap_or_else(|| result.text.split_once(": ").map_or(result.text.as_str(), |(_, rest)| rest));
    let text = text.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let text = match result.exit_code {
        Some(code) => {
            text.strip_prefix(&format!("exit {code}")).map_or(text, |rest| rest.trim_start_matches([',', ' ']))
        }
        None => text,
    };
    one_line(&without_filter_mark(text), ERROR_CHARS)
}

/// Returns where changes were put away and brought back for the same prompt, as ranges of positions: what was run there is
/// a look at how it was before, and proves and mends nothing.
pub(super) fn looks_without_changes(timeline: &Timeline<'_>) -> Vec<RangeInclusive<usize>> {
    let mut looks = Vec::new();
    for round in &timeline.rounds {
        let mut stashed = None;
        for deed in timeline.deeds.get(round.deeds.clone()).unwrap_or_default() {
            let Some(line) = deed.command().filter(|line| line.contains("stash")).and(deed.kept_command()) else {
                continue;
            };
            for step in line.steps() {
                match step.stashes() {
                    Some(true) => stashed = Some(deed.began),
                    Some(false) => looks.extend(stashed.take().map(|from| from..=deed.began)),
                    None => {}
                }
            }
        }
    }
    looks
}

/// Removes the digits of a complaint, which differ between runs (times, seeds, counts).
pub(super) fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}
