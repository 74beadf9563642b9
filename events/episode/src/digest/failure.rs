//! Failures, and what mended them.
//!
//! A failure is a result that is marked as one, or an output that names a cause although something hid the exit code,
//! or an error that a person reports. Not failures are: a command that only looks and finds nothing, one that may fail
//! (`|| true`), a call that a person or the harness did not allow, and a mistake in using the agent's own tools.
//!
//! # Decisions
//!
//! - A failure is over at the first success of the same check in the same directory, or once the same command fails in
//!   another way after a change. What mended it is what differed since the last time that it failed: edits, a command
//!   that changes something, another form of the command. If nothing is known to differ, it only "passed later".

mod mend;
mod report;

use self::mend::{Change, Made, between};
use super::command::{Command, Family, Step};
use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline};
use super::{ERROR_CHARS, ErrorLine, MAX_ENTRIES, Mending, Pointed, SHORT_CHARS, Show};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, GitOutput, Outcome, Verdict};

/// Maximum number of open failures at a time; the oldest is dropped.
const MAX_OPEN: usize = 200;
/// Messages of the harness: another call failed, the call was not allowed, there is no such tool.
pub(super) const HARNESS: [&str; 7] = [
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "Tool use was cancelled",
    "This command requires approval",
    "The following part requires approval",
    "you haven't granted it yet",
    "No such tool available",
];
/// Complaints about how a program was called or where; it has not done anything yet.
const USAGE: [&str; 14] = [
    "Missing script",
    "unexpected argument",
    "unrecognized argument",
    "unrecognized option",
    "unrecognized subcommand",
    "unknown argument",
    "unknown option",
    "unknown flag",
    "unknown command",
    "invalid option",
    "o such option",
    "command not found",
    "o such file or directory",
    "or directory not found",
];
/// A failure, and whether it counts against the work while unresolved.
pub(super) struct Failure {
    pub(super) line: ErrorLine,
    /// Its end, if it is over.
    pub(super) mending: Option<Mending>,
    /// False for inline scripts and for the agent's tools, whose failures do not show anything wrong with the work.
    of_the_work: bool,
    /// True if the latest evidence about what failed says that it fails.
    pub(super) is_open: bool,
}

/// A failure without a success so far.
struct Open<'a> {
    error: usize,
    subject: Subject<'a>,
    complaint: String,
    directory: Directory<'a>,
    /// Position of the last failed result.
    ended: usize,
    seen: Seen<'a>,
    /// True if the command was called wrongly, or in the wrong place.
    is_usage: bool,
    /// True if something else of its family passed since, or failed in its place.
    is_past: bool,
    /// True if it did fail.
    fails_otherwise: bool,
}

/// What showed a failure, which decides what shows that it is over.
enum Seen<'a> {
    /// The exit code.
    Exit,
    /// A summary at the end of the output.
    Summary,
    /// A line in the output of this command line, which may not show everything.
    Line(&'a str),
}

impl Seen<'_> {
    /// Returns true if the output of a step with an unknown exit code would have shown the failure.
    fn would_show(&self, line: &str, step: &Step<'_>) -> bool {
        match self {
            Self::Exit => step.family().is_silent() && step.is_shown_to_the_end(),
            Self::Summary => step.is_shown_to_the_end(),
            Self::Line(before) => line.trim_end().ends_with(before.trim()),
        }
    }
}

enum Subject<'a> {
    /// The steps of a command that have not succeeded since, and all of them.
    Command { steps: Vec<Step<'a>>, all: Vec<Step<'a>> },
    /// A file, as shown to people.
    File(&'a str),
    /// Any other tool and its target.
    Tool(&'a str, Option<&'a str>),
}

/// Where a command ran, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Directory<'a> {
    cwd: Option<&'a str>,
    /// Target of the line's own `cd`.
    below: &'a str,
}

impl<'a> Directory<'a> {
    fn of(deed: &Deed<'a>, command: &Command<'a>) -> Self {
        let below = command.steps().first().map_or("", Step::directory);
        Self { cwd: deed.input("workdir").or(deed.cwd).filter(|_| !below.starts_with(['/', '~'])), below }
    }

    /// Returns true if this may be the same place, or one above it.
    fn contains(self, other: Self) -> bool {
        let place = |directory: Self| {
            let parts =
                [directory.cwd.unwrap_or_default(), directory.below].into_iter().filter(|part| !part.is_empty());
            parts.map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/")
        };
        let (outer, inner) = (place(self), place(other));
        let is_known = self.cwd.is_some() == other.cwd.is_some() || self.below == other.below;
        !is_known || outer == inner || inner.strip_prefix(&outer).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Returns all failures in transcript order.
pub(super) fn failures(timeline: &Timeline<'_>, show: &Show) -> Vec<Failure> {
    let mut walk = Walk { timeline, show, errors: Vec::new(), open: Vec::new(), changes: Vec::new() };
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        walk.pass(deed);
    }
    let mut errors = walk.finish();
    errors.extend(report::reports(timeline, show, &errors));
    errors.sort_by_key(|failure| failure.line.line);
    super::keep(&mut errors, MAX_ENTRIES, |failure| failure.line.resolution.is_none());
    errors
}

/// State while the calls of a session are read in order.
struct Walk<'a, 't> {
    timeline: &'t Timeline<'a>,
    show: &'t Show,
    errors: Vec<Option<Failure>>,
    open: Vec<Open<'a>>,
    /// In the order of their calls.
    changes: Vec<Change<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn pass(&mut self, deed: &Deed<'a>) {
        if deed.in_background() || deed.only_looks() {
            return;
        }
        let command = deed.parsed_command();
        match deed.outcome() {
            Some(Outcome::Failed) => {
                let is_exit = deed.result.is_some_and(|result| result.outcome == Outcome::Failed);
                self.fail(deed, command.as_ref(), if is_exit { Seen::Exit } else { Seen::Summary });
            }
            Some(Outcome::Ok) if command.as_ref().is_some_and(|command| shows_failure(deed, command)) => {
                let line = deed.command().unwrap_or_default();
                self.fail(deed, command.as_ref(), Seen::Line(line));
            }
            Some(Outcome::Ok) => {
                self.succeed(deed, command.as_ref());
                // Calls at the same time may finish in another order.
                let at = self.changes.partition_point(|change| change.place <= deed.began);
                self.changes.splice(at..at, Change::all(self.timeline, deed, command.as_ref()));
            }
            _ => {}
        }
    }

    fn fail(&mut self, deed: &Deed<'a>, command: Option<&Command<'a>>, seen: Seen<'a>) {
        let complaint = complaint(deed);
        let complains = |of: &[&str]| of.iter().any(|words| complaint.contains(words));
        if complains(&HARNESS) || self.is_expected(deed) {
            return;
        }
        let (subject, name, of_the_work) = match command {
            Some(command) => {
                let steps = match seen {
                    Seen::Line(_) => command.hidden().cloned().collect(),
                    Seen::Exit | Seen::Summary => command.suspects(),
                };
                let said = complaint.is_empty() || deed.result.and_then(|result| result.exit_code) == Some(1);
                if command.only_looks() && !command.normal().is_empty() || said && command.found_nothing() {
                    return;
                }
                let name = one_line(&without_filter_mark(&command.shown()), SHORT_CHARS);
                let improvised = command.improvises();
                (Subject::Command { all: steps.clone(), steps }, name, !improvised)
            }
            None => match (deed.edit(), deed.act()) {
                // The agent's own file tools complain about their arguments.
                (Some((path, ..)), _) => {
                    let path = self.timeline.relative_path(path);
                    (Subject::File(path), one_line(&format!("{} {path}", deed.tool()), SHORT_CHARS), false)
                }
                (None, Act::Fetch | Act::Mcp | Act::Spawn) => {
                    let target = deed.target();
                    let name = format!("{} {}", deed.tool(), target.unwrap_or_default());
                    (Subject::Tool(deed.tool(), target), one_line(&name, SHORT_CHARS), false)
                }
                _ => return,
            },
        };
        let directory = command.map_or(Directory { cwd: deed.cwd, below: "" }, |line| Directory::of(deed, line));
        let is_usage = complains(&USAGE);
        if self.fails_again(deed, &subject, &complaint, directory, is_usage, &seen) {
            return;
        }
        if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        let error = self.errors.len();
        // If a pipe hides the exit code, the code is another program's.
        let code = deed.result.and_then(|result| result.exit_code).filter(|code| *code != 0);
        let code = code.map(|code| format!("exit {code}"));
        let told = one_line(&complaint, self.show.output_chars(ERROR_CHARS));
        let what = [code, Some(told).filter(|text| !text.is_empty())].into_iter().flatten().collect::<Vec<_>>();
        let what = if what.is_empty() { "failed".to_owned() } else { what.join(", ") };
        let text = if name.is_empty() { what } else { format!("{name}: {what}") };
        let line = ErrorLine {
            text: one_line(&text, ERROR_CHARS),
            line: deed.result_line,
            at: deed.result_at,
            resolution: None,
        };
        let of_the_work = of_the_work && !is_usage;
        self.errors.push(Some(Failure { line, mending: None, of_the_work, is_open: false }));
        let ended = deed.ended;
        self.open.push(Open {
            error,
            subject,
            complaint,
            directory,
            ended,
            seen,
            is_usage,
            is_past: false,
            fails_otherwise: false,
        });
    }

    /// Returns true if an open failure shows again. One that the same command reported, and which a change has replaced
    /// by another, is over.
    fn fails_again(
        &mut self,
        deed: &Deed<'a>,
        subject: &Subject<'a>,
        complaint: &str,
        directory: Directory<'a>,
        is_usage: bool,
        seen: &Seen<'_>,
    ) -> bool {
        let mut again = false;
        let mut over = Vec::new();
        for (at, open) in self.open.iter_mut().enumerate().filter(|(_, open)| deed.began > open.ended) {
            let is_alike = without_numbers(&open.complaint) == without_numbers(complaint);
            let (Subject::Command { all: before, .. }, Subject::Command { steps: now, .. }) = (&open.subject, subject)
            else {
                let is_same = match (&open.subject, subject) {
                    (Subject::File(before), Subject::File(now)) => before == now,
                    (Subject::Tool(before, target), Subject::Tool(now, other)) => (before, target) == (now, other),
                    _ => false,
                };
                if is_same && is_alike {
                    open.ended = deed.ended;
                    again = true;
                }
                continue;
            };
            let is_same_check = now.iter().any(|step| before.iter().any(|failed| step.is_same_check(failed)))
                && directory.contains(open.directory);
            let covers = !before.is_empty()
                && before.iter().all(|failed| now.iter().any(|step| step.resolves(failed, &open.complaint)));
            let is_changed = !between(&self.changes, open.ended, deed.began).is_empty();
            if is_same_check && !again && (is_alike || covers && !is_changed && open.is_usage == is_usage) {
                open.ended = deed.ended;
                again = true;
            } else if is_same_check {
                (open.is_past, open.fails_otherwise) = (true, true);
                // A line of another part of the output replaces nothing.
                let is_whole = !matches!((&open.seen, seen), (Seen::Line(_), _) | (_, Seen::Line(_)));
                let gives_way = is_whole && gives_way(&open.complaint, complaint);
                if !is_usage && covers && (is_changed && gives_way || open.is_usage) {
                    over.push(at);
                }
            }
        }
        for at in over.into_iter().rev() {
            let open = self.open.remove(at);
            let by = deed.parsed_command();
            let by = by.as_ref().and_then(|command| command.suspects().into_iter().next());
            let (mut resolution, mending) = self.mend(&open, Some(deed), by.as_ref(), false);
            let then = format!("{}; then it failed otherwise", resolution.text);
            resolution.text = one_line(&then, ERROR_CHARS);
            self.resolve(&open, resolution, mending);
        }
        again
    }

    fn succeed(&mut self, deed: &Deed<'a>, command: Option<&Command<'a>>) {
        let edited = deed.edit().map(|(path, ..)| self.timeline.relative_path(path));
        let directory = command.map_or(Directory { cwd: deed.cwd, below: "" }, |line| Directory::of(deed, line));
        let mut proven = command.map(Command::proven).unwrap_or_default();
        let made = deed.result.map_or(&[][..], |result| result.made());
        if made.iter().any(|made| matches!(made, GitOutput::Commit { .. })) {
            let steps = command.map(Command::steps).unwrap_or_default();
            proven.extend(steps.iter().filter(|step| step.family() == Family::Commit));
        }
        let is_unknown = deed.verdict().is_some();
        let line = deed.command().unwrap_or_default();
        let hidden: Vec<&Step<'a>> =
            command.filter(|_| !is_unknown).map(|command| command.hidden().collect()).unwrap_or_default();
        let mut over = Vec::new();
        for (at, open) in self.open.iter_mut().enumerate() {
            // Only calls that began after the failure can have fixed it.
            if deed.began <= open.ended {
                continue;
            }
            match &mut open.subject {
                Subject::Command { steps, .. } => {
                    let quiet = hidden.iter().filter(|step| open.seen.would_show(line, step));
                    let passed: Vec<&Step<'a>> = proven.iter().chain(quiet).copied().collect();
                    let is_near = |step: &Step<'a>, failed: &Step<'a>| {
                        directory.contains(open.directory) || open.is_usage || step.names_the_same_file(failed)
                    };
                    let family = |step: &&Step<'a>| steps.iter().any(|failed| step.is_same_check(failed));
                    open.is_past |=
                        directory.contains(open.directory) && passed.iter().copied().any(|step| family(&step));
                    let before = steps.len();
                    let mut by = None;
                    steps.retain(|failed| {
                        let found = passed
                            .iter()
                            .copied()
                            .find(|step| step.resolves(failed, &open.complaint) && is_near(step, failed));
                        by = found.or(by);
                        found.is_none()
                    });
                    if before > 0 && steps.is_empty() {
                        over.push((at, by.cloned()));
                    }
                }
                Subject::File(path) if edited == Some(*path) => over.push((at, None)),
                Subject::Tool(tool, target) if *tool == deed.tool() && *target == deed.target() => {
                    over.push((at, None));
                }
                _ => {}
            }
        }
        for (at, by) in over.into_iter().rev() {
            let open = self.open.remove(at);
            if matches!(open.subject, Subject::File(_)) {
                self.errors[open.error] = None;
                continue;
            }
            let (resolution, mending) = self.mend(&open, Some(deed), by.as_ref(), true);
            self.resolve(&open, resolution, mending);
        }
    }

    fn resolve(&mut self, open: &Open<'a>, resolution: Pointed, mending: Mending) {
        if let Some(Some(error)) = self.errors.get_mut(open.error) {
            (error.line.resolution, error.mending) = (Some(resolution), Some(mending));
        }
    }

    /// Decides what is open at the end.
    fn finish(mut self) -> Vec<Failure> {
        for open in std::mem::take(&mut self.open) {
            let Subject::Command { steps, .. } = &open.subject else {
                if matches!(open.subject, Subject::File(_)) && is_slip(&open.complaint) {
                    self.errors[open.error] = None;
                }
                continue;
            };
            let families: Vec<Family> = steps.iter().map(Step::family).collect();
            // A command that mends what a check finds has done so unless the check failed again.
            let fixed = |change: &Change<'_>| matches!(&change.made, Made::Command { mends: Some(family), .. } if families.contains(family));
            if !open.fails_otherwise && between(&self.changes, open.ended, usize::MAX).iter().any(fixed) {
                let (resolution, mending) = self.mend(&open, None, None, false);
                self.resolve(&open, resolution, mending);
                continue;
            }
            let of_a_family = families.iter().any(|family| *family != Family::Run);
            let works = |deed: &&Deed<'_>| !deed.only_looks() && deed.began > open.ended;
            let is_last = !self.timeline.deeds.iter().any(|deed| works(&deed) && deed.result.is_some());
            if let Some(Some(error)) = self.errors.get_mut(open.error) {
                error.is_open = error.of_the_work && !open.is_past && (of_a_family || is_last);
            }
        }
        self.errors.into_iter().flatten().collect()
    }

    /// Returns true if the agent said right before that the command is to fail.
    fn is_expected(&self, deed: &Deed<'a>) -> bool {
        let replies = self.timeline.rounds.iter().flat_map(|round| &round.replies);
        let before = replies.take_while(|reply| reply.place < deed.began).last();
        let description = deed.input("description");
        let said = before.filter(|reply| reply.place + 2 >= deed.began).map(|reply| reply.text);
        let last = |text| super::sentence::sentences(text).last().map(|last| last.text);
        said.and_then(last).into_iter().chain(description).any(|text| Signs::read(text).has(Sign::Expected))
    }
}

/// Returns true if a complaint shows that the one before it is gone: it is of the same test or a later one, or nothing
/// could run before.
fn gives_way(before: &str, now: &str) -> bool {
    match (test(before), test(now)) {
        // Cargo reports failed tests sorted by name.
        (Some(before), Some(now)) if now.starts_with("test ") => before <= now,
        (before, now) => before.is_none() || now.is_some(),
    }
}

/// Returns the test that a complaint names.
fn test(complaint: &str) -> Option<&str> {
    let (subject, _) = complaint.split_once(": ")?;
    (subject.contains("test") || subject.contains("Test") || subject.contains('›'))
        .then_some(subject)
        .filter(|subject| !subject.contains('/'))
}

/// Returns true if the output of a command that succeeded shows the failure of a program whose exit code is hidden.
fn shows_failure(deed: &Deed<'_>, command: &Command<'_>) -> bool {
    let failing = deed.result.and_then(|result| result.failing());
    failing.is_some() && deed.verdict() != Some(Verdict::Passed) && command.hidden().next().is_some()
}

/// Returns true for a complaint of the agent's file tools about their arguments: nothing of the work failed.
fn is_slip(complaint: &str) -> bool {
    const SLIPS: [&str; 7] = [
        "String to replace not found",
        "File has not been read yet",
        "File has been modified since read",
        "matches of the string to replace",
        "No changes to make",
        "File does not exist",
        "InputValidationError",
    ];
    SLIPS.iter().any(|words| complaint.contains(words))
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

/// Removes the digits of a complaint, which differ between runs (times, seeds, counts).
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}
