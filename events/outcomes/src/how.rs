//! How a command is actually run: its lines with counts and results, and the last failure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rate::{counted, describe, part, passes_on, percent, runs, time, times};
use super::{TOO_FEW, Witness};
use baton_episode::digest::programs;
use baton_events::schema::outcomes::{Command, Excerpt, Line, Tally};
use baton_protocol::answer::{How, HowLine, HowSubcommand, Quote, Runs};

/// Maximum number of subcommands listed per program.
const MAX_SUBCOMMANDS: usize = 12;

/// Returns the key of a program with its subcommand.
pub(super) fn command_key(name: &str) -> String {
    format!("c:{name}")
}

/// Returns the key of a program with all its subcommands.
pub(super) fn program_key(name: &str) -> String {
    format!("p:{}", program(name))
}

fn program(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// Returns the keys of sessions that ran a command; a session with any of them qualifies.
pub fn how_keys(asked: &str) -> Vec<String> {
    let query = CommandQuery::read(asked);
    vec![if query.is_whole_program() { program_key(&query.name) } else { command_key(&query.name) }]
}

/// The command asked about.
struct CommandQuery {
    /// Program and subcommand.
    name: String,
    /// Further words.
    more: Vec<String>,
    /// True if it only looks: such runs are not counted.
    looks: bool,
}

impl CommandQuery {
    fn read(asked: &str) -> Self {
        let asked = asked.trim();
        let Some(last) = programs(asked).pop() else {
            return Self {
                name: asked.split_whitespace().collect::<Vec<_>>().join(" "),
                more: Vec::new(),
                looks: false,
            };
        };
        let mut of_name: Vec<&str> = last.name.split(' ').collect();
        let mut more = Vec::new();
        for word in &last.words {
            let bare = word.rsplit('/').next().unwrap_or(word);
            match of_name.iter().position(|part| part == word || *part == bare) {
                Some(at) => drop(of_name.remove(at)),
                None => more.push(word.clone()),
            }
        }
        // Another spelling (`npm t`, `python -m pytest`) is already part of the name.
        if !of_name.is_empty() {
            more.clear();
        }
        // `run` before a package script may be omitted, and `sudo` does not matter.
        let manages = ["npm", "pnpm", "yarn", "bun"].contains(&program(&last.name));
        more.retain(|word| word != "sudo" && !(manages && word == "run"));
        Self { name: last.name, more, looks: last.looks }
    }

    fn is_whole_program(&self) -> bool {
        !self.name.contains(' ')
    }

    fn fits(&self, command: &Command) -> bool {
        if self.is_whole_program() { program(&command.name) == self.name } else { command.name == self.name }
    }

    /// Returns true if a line has all further words that were asked for.
    fn fits_line(&self, line: &str) -> bool {
        let has = |asked: &String| {
            let asked = asked.as_str();
            if asked.contains(char::is_whitespace) {
                return line.contains(asked);
            }
            let bare = |word: &str| word.trim_matches(['"', '\'', '(', ')', ';']).trim_end_matches('3').to_owned();
            let fits = |word: &str| {
                bare(word) == bare(asked) || word.strip_prefix(asked).is_some_and(|rest| rest.starts_with('='))
            };
            line.split_whitespace().any(fits)
        };
        self.more.iter().all(has)
    }
}

/// One line over several sessions.
#[derive(Default)]
struct LineRuns<'a> {
    runs: Tally,
    last: Option<(&'a Line, &'a str)>,
}

/// Returns how a command is run, with at most `limit` lines. The newest witness must come first. `project` is reported
/// as the scope of the answer.
pub fn how(asked: &str, witnesses: &[Witness], project: Option<&str>, limit: usize) -> How {
    let query = CommandQuery::read(asked);
    let mut ran: Vec<(&Witness, &Command)> = Vec::new();
    for witness in witnesses {
        ran.extend(witness.outcomes.commands.iter().filter(|command| query.fits(command)).map(|one| (witness, one)));
    }
    // If no line has the further words, the whole command is reported.
    let some = |(_, command): &(&Witness, &Command)| command.lines.iter().any(|line| query.fits_line(&line.text));
    let in_lines = !query.more.is_empty() && ran.iter().any(some);
    let mut all = Tally::default();
    let mut lines: BTreeMap<&str, LineRuns<'_>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut sessions: Vec<&str> = Vec::new();
    let mut last_failure: Option<Quote> = None;
    for (witness, command) in ran {
        let mut counted_in = Tally::default();
        let mut failure: Option<&Excerpt> = None;
        for line in command.lines.iter().filter(|line| !in_lines || query.fits_line(&line.text)) {
            let known = lines.entry(&line.text).or_default();
            known.runs = known.runs.plus(&line.runs);
            if known.last.is_none_or(|(last, _)| last.at < line.at) {
                known.last = Some((line, &witness.session));
            }
            if in_lines {
                counted_in = counted_in.plus(&line.runs);
                failure = later(failure, failure_of(line, command));
            }
        }
        if !in_lines {
            (counted_in, failure) = (command.runs, command.last_failure.as_ref());
        }
        if counted_in.all() > 0 {
            all = all.plus(&counted_in);
            let name = names.entry(&command.name).or_default();
            *name = name.plus(&counted_in);
            if sessions.last() != Some(&witness.session.as_str()) {
                sessions.push(&witness.session);
            }
            let failure = failure.map(|excerpt| Quote {
                text: excerpt.text.clone(),
                session_id: witness.session.clone(),
                line: excerpt.line,
                at: time(excerpt.at),
            });
            last_failure = newer(last_failure, failure);
        }
    }
    let runs_of_all = runs(&all);
    let passes_on = passes_on(&all);
    let mut listed: Vec<HowLine> =
        lines.into_iter().filter_map(|(text, known)| line(text, &known, passes_on)).collect();
    listed.sort_by(|a, b| {
        (Reverse(a.runs.count), Reverse(&a.last_seen), &a.text).cmp(&(
            Reverse(b.runs.count),
            Reverse(&b.last_seen),
            &b.text,
        ))
    });
    let last_seen = listed.iter().filter_map(|line| line.last_seen.clone()).max();
    let more_lines = u32::try_from(listed.len().saturating_sub(limit)).unwrap_or(u32::MAX);
    listed.truncate(limit);
    let is_other = !in_lines && !query.more.is_empty() && all.all() > 0;
    let shown = if is_other { runnable(&query.name) } else { asked.trim().to_owned() };
    let sessions = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
    let message = match runs_of_all.count {
        0 if query.looks => format!("`{shown}` only looks; runs of such commands are not counted"),
        0 => format!("no known session ran `{shown}`"),
        1..TOO_FEW => format!("`{shown}` was seen {}, too few to say how it usually ends", times(runs_of_all.count)),
        count => {
            format!("`{shown}` ran {} in {}: {}", times(count), counted(sessions, "session"), describe(&runs_of_all))
        }
    };
    let message = match is_other {
        true => format!("no line with `{}` is known; {message}", query.more.join(" ")),
        false => message,
    };
    let mut subcommands: Vec<HowSubcommand> = Vec::new();
    if query.is_whole_program() && names.keys().any(|name| *name != query.name) {
        let told =
            |(name, tally): (&&str, &Tally)| HowSubcommand { command: runnable(name), runs: part(tally, passes_on) };
        subcommands = names.iter().map(told).collect();
        subcommands.sort_by(|a, b| (Reverse(a.runs.count), &a.command).cmp(&(Reverse(b.runs.count), &b.command)));
        subcommands.truncate(MAX_SUBCOMMANDS);
    }
    How {
        message,
        command: asked.trim().to_owned(),
        project: project.map(str::to_owned),
        runs: runs_of_all,
        sessions,
        last_seen,
        lines: listed,
        more_lines,
        last_failure,
        subcommands,
        ..How::default()
    }
}

/// Adds the runs in other projects to the answer.
#[must_use]
pub fn with_other_projects(how: How, elsewhere: Runs) -> How {
    let rate = |of: u32| format!(", {} of {of}", percent(f64::from(elsewhere.ok) / f64::from(of)));
    let rate = elsewhere.success_rate.map(|_| rate(elsewhere.rate_of));
    let message = format!("{}; in other projects {}{}", how.message, times(elsewhere.count), rate.unwrap_or_default());
    How { message, elsewhere: Some(elsewhere), ..how }
}

/// Marks the answer as covering only the newest `read` sessions if `more` were not read.
#[must_use]
pub fn of_newest(how: How, read: u32, more: u32) -> How {
    let message = if more == 0 {
        how.message
    } else {
        format!("{}; of the newest {} only", how.message, counted(read, "session"))
    };
    How { message, more_sessions: more, ..how }
}

fn line(text: &str, known: &LineRuns<'_>, passes_on: bool) -> Option<HowLine> {
    let (last, session) = known.last?;
    Some(HowLine {
        text: text.to_owned(),
        runs: part(&known.runs, passes_on),
        last_seen: time(last.at),
        last_outcome: last.ended.as_str().to_owned(),
        session_id: session.to_owned(),
        line: last.line,
    })
}

/// Returns the last failure of a line; if it is also the last one of its program, only the program stores it.
fn failure_of<'a>(line: &'a Line, command: &'a Command) -> Option<&'a Excerpt> {
    let failed = line.runs.failed + line.runs.shared_failed + line.runs.piped_failed > 0;
    line.last_failure.as_ref().or(command.last_failure.as_ref().filter(|_| failed))
}

fn later<'a>(one: Option<&'a Excerpt>, other: Option<&'a Excerpt>) -> Option<&'a Excerpt> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if (other.at, other.line) > (one.at, one.line) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Returns a program with its subcommand as it can be typed: package scripts need `run`.
pub(super) fn runnable(name: &str) -> String {
    const OWN: [&str; 21] = [
        "install",
        "test",
        "start",
        "stop",
        "ci",
        "publish",
        "exec",
        "audit",
        "outdated",
        "update",
        "init",
        "link",
        "pack",
        "version",
        "uninstall",
        "remove",
        "view",
        "run",
        "dlx",
        "create",
        "ls",
    ];
    match name.split_once(' ') {
        Some((program @ ("npm" | "pnpm" | "yarn" | "bun"), script))
            if !OWN.contains(&script) && !script.starts_with('-') =>
        {
            format!("{program} run {script}")
        }
        _ => name.to_owned(),
    }
}

/// Returns the later of two places.
pub(super) fn newer(one: Option<Quote>, other: Option<Quote>) -> Option<Quote> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.at > one.at { other } else { one }),
        (one, other) => one.or(other),
    }
}
