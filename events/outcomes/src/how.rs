//! How a command is actually run, or what does what some words say: lines as typed, with counts and results, and the
//! last failure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::asked_check::AskedCheck;
use super::asked_command::{CommandQuery, Fit, MAX_WRAPPERS, program, without_run, words};
use super::mends::mending_commands;
use super::rate::{describe, format_count, format_time, format_times, part_of_runs, passes_on, percent, runs};
use super::{TOO_FEW, Witness};
use baton_events::schema::outcomes::{Command, Ended, Excerpt, Line, Tally};
use baton_protocol::answer::{How, HowLine, HowSubcommand, Quote, Runs};

/// Maximum number of subcommands listed per program.
const MAX_SUBCOMMANDS: usize = 12;
/// Maximum number of lines that only failed, beside others.
const MAX_FAILING: usize = 2;
/// Programs that only show the end or a part of another's output.
const VIEWERS: [&str; 5] = ["tail", "head", "grep", "less", "cat"];
/// Returns the key of a program with its subcommand.
pub(super) fn command_key(name: &str) -> String {
    format!("c:{}", without_run(name))
}

/// Returns the key of a program with all its subcommands.
pub(super) fn program_key(name: &str) -> String {
    format!("p:{}", program(name))
}

/// Returns the keys of the words of a command line and of its purpose.
pub(super) fn word_keys(line: &Line) -> impl Iterator<Item = String> {
    words(&line.text).chain(words(&line.purpose)).map(|word| format!("w:{word}"))
}

/// Returns the keys of sessions that may answer; a session with any of them qualifies.
pub fn how_keys(asked: &str) -> Vec<String> {
    let query = CommandQuery::read(asked);
    let of_program = if query.is_whole_program() { program_key(&query.name) } else { command_key(&query.name) };
    let of_check = query.check.iter().flat_map(AskedCheck::keys).flat_map(words);
    std::iter::once(of_program).chain(query.words.iter().cloned().chain(of_check).map(|it| format!("w:{it}"))).collect()
}

/// Returns a line without what only cuts its output: `cargo test` for `cargo test 2>&1 | tail -5`.
fn without_view(line: &str) -> &str {
    let mut rest = line;
    while let Some((before, last)) = rest.rsplit_once(" | ") {
        if !VIEWERS.contains(&last.split_whitespace().next().unwrap_or_default()) {
            break;
        }
        rest = before;
    }
    rest.trim_end().trim_end_matches("2>&1").trim_end()
}

/// One line over several sessions, with what only cuts its output in any form.
#[derive(Default)]
struct LineRuns<'a> {
    runs: Tally,
    /// The last run.
    last: Option<(&'a Line, &'a str)>,
    /// The last run that succeeded, or is not known to have failed.
    good: Option<&'a Line>,
    /// Sessions in which it succeeded.
    worked_in: u32,
}

/// Returns how a command is run, or what does what the words say, with at most `limit` lines that may have worked, the
/// most useful first, and after them some that only failed. The newest witness must come first. `project` is reported as
/// the scope of the answer.
pub fn how(asked: &str, witnesses: &[Witness], project: Option<&str>, limit: usize) -> How {
    let how = lookup(asked, CommandQuery::read(asked), witnesses, project, limit);
    if Standing::of(&how.runs) != Standing::Failed {
        return how;
    }
    // A word that never worked as a program may say what is to be done: `lint`.
    if !asked.trim().contains(char::is_whitespace) {
        let query = CommandQuery::read(&format!("run {}", asked.trim()));
        let done = lookup(asked, query, witnesses, project, limit);
        if Standing::of(&done.runs) == Standing::Worked {
            return done;
        }
    }
    // A command that never worked in a wrapper may work without it.
    let words: Vec<&str> = asked.split_whitespace().collect();
    let shorter = (1..=MAX_WRAPPERS.min(words.len())).map(|at| words[at..].join(" ")).filter(|rest| !rest.is_empty());
    let mut worked = shorter.filter_map(|rest| {
        let other = lookup(&rest, CommandQuery::read(&rest), witnesses, project, 1);
        let line = other.lines.into_iter().find(|line| Standing::of(&line.runs) == Standing::Worked);
        line.filter(|line| without_view(&line.text) == rest)
    });
    let Some(line) = worked.next() else { return how };
    let message = format!("{}; `{}` works", how.message, without_view(&line.text));
    How { message, lines: std::iter::once(line).chain(how.lines).collect(), ..how }
}

fn lookup(asked: &str, query: CommandQuery, witnesses: &[Witness], project: Option<&str>, limit: usize) -> How {
    let all = || {
        let of_witness = |witness| {
            let witness: &Witness = witness;
            let commands = witness.outcomes.commands.iter();
            commands.flat_map(move |command| command.lines.iter().map(move |line| (witness, command, line)))
        };
        witnesses.iter().flat_map(of_witness)
    };
    let fits = all().filter_map(|one| Some((query.fit_of(one.1, one.2)?, one)));
    let fits: Vec<(Fit, (&Witness, &Command, &Line))> = fits.collect();
    let best = fits.iter().map(|(fit, _)| *fit).max();
    // A program alone is asked about with everything that runs it.
    let least = match best {
        Some(Fit::Typed) if query.typed.len() == 1 => Some(Fit::Command),
        other => other,
    };
    let has_more = !query.more.is_empty();
    let by_check = matches!(best, Some(Fit::Named | Fit::Kind));
    let mut tally = Tally::default();
    let mut lines: BTreeMap<&str, LineRuns<'_>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut sessions: Vec<&str> = Vec::new();
    let mut last_failure: Option<Quote> = None;
    let mut counted_in: BTreeSet<(&str, &str)> = BTreeSet::new();
    // A line that runs several programs counts as the one that fits best.
    let mut told: Vec<&(Fit, (&Witness, &Command, &Line))> =
        fits.iter().filter(|(fit, _)| Some(*fit) >= least).collect();
    told.sort_by_key(|(fit, (_, command, _))| (Reverse(query.fits(command)), Reverse(*fit)));
    for (_, (witness, command, line)) in told {
        if !counted_in.insert((&witness.session, &line.text)) {
            continue;
        }
        tally = tally.plus(&line.runs);
        let name = names.entry(&command.name).or_default();
        *name = name.plus(&line.runs);
        if !sessions.contains(&witness.session.as_str()) {
            sessions.push(&witness.session);
        }
        let known = lines.entry(without_view(&line.text)).or_default();
        known.add(line, &witness.session);
        let failure = failure_of(line, command).map(|said| Quote {
            text: said.text.clone(),
            session_id: witness.session.clone(),
            line: said.line,
            at: format_time(said.at),
        });
        last_failure = later_quote(last_failure, failure);
    }
    let runs_of_all = runs(&tally);
    let passes_on = passes_on(&tally);
    let mut listed: Vec<(&LineRuns<'_>, HowLine)> =
        lines.values().filter_map(|known| Some((known, known.tell(passes_on)?))).collect();
    listed.sort_by(|(one, a), (other, b)| {
        let suits = |line: &HowLine| query.check.as_ref().filter(|_| by_check).and_then(|it| it.line_suits(&line.text));
        let order = |known: &LineRuns<'_>, line: &HowLine| {
            let standing = Reverse((Standing::of(&line.runs), suits(line)));
            (standing, Reverse(known.worked_in), Reverse(line.last_seen.clone()))
        };
        order(one, a).cmp(&order(other, b)).then_with(|| a.text.cmp(&b.text))
    });
    let last_seen = listed.iter().filter_map(|(_, line)| line.last_seen.clone()).max();
    let (failing, useful): (Vec<HowLine>, Vec<HowLine>) =
        listed.into_iter().map(|(_, line)| line).partition(|line| Standing::of(&line.runs) == Standing::Failed);
    let count = useful.len() + failing.len();
    let of_failing = limit.saturating_sub(useful.len()).max(MAX_FAILING.min(limit));
    let shown_lines: Vec<HowLine> =
        useful.into_iter().take(limit).chain(failing.into_iter().take(of_failing)).collect();
    let more_lines = u32::try_from(count - shown_lines.len()).unwrap_or(u32::MAX);
    let by_words = best.is_some_and(|fit| fit <= Fit::Named);
    let is_named = best == Some(Fit::InName);
    let is_known = is_named || best == Some(Fit::Line) && has_more;
    let is_other = !by_words && best.is_some_and(|fit| fit < Fit::Typed) && !is_known;
    let shown = if is_other && has_more { query.name.clone() } else { asked.trim().to_owned() };
    let is_part = matches!(best, Some(Fit::Part | Fit::Kind));
    let in_sessions = format_count(u32::try_from(sessions.len()).unwrap_or(u32::MAX), "session");
    let subject = match (by_words, is_other && !has_more) {
        _ if is_part => "lines like it".to_owned(),
        _ if is_named => format!("lines with `{}` in a name", query.more.join(" ")),
        (true, _) => format!("lines for `{shown}`"),
        (_, true) => "other forms of it".to_owned(),
        _ => format!("`{shown}`"),
    };
    let message = match runs_of_all.count {
        0 if query.looks && !query.is_prose => format!("`{shown}` only looks; runs of such commands are not counted"),
        0 => format!("no known session ran `{shown}`"),
        count @ 1..TOO_FEW if !by_words && !is_named => {
            format!("{subject} was seen {}, too few to say how it usually ends", format_times(count))
        }
        count => format!("{subject} ran {} in {in_sessions}: {}", format_times(count), describe(&runs_of_all)),
    };
    let message = match is_other {
        _ if is_part => format!("no line has all of `{}`; nearest: {message}", asked.trim()),
        true if has_more => format!("no line with `{}` is known; {message}", query.more.join(" ")),
        true => format!("no line with `{}` is known; {message}", asked.trim()),
        false => message,
    };
    let message = match mending_commands(witnesses, |name| names.contains_key(name)) {
        Some(mends) => format!("{message}; failures went away by {mends}"),
        None => message,
    };
    let mut subcommands: Vec<HowSubcommand> = Vec::new();
    if query.is_whole_program() && !by_words && names.keys().any(|name| *name != query.name) {
        let told = |(name, tally): (&&str, &Tally)| HowSubcommand {
            command: (**name).to_owned(),
            runs: part_of_runs(tally, passes_on),
        };
        subcommands = names.iter().map(told).collect();
        subcommands.sort_by(|a, b| (Reverse(a.runs.count), &a.command).cmp(&(Reverse(b.runs.count), &b.command)));
        subcommands.truncate(MAX_SUBCOMMANDS);
    }
    How {
        message,
        command: asked.trim().to_owned(),
        project: project.map(str::to_owned),
        runs: runs_of_all,
        sessions: u32::try_from(sessions.len()).unwrap_or(u32::MAX),
        last_seen,
        lines: shown_lines,
        more_lines,
        last_failure,
        subcommands,
        ..How::default()
    }
}

/// Knowledge about a line; later variants are better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It failed, and was never seen to succeed.
    Failed,
    /// Neither success nor failure is known.
    Unknown,
    /// It succeeded.
    Worked,
}

impl Standing {
    fn of(runs: &Runs) -> Self {
        match (runs.ok, runs.failed) {
            (0, 0) => Self::Unknown,
            (0, failed) if runs.unknown == 0 || failed >= TOO_FEW => Self::Failed,
            (0, _) => Self::Unknown,
            _ => Self::Worked,
        }
    }
}

impl<'a> LineRuns<'a> {
    fn add(&mut self, line: &'a Line, session: &'a str) {
        self.runs = self.runs.plus(&line.runs);
        if self.last.is_none_or(|(last, _)| last.at < line.at) {
            self.last = Some((line, session));
        }
        let is_good = |line: &Line| matches!(line.ended, Ended::Ok | Ended::Unknown);
        if self.good.is_none_or(|good| good.at < line.at) && is_good(line) {
            self.good = Some(line);
        }
        self.worked_in += u32::from(line.runs.ok + line.runs.shared_ok > 0);
    }

    fn tell(&self, passes_on: bool) -> Option<HowLine> {
        let (last, session) = self.last?;
        let shown = self.good.unwrap_or(last);
        Some(HowLine {
            text: shown.text.clone(),
            purpose: shown.purpose.clone(),
            runs: part_of_runs(&self.runs, passes_on),
            last_seen: format_time(last.at),
            last_outcome: last.ended.as_str().to_owned(),
            session_id: session.to_owned(),
            line: last.line,
        })
    }
}

/// Adds the runs in other projects to the answer.
#[must_use]
pub fn with_other_projects(how: How, elsewhere: Runs) -> How {
    let rate = |of: u32| format!(", {} of {of}", percent(f64::from(elsewhere.ok) / f64::from(of)));
    let rate = elsewhere.success_rate.map(|_| rate(elsewhere.rate_of));
    let message =
        format!("{}; in other projects {}{}", how.message, format_times(elsewhere.count), rate.unwrap_or_default());
    How { message, elsewhere: Some(elsewhere), ..how }
}

/// Marks the answer as covering only the newest `read` sessions if `more` were not read.
#[must_use]
pub fn limited_to_newest(how: How, read: u32, more: u32) -> How {
    let message = if more == 0 {
        how.message
    } else {
        format!("{}; of the newest {} only", how.message, format_count(read, "session"))
    };
    How { message, more_sessions: more, ..how }
}

/// Returns the last failure of a line; if it is also the last one of its program, only the program stores it.
fn failure_of<'a>(line: &'a Line, command: &'a Command) -> Option<&'a Excerpt> {
    let failed = line.runs.failed + line.runs.shared_failed + line.runs.piped_failed > 0;
    line.last_failure.as_ref().or(command.last_failure.as_ref().filter(|_| failed))
}

/// Returns the later of two places.
pub(super) fn later_quote(one: Option<Quote>, other: Option<Quote>) -> Option<Quote> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.at > one.at { other } else { one }),
        (one, other) => one.or(other),
    }
}
