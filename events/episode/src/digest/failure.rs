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
//! - Where nothing else shows how a run went, or why it failed, the agent's words right after it do, and are told as such.

mod complaint;
mod explanation;
mod mend;
mod open;
mod passed;
mod report;

pub(super) use self::complaint::is_alike;
use self::complaint::{gives_way, is_crash, is_slip, may_hide, suite};
use self::explanation::Speech;
use self::mend::{Change, Made, between};
use self::open::{Directory, Open, Seen, Subject, note_what_then_failed};
pub(super) use self::report::shown_line;
use super::command::{Command, Family, Step, is_misuse};
use super::evidence::{self, Evidence, complaint};
use super::excerpt::{one_line, without_filter_mark};
use super::exchange::conclusion;
use super::timeline::{Deed, Round, Timeline};
use super::{ERROR_CHARS, ErrorLine, FAILED_OTHERWISE, MAX_ENTRIES, Mending, PASSED_LATER, Pointed, SHORT_CHARS, Show};
use crate::lexicon::{Sign, Signs};
use baton_conversation::filter::is_echo;
use baton_conversation::item::{Act, Outcome};

/// Parts of lines by which a forge says that checks have not ended, or that there are none.
const WAITING: [&str; 2] = [" pending 0 https://", "no checks reported on"];
/// Maximum number of open failures at a time; the oldest is dropped.
const MAX_OPEN: usize = 200;
/// Maximum number of later runs whose changes are told apart, per open failure.
const MAX_WINDOWS: usize = 12;
/// Shortest message that can be recognised as written by the session, in bytes.
const MIN_WRITTEN_BYTES: usize = 16;
/// The system's words for a file that may not be written.
const REFUSED: [&str; 3] = ["ermission denied", "ead-only file system", "No space left"];
/// Ends the resolution of an error that nothing else shows to be gone.
const OPINION: &str = "; says the agent";
/// A failure, and whether it counts against the work while unresolved.
pub(super) struct Failure {
    pub(super) line: ErrorLine,
    /// Its end, if it is over.
    pub(super) mending: Option<Mending>,
    /// False for inline scripts and for the agent's tools, whose failures do not show anything wrong with the work.
    of_the_work: bool,
    /// True if the latest evidence about what failed says that it fails.
    pub(super) is_open: bool,
    /// True for tests that were not limited to some.
    pub(super) is_of_all_tests: bool,
}

/// Returns all failures in transcript order.
pub(super) fn failures(timeline: &Timeline<'_>, show: &Show) -> Vec<Failure> {
    let speech = Speech::new(timeline);
    let mut walk = Walk {
        timeline,
        show,
        speech: &speech,
        errors: Vec::new(),
        open: Vec::new(),
        changes: Vec::new(),
        shown: Vec::new(),
    };
    let looks = evidence::looks_without_changes(timeline);
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        let look = looks.get(looks.partition_point(|look| *look.end() < deed.began));
        if look.is_none_or(|look| !look.contains(&deed.began)) {
            walk.pass(deed);
        }
    }
    let mut errors = walk.finish();
    note_what_then_failed(&mut errors);
    errors.extend(report::reports(timeline, &speech, show));
    errors.sort_by_key(|failure| failure.line.line);
    super::keep(&mut errors, MAX_ENTRIES, |failure| failure.line.resolution.is_none());
    errors
}

/// State while the calls of a session are read in order.
struct Walk<'a, 't> {
    timeline: &'t Timeline<'a>,
    show: &'t Show,
    speech: &'t Speech<'t, 'a>,
    errors: Vec<Option<Failure>>,
    open: Vec<Open<'a>>,
    /// In the order of their calls.
    changes: Vec<Change<'a>>,
    /// All failures of checks, in the order of their results.
    shown: Vec<Shown<'a>>,
}

/// A failure of a check, or of what runs checks.
struct Shown<'a> {
    place: usize,
    complaint: String,
    steps: Vec<Step<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn pass(&mut self, deed: &Deed<'a>) {
        if deed.in_background() || deed.only_looks() {
            return;
        }
        let command = deed.parsed_command();
        match deed.outcome() {
            Some(Outcome::Failed) => {
                let seen = match Evidence::of(deed) {
                    Some(Evidence::Line) => Seen::Line(deed.command().unwrap_or_default()),
                    Some(Evidence::Summary) => Seen::Summary,
                    Some(Evidence::Exit) | None => Seen::Exit,
                };
                let passed = command.map(|line| line.passed_before_failing(&complaint(deed))).unwrap_or_default();
                self.prove(deed, command, &passed);
                self.fail(deed, command, seen);
            }
            Some(Outcome::Ok) => {
                self.succeed(deed, command);
                // Calls at the same time may finish in another order.
                let at = self.changes.partition_point(|change| change.place <= deed.began);
                self.changes.splice(at..at, Change::all(self.timeline, deed, command));
            }
            _ => {}
        }
    }

    fn fail(&mut self, deed: &Deed<'a>, command: Option<&Command<'a>>, seen: Seen<'a>) {
        let complaint = complaint(deed);
        // Checks that still run have not failed.
        if WAITING.iter().any(|part| complaint.contains(part)) {
            return;
        }
        if self.is_expected(deed) || self.wrote(&complaint) && !self.leads_to_an_edit(deed) {
            return;
        }
        let (subject, name, of_the_work) = match command {
            Some(command) => {
                let steps = match seen {
                    Seen::Line(_) => command.hidden_suspects(),
                    Seen::Exit | Seen::Summary => command.blamed(&complaint),
                };
                if steps.iter().any(Step::only_looks) {
                    return;
                }
                let said = complaint.is_empty() || deed.result.and_then(|result| result.exit_code) == Some(1);
                let asking = || command.asking().filter(|_| is_crash(&complaint)).cloned().collect::<Vec<_>>();
                let asking = if steps.iter().all(Step::is_harmless) { asking() } else { Vec::new() };
                let steps = if asking.is_empty() { steps } else { asking };
                let looks =
                    command.only_looks() && !command.normal_form().is_empty() || said && command.found_nothing();
                if steps.is_empty() && looks {
                    return;
                }
                let name = one_line(&without_filter_mark(command.shown()), SHORT_CHARS);
                let improvised = command.runs_inline_script();
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
        let is_usage = is_misuse(&complaint);
        if let Subject::Command { all, .. } = &subject
            && !is_usage
            && all.iter().any(|step| step.family().is_check() || matches!(step.family(), Family::Commit | Family::Push))
        {
            self.shown.push(Shown { place: deed.ended, complaint: complaint.clone(), steps: all.clone() });
        }
        // If a pipe hides the exit code, the code is another program's.
        let code = deed.result.and_then(|result| result.exit_code).filter(|code| *code != 0);
        let code = code.map(|code| format!("exit {code}"));
        // A line that only repeats the failure adds nothing.
        let is_told = !complaint.is_empty() && !is_echo(&complaint);
        let told = |is_told: bool| is_told.then(|| one_line(&complaint, self.show.output_chars(ERROR_CHARS)));
        let named = || self.named_after(deed).map(|said| format!("says the agent: \"{said}\""));
        let reason = told(is_told).or_else(named).or_else(|| told(counts(&complaint)));
        let what = [code, reason].into_iter().flatten().collect::<Vec<_>>();
        let what = if what.is_empty() { "failed".to_owned() } else { what.join(", ") };
        let text = if name.is_empty() { what } else { format!("{name}: {what}") };
        let line = ErrorLine {
            text: one_line(&text, ERROR_CHARS),
            line: deed.result_line,
            at: deed.result_at,
            resolution: None,
        };
        if self.fails_again(deed, &subject, (&complaint, &line), directory, is_usage, &seen) {
            return;
        }
        if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        let error = self.errors.len();
        let of_the_work = of_the_work && !is_usage;
        self.errors.push(Some(Failure { line, mending: None, of_the_work, is_open: false, is_of_all_tests: false }));
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
            otherwise: Vec::new(),
            gone: None,
            passed: false,
            mended: None,
        });
    }

    /// Returns true if an open failure shows again. One that the same command reported, and which a change has replaced
    /// by another, is over.
    fn fails_again(
        &mut self,
        deed: &Deed<'a>,
        subject: &Subject<'a>,
        (complaint, told): (&str, &ErrorLine),
        directory: Directory<'a>,
        is_usage: bool,
        seen: &Seen<'_>,
    ) -> bool {
        let mut again = false;
        let mut over = Vec::new();
        for (at, open) in self.open.iter_mut().enumerate().filter(|(_, open)| deed.began > open.ended) {
            let is_changed = !between(&self.changes, open.ended, deed.began).is_empty();
            // Of two that do not say why it is unknown whether they are the same once something was changed.
            let is_alike = is_alike(&open.complaint, complaint) && !(complaint.is_empty() && is_changed);
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
            if is_same_check && !again && (is_alike || covers && !is_changed && open.is_usage == is_usage) {
                // What was said since the first of several failures that nothing came between is about all of them.
                if is_changed {
                    open.ended = deed.ended;
                }
                (open.passed, open.is_past, open.gone, open.mended) = (false, false, None, None);
                open.otherwise.clear();
                again = true;
                // The reason is told now that only its echo was known.
                if is_echo(&open.complaint) && !is_echo(complaint) {
                    complaint.clone_into(&mut open.complaint);
                    let error = self.errors.get_mut(open.error).and_then(Option::as_mut);
                    error.into_iter().for_each(|error| error.line = told.clone());
                }
            } else if is_same_check {
                open.passed = false;
                (open.is_past, open.fails_otherwise) = (true, true);
                // A line of another part of the output replaces nothing.
                let is_line = matches!((&open.seen, seen), (Seen::Line(_), _) | (_, Seen::Line(_)));
                let is_unclear = complaint.is_empty() && open.complaint.is_empty();
                let is_whole = !(is_line || is_unclear);
                let covers_tests = covers || suite(complaint).is_some_and(|now| suite(&open.complaint) == Some(now));
                let replaces = is_whole && covers_tests && is_changed && !may_hide(complaint, &open.complaint);
                let gives_way = replaces && gives_way(&open.complaint, complaint);
                if replaces && open.otherwise.len() < MAX_WINDOWS {
                    open.otherwise.push(deed.began);
                }
                if gives_way {
                    open.gone.get_or_insert(deed.began);
                }
                if !is_usage && (gives_way || covers && open.is_usage) || open.mended.is_some() {
                    over.push(at);
                }
            }
        }
        for at in over.into_iter().rev() {
            let mut open = self.open.remove(at);
            if let Some((resolution, mending)) = open.mended.take() {
                self.resolve(&open, resolution, mending);
                continue;
            }
            let by = deed.parsed_command();
            let by = by.and_then(|command| command.suspects().into_iter().next());
            let (mut resolution, mending) = self.mend(&open, Some(deed), by.as_ref(), false);
            if resolution.text == PASSED_LATER {
                continue;
            }
            // The correct call of a command is known, whatever the command then reports.
            if !open.is_usage {
                let then = format!("{}; {FAILED_OTHERWISE}", resolution.text);
                resolution.text = one_line(&then, ERROR_CHARS);
            }
            self.resolve(&open, resolution, mending);
        }
        again
    }

    fn resolve(&mut self, open: &Open<'a>, resolution: Pointed, mending: Mending) {
        if let Some(Some(error)) = self.errors.get_mut(open.error) {
            (error.line.resolution, error.mending) = (Some(resolution), Some(mending));
        }
    }

    /// Decides what is open at the end.
    fn finish(mut self) -> Vec<Failure> {
        for mut open in std::mem::take(&mut self.open) {
            if let Some((resolution, mending)) = open.mended.take() {
                self.resolve(&open, resolution, mending);
                continue;
            }
            let Subject::Command { steps, .. } = &open.subject else {
                if !matches!(open.subject, Subject::File(_)) {
                    continue;
                }
                if is_slip(&open.complaint) {
                    self.errors[open.error] = None;
                } else if let Some(Some(error)) = self.errors.get_mut(open.error) {
                    // The file of the last request could not be written.
                    let last = self.timeline.rounds.last();
                    let is_asked = |round: &&Round<'_>| round.prompt.is_some_and(|asked| asked.place < open.ended);
                    let is_refused = REFUSED.iter().any(|words| open.complaint.contains(words));
                    error.is_open = is_refused
                        && last.filter(is_asked).is_some_and(|last| !is_written_later(self.timeline, last, &open));
                }
                continue;
            };
            // The check has told the reason since, as another failure.
            if open.fails_otherwise && is_echo(&open.complaint) {
                self.errors[open.error] = None;
                continue;
            }
            let families: Vec<Family> = steps.iter().map(Step::family).collect();
            // A command that mends what a check finds has done so unless the check failed again, or looked at more.
            let is_whole = steps.iter().any(|step| !step.names_parts());
            let fixed = |change: &Change<'_>| {
                matches!(&change.made, Made::Command { mends: Some(family), in_part, .. }
                    if families.contains(family) && !(*in_part && is_whole))
            };
            if !open.fails_otherwise && between(&self.changes, open.ended, usize::MAX).iter().any(fixed) {
                let (resolution, mending) = self.mend(&open, None, None, false);
                self.resolve(&open, resolution, mending);
                continue;
            }
            let of_a_family = families.iter().any(|family| *family != Family::Run);
            let works = |deed: &&Deed<'_>| !deed.only_looks() && deed.began > open.ended;
            // Edits since the failure may have mended it.
            let since = between(&self.changes, open.ended, usize::MAX);
            let is_edited = open.complaint.split([' ', ':', '(', ',']).filter(|word| word.contains('.')).any(|file| {
                since.iter().any(|change| matches!(change.made, Made::Edit { path, .. } if names(path, file)))
            });
            let is_last = !self.timeline.deeds.iter().any(|deed| works(&deed) && deed.result.is_some());
            if let Some(Some(error)) = self.errors.get_mut(open.error) {
                // Another form of it that passed may check less: it is neither open nor known to be over.
                error.is_open =
                    error.of_the_work && !(open.is_past || open.passed || is_edited) && (of_a_family || is_last);
                error.is_of_all_tests = steps.iter().any(Step::is_of_all_tests);
            }
        }
        self.errors.into_iter().flatten().collect()
    }

    /// Returns true if a message is one that the session itself wrote into a file.
    fn wrote(&self, complaint: &str) -> bool {
        let message = complaint.trim_matches(|c: char| !c.is_alphanumeric());
        message.len() >= MIN_WRITTEN_BYTES
            && self
                .changes
                .iter()
                .rev()
                .take(MAX_OPEN)
                .any(|change| matches!(change.made, Made::Edit { new, .. } if new.contains(message)))
    }

    /// Returns true if the next thing that is done is an edit.
    fn leads_to_an_edit(&self, deed: &Deed<'a>) -> bool {
        let deeds = &self.timeline.deeds;
        let next = self.speech.next_done(deed.ended);
        let next = next.and_then(|next| deeds.get(deeds.partition_point(|deed| deed.began < next)));
        next.is_some_and(|next| next.edit().is_some())
    }

    /// Returns true if the agent said right before that the command is to fail.
    fn is_expected(&self, deed: &Deed<'a>) -> bool {
        let before = self.speech.last_before(deed.began);
        let description = deed.input("description");
        let said = before.filter(|reply| reply.place + 2 >= deed.began).map(|reply| reply.text);
        let last = |text| super::sentence::sentences(text).last().map(|last| last.text);
        said.and_then(last).into_iter().chain(description).any(|text| Signs::read(text).has(Sign::Expected))
    }
}

/// Returns true if a line counts what failed: `Tests: 1 failed, 3 passed, 4 total`.
fn counts(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.windows(2).any(|pair| is_number(pair[0]) && pair[1].starts_with(char::is_alphabetic))
}

/// Returns true if something else in a round may have written a file that could not be written, or a conclusion names it
/// and no trouble with it.
fn is_written_later(timeline: &Timeline<'_>, round: &Round<'_>, open: &Open<'_>) -> bool {
    let Subject::File(path) = open.subject else { return false };
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let writes = |deed: &Deed<'_>| {
        let command = deed.command().filter(|_| !deed.only_looks());
        deed.began > open.ended
            && deed.outcome() != Some(Outcome::Failed)
            && deed.edit().map(|(path, ..)| path).or(command).is_some_and(|told| told.contains(name))
    };
    let is_content = |text: &str| {
        let bad = [Sign::Trouble, Sign::Defect, Sign::Remaining, Sign::Lack];
        text.contains(name) && !Signs::read(text).has_any(&bad) && !report::is_negated(text)
    };
    let said = conclusion(timeline, round).filter(|said| said.place > open.ended);
    timeline.deeds[round.deeds.clone()].iter().any(writes)
        || said.is_some_and(|said| super::sentence::sentences(said.text).iter().any(|it| is_content(it.text)))
}

/// Returns true if a word names the file at a path, in part or as a whole.
fn names(path: &str, word: &str) -> bool {
    let (path, word) = (path.replace('\\', "/"), word.trim_start_matches("./"));
    !word.is_empty() && (path == word || path.strip_suffix(word).is_some_and(|rest| rest.ends_with('/')))
}
