//! Failures, and the later success that resolved them.
//!
//! A failure is a failed result of a tool that works on something. Not failures are: a command that only looks and
//! finds nothing, a call that a person or the harness did not allow, and a mistake in using the agent's own file tools
//! (text to replace not found, file not read yet).

use std::collections::BTreeMap;

use super::command::{Command, Step};
use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline};
use super::work;
use super::{ERROR_CHARS, ErrorLine, MAX_ENTRIES, Pointed, SHORT_CHARS, Show};
use baton_conversation::item::Outcome;
use baton_conversation::item::Verdict;
use baton_conversation::record::Timestamp;

/// Maximum number of open failures at a time; the oldest is dropped.
const MAX_OPEN: usize = 200;
/// Maximum number of edits before a success that are considered as the fix.
const MAX_EDITS_BETWEEN: usize = 400;
/// Maximum number of steps of successful checks that are remembered, to detect failures that the work went past.
const MAX_PASSED: usize = 2_000;
/// Maximum number of files that a resolution names.
const MAX_FILES_NAMED: usize = 5;
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

/// Complaints of the agent's file tools about their arguments; nothing of the work failed.
const SLIPS: [&str; 5] = [
    "String to replace not found",
    "File has not been read yet",
    "File has been modified since read",
    "matches of the string to replace",
    "No changes to make",
];
/// Complaints of a program about its arguments; it has not done anything yet.
const USAGE: [&str; 10] = [
    "Missing script",
    "unexpected argument",
    "unrecognized argument",
    "unrecognized option",
    "unknown argument",
    "unknown option",
    "unknown flag",
    "invalid option",
    "o such option",
    "command not found",
];

/// A failure, and whether it counts against the work while unresolved.
pub(super) struct Failure {
    pub(super) line: ErrorLine,
    /// False for inline scripts and for the agent's tools, whose failures do not show anything wrong with the work.
    pub(super) of_the_work: bool,
    /// True if it is open at the end: not resolved, and the work did not go past it.
    pub(super) is_open: bool,
}

/// A failure without a success so far.
struct Open<'a> {
    error: usize,
    subject: Subject<'a>,
    /// Same subject and same complaint: the same failure again.
    key: String,
    complaint: String,
    /// Line and time of the first failed result.
    line: u64,
    at: Option<Timestamp>,
    /// Position of the last failed result, and number of edits before the first.
    ended: usize,
    edits: usize,
    /// A mistake in using a file tool: dropped once corrected.
    slip: bool,
    /// The command was not understood: resolved once it is, even if it fails then.
    usage: bool,
    /// The same ran again since, with an unknown result.
    unsure: bool,
}

enum Subject<'a> {
    /// The steps of a command that have not succeeded since.
    Command(Vec<Step<'a>>),
    /// A file, as shown to people.
    File(&'a str),
    /// Any other tool and its target.
    Tool(&'a str, Option<&'a str>),
}

/// Returns all failures in transcript order.
pub(super) fn failures(timeline: &Timeline<'_>, show: &Show) -> Vec<Failure> {
    let mut errors: Vec<Option<Failure>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut edits: Vec<&str> = Vec::new();
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        match deed.outcome() {
            Some(Outcome::Failed) => fail(timeline, deed, &edits, show, &mut errors, &mut open),
            Some(Outcome::Ok) => {
                if let Some((path, ..)) = deed.edit() {
                    edits.push(timeline.relative_path(path));
                }
                succeed(timeline, deed, &edits, &mut errors, &mut open);
            }
            _ => {}
        }
    }
    replaced(&mut errors, &mut open, &edits);
    let past = Past::of(timeline);
    for failure in &open {
        if let Some(Some(error)) = errors.get_mut(failure.error) {
            error.is_open = error.of_the_work && !failure.unsure && !past.goes_past(failure);
        }
    }
    let mut errors: Vec<Failure> = errors.into_iter().flatten().collect();
    super::keep(&mut errors, MAX_ENTRIES, |failure| failure.line.resolution.is_none());
    errors
}

/// Evidence that the work went past a failure.
struct Past<'a> {
    /// Positions of successful checks, and their steps.
    passed: Vec<(usize, Step<'a>)>,
    /// Position of the last commit that precedes the last request.
    committed: usize,
}

impl<'a> Past<'a> {
    fn of(timeline: &Timeline<'a>) -> Self {
        let mut past = Self { passed: Vec::new(), committed: 0 };
        let last_prompt = work::requests(timeline).last().map_or(0, |prompt| prompt.place);
        for deed in timeline.deeds.iter().filter(|deed| deed.succeeded() && !deed.in_background()) {
            let Some(command) = deed.parsed_command() else { continue };
            if command.commits() && deed.began < last_prompt {
                past.committed = deed.began;
            }
            if command.checks() && past.passed.len() < MAX_PASSED {
                past.passed.extend(command.proven().into_iter().map(|step| (deed.began, step.clone())));
            }
        }
        past
    }

    /// Returns true if the same program passed later, whatever its arguments, or everything was committed and the
    /// person continued.
    fn goes_past(&self, failure: &Open<'_>) -> bool {
        let Subject::Command(steps) = &failure.subject else { return false };
        let passed =
            |failed: &Step<'_>| self.passed.iter().any(|(place, step)| *place > failure.ended && step.runs_as(failed));
        self.committed > failure.ended || (!steps.is_empty() && steps.iter().all(passed))
    }
}

/// Resolves a compile error if the same command now fails in a test after edits, so it compiles.
fn compiled(
    deed: &Deed<'_>,
    command: &Command<'_>,
    complaint: &str,
    edits: &[&str],
    errors: &mut [Option<Failure>],
    open: &mut Vec<Open<'_>>,
) {
    if test(complaint).is_none() {
        return;
    }
    let ran = command.suspects();
    open.retain(|failure| {
        let Subject::Command(steps) = &failure.subject else { return true };
        let since = edits.get(failure.edits..).unwrap_or_default();
        let compiles = failure.complaint.starts_with("error") && !failure.usage && !since.is_empty();
        let same = compiles && !steps.is_empty() && steps.iter().all(|failed| ran.iter().any(|step| step == failed));
        match errors.get_mut(failure.error) {
            Some(Some(error)) if same && deed.began > failure.ended => {
                error.line.resolution = Some(gone(since, complaint, deed.result_line, deed.result_at));
                false
            }
            _ => true,
        }
    });
}

/// Returns the resolution of a failure that another one replaced.
fn gone(edits: &[&str], complaint: &str, line: u64, at: Option<Timestamp>) -> Pointed {
    let text = format!("no longer fails so{}; fails otherwise: {complaint}", after(edits));
    Pointed { text: one_line(&text, ERROR_CHARS), line, at }
}

/// Resolves a failure without a success if the same command later fails with another error after edits: the first error
/// is gone and the second remains.
fn replaced(errors: &mut [Option<Failure>], open: &mut Vec<Open<'_>>, edits: &[&str]) {
    for earlier in (0..open.len()).rev() {
        let Some((failure, later)) = open.get(earlier).zip(open.get(earlier + 1..)) else { continue };
        let Subject::Command(steps) = &failure.subject else { continue };
        let same = |other: &&Open<'_>| {
            let Subject::Command(again) = &other.subject else { return false };
            let covers = |failed: &Step<'_>| again.iter().any(|step| step.resolves(failed, &failure.complaint));
            other.edits > failure.edits && !steps.is_empty() && steps.iter().all(covers) && gives_way(failure, other)
        };
        let Some(other) = later.iter().find(same).filter(|_| !failure.usage) else { continue };
        let since = edits.get(failure.edits..other.edits).unwrap_or_default();
        let resolution = gone(since, &other.complaint, other.line, other.at);
        if let Some(Some(error)) = errors.get_mut(failure.error) {
            error.line.resolution = Some(resolution);
            open.remove(earlier);
        }
    }
}

/// Returns true if a complaint shows that the other is gone: it concerns the same or a later test, or the other
/// prevented everything from running.
fn gives_way(failure: &Open<'_>, other: &Open<'_>) -> bool {
    if failure.complaint.starts_with("error") {
        return true;
    }
    match (test(&failure.complaint), test(&other.complaint)) {
        // Tests run in order: an earlier one would have been reported first.
        (Some(before), Some(now)) => before <= now,
        _ => false,
    }
}

/// Returns the test that a complaint names.
fn test(complaint: &str) -> Option<&str> {
    let (subject, _) = complaint.split_once(": ")?;
    (subject.contains("test") || subject.contains("Test") || subject.contains('›')).then_some(subject)
}

fn fail<'a>(
    timeline: &Timeline<'a>,
    deed: &Deed<'a>,
    edits: &[&str],
    show: &Show,
    errors: &mut Vec<Option<Failure>>,
    open: &mut Vec<Open<'a>>,
) {
    if deed.only_looks() {
        return;
    }
    let complaint = complaint(deed);
    let complains = |of: &[&str]| of.iter().any(|words| complaint.contains(words));
    if complains(&HARNESS) || (deed.edit().is_some() && complains(&SLIPS)) {
        return;
    }
    let usage = complains(&USAGE);
    let (subject, name, of_the_work) = match deed.command() {
        Some(text) => {
            let command = deed.parsed_command().unwrap_or_else(|| Command::read(text));
            let suspects = command.suspects();
            let said = complaint.is_empty() || deed.result.and_then(|result| result.exit_code) == Some(1);
            if (command.only_looks() && !command.normal().is_empty()) || (said && command.found_nothing()) {
                return;
            }
            let name = one_line(&without_filter_mark(&command.shown()), SHORT_CHARS);
            if !usage {
                understood(deed, &command, &name, errors, open);
                compiled(deed, &command, &complaint, edits, errors, open);
            }
            (Subject::Command(suspects), name, !command.improvises() && !usage)
        }
        None => match deed.edit() {
            Some((path, ..)) => {
                let path = timeline.relative_path(path);
                (Subject::File(path), one_line(&format!("{} {path}", deed.tool()), SHORT_CHARS), false)
            }
            None => {
                let target = deed.target();
                let name = format!("{} {}", deed.tool(), target.unwrap_or_default());
                (Subject::Tool(deed.tool(), target), one_line(&name, SHORT_CHARS), false)
            }
        },
    };
    let key = format!("{name}\n{}", without_numbers(&complaint));
    if let Some(again) = open.iter_mut().find(|open| open.key == key) {
        (again.ended, again.unsure) = (deed.ended, false);
        return;
    }
    if open.len() == MAX_OPEN {
        open.remove(0);
    }
    let slip = matches!(subject, Subject::File(_));
    let (error, line, at) = (errors.len(), deed.result_line, deed.result_at);
    let told = one_line(&complaint, show.output_chars(ERROR_CHARS));
    let (ended, edits) = (deed.ended, edits.len());
    open.push(Open { error, subject, key, complaint, line, at, ended, edits, slip, usage, unsure: false });
    // If a pipe hides the exit code, the code is another program's.
    let code = deed.result.and_then(|result| result.exit_code).filter(|code| *code != 0);
    let code = code.map(|code| format!("exit {code}"));
    let what = [code, Some(told).filter(|text| !text.is_empty())].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let what = if what.is_empty() { "failed".to_owned() } else { what };
    let text = if name.is_empty() { what } else { format!("{name}: {what}") };
    let text = one_line(&text, ERROR_CHARS);
    let line = ErrorLine { text, line, at, resolution: None };
    errors.push(Some(Failure { line, of_the_work, is_open: false }));
}

/// Resolves usage errors of a command once it runs, even if it fails.
fn understood(
    deed: &Deed<'_>,
    command: &Command<'_>,
    name: &str,
    errors: &mut [Option<Failure>],
    open: &mut Vec<Open<'_>>,
) {
    let ran = command.suspects();
    open.retain(|failure| {
        let Subject::Command(steps) = &failure.subject else { return true };
        let now = failure.usage && deed.began > failure.ended;
        let resolved = now && steps.iter().all(|failed| ran.iter().any(|step| step.runs_as(failed)));
        if let Some(Some(error)) = errors.get_mut(failure.error).filter(|_| resolved) {
            let text = one_line(&format!("{name} was understood on a later run"), ERROR_CHARS);
            error.line.resolution = Some(Pointed { text, line: deed.result_line, at: deed.result_at });
        }
        !resolved
    });
}

fn succeed<'a>(
    timeline: &Timeline<'a>,
    deed: &Deed<'a>,
    edits: &[&str],
    errors: &mut [Option<Failure>],
    open: &mut Vec<Open<'a>>,
) {
    if open.is_empty() || deed.in_background() {
        return;
    }
    let command = deed.parsed_command();
    let proven = command.as_ref().map(Command::proven).unwrap_or_default();
    let unproven = command.as_ref().map(Command::unproven).unwrap_or_default();
    let edited = deed.edit().map(|(path, ..)| timeline.relative_path(path));
    open.retain_mut(|failure| {
        // Only calls that began after the failure can have fixed it.
        if deed.began <= failure.ended {
            return true;
        }
        let mut resolving = None;
        let resolved = match (&mut failure.subject, &command) {
            (Subject::Command(steps), Some(_)) => {
                let text = errors.get(failure.error).and_then(Option::as_ref).map_or("", |error| &error.line.text);
                let before = steps.len();
                steps.retain(|failed| {
                    let by = proven.iter().find(|step| step.resolves(failed, text));
                    resolving = by.or(resolving);
                    by.is_none()
                });
                let again = |failed: &Step<'_>| unproven.iter().any(|step| step.resolves(failed, text));
                failure.unsure |= !steps.is_empty() && steps.iter().all(again);
                before > 0 && steps.is_empty()
            }
            (Subject::File(path), _) => edited == Some(*path),
            (Subject::Tool(tool, target), None) => *tool == deed.tool() && *target == deed.target(),
            _ => false,
        };
        if let Some(error) = errors.get_mut(failure.error).filter(|_| resolved) {
            if failure.slip {
                *error = None;
            } else if let Some(error) = error {
                let name = resolving.map(|step| step.name());
                let edits = edits.get(failure.edits..).unwrap_or_default();
                error.line.resolution = Some(resolution(deed, command.as_ref().zip(name), edits));
            }
        }
        !resolved
    });
}

/// Returns the text of a resolution, with what was edited since the failure.
fn resolution(deed: &Deed<'_>, command: Option<(&Command<'_>, String)>, edits: &[&str]) -> Pointed {
    let name = match &command {
        Some((command, _)) if command.normal().len() <= SHORT_CHARS => command.normal().to_owned(),
        Some((_, step)) => one_line(step, SHORT_CHARS),
        None => one_line(&format!("{} {}", deed.tool(), deed.target().unwrap_or_default()), SHORT_CHARS),
    };
    let verb = match &command {
        Some((command, _)) if command.checks() => "passed",
        _ => "succeeded",
    };
    let after = match after(edits) {
        after if after.is_empty() => " on a later run".to_owned(),
        after => after,
    };
    let text = format!("{name} {verb}{after}");
    Pointed { text: one_line(&text, ERROR_CHARS), line: deed.result_line, at: deed.result_at }
}

/// Returns ` after edits to …` with the edited files; empty if there are none.
fn after(edits: &[&str]) -> String {
    // If there are many files, the last edited are named, as they are closest to the success.
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (order, path) in edits.iter().rev().take(MAX_EDITS_BETWEEN).enumerate() {
        files.entry(path).or_insert(order);
    }
    let mut latest: Vec<(usize, &str)> = files.into_iter().map(|(path, order)| (order, path)).collect();
    latest.sort_unstable();
    let more = latest.len().saturating_sub(MAX_FILES_NAMED);
    let paths: Vec<&str> = latest.iter().take(MAX_FILES_NAMED).rev().map(|&(_, path)| path).collect();
    match (paths.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" after edits to {}", paths.join(", ")),
        (false, more) => format!(" after edits to {} and {more} more", paths.join(", ")),
    }
}

/// Returns the most informative line of a failed result, without the tool's name and target.
pub(super) fn complaint(deed: &Deed<'_>) -> String {
    let Some(result) = deed.result else { return String::new() };
    if let Some(Verdict::Failed(line)) = deed.verdict() {
        return one_line(&without_filter_mark(&line), ERROR_CHARS);
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
