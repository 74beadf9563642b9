//! How a command is really run: its lines with counts, how they ended, and the last failure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rate::{counted, runs, time, times, told};
use super::{TOO_FEW, Witness};
use crate::digest::programs;
use crate::protocol::answer::{How, HowLine, HowSubcommand, Place};
use crate::schema::outcomes::{Command, Line, Tally};

/// Most subcommands of a program that are listed.
const MAX_SUBCOMMANDS: usize = 12;

/// The key of a program with its subcommand.
pub(super) fn command_key(name: &str) -> String {
    format!("c:{name}")
}

/// The key of a program with all its subcommands.
pub(super) fn program_key(name: &str) -> String {
    format!("p:{}", program(name))
}

fn program(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// The keys by which the sessions are found that ran a command; any of them will do.
pub fn keys(asked: &str) -> Vec<String> {
    let question = Question::read(asked);
    vec![if question.is_whole_program() { program_key(&question.name) } else { command_key(&question.name) }]
}

/// What is asked for.
struct Question {
    /// Program and subcommand.
    name: String,
    /// Words beyond that.
    more: Vec<String>,
    /// Whether it only looks: such runs are not counted.
    looks: bool,
}

impl Question {
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
        // What was spelled otherwise (`npm t`, `python -m pytest`) is in the name already.
        if !of_name.is_empty() {
            more.clear();
        }
        let runner =
            |word: &String| ["sudo", "npx", "uv", "run", "python", "python3", "-m", "poetry"].contains(&word.as_str());
        more.retain(|word| !runner(word));
        Self { name: last.name, more, looks: last.looks }
    }

    fn is_whole_program(&self) -> bool {
        !self.name.contains(' ')
    }

    fn fits(&self, command: &Command) -> bool {
        if self.is_whole_program() { program(&command.name) == self.name } else { command.name == self.name }
    }

    /// Whether a line has all words that were asked for beyond the name.
    fn fits_line(&self, line: &str) -> bool {
        self.more.iter().all(|word| line.contains(word.as_str()))
    }
}

/// A line over several sessions.
#[derive(Default)]
struct Known<'a> {
    runs: Tally,
    last: Option<(&'a Line, &'a str)>,
}

/// How a command is run, from witnesses of whom the newest comes first; at most `limit` lines. `project` is told as what
/// the answer is about.
pub fn how(asked: &str, witnesses: &[Witness], project: Option<&str>, limit: usize) -> How {
    let question = Question::read(asked);
    let mut ran: Vec<(&Witness, &Command)> = Vec::new();
    for witness in witnesses {
        ran.extend(witness.outcomes.commands.iter().filter(|command| question.fits(command)).map(|one| (witness, one)));
    }
    // Of a line that nobody has run, the command is told.
    let some = |(_, command): &(&Witness, &Command)| command.lines.iter().any(|line| question.fits_line(&line.text));
    let in_lines = !question.more.is_empty() && ran.iter().any(some);
    let mut all = Tally::default();
    let mut lines: BTreeMap<&str, Known<'_>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut sessions: Vec<&str> = Vec::new();
    let mut last_failure: Option<Place> = None;
    for (witness, command) in ran {
        let mut counts = false;
        for line in command.lines.iter().filter(|line| !in_lines || question.fits_line(&line.text)) {
            counts = true;
            let known = lines.entry(&line.text).or_default();
            known.runs = known.runs.plus(&line.runs);
            if known.last.is_none_or(|(last, _)| last.at < line.at) {
                known.last = Some((line, &witness.session));
            }
            if in_lines {
                all = all.plus(&line.runs);
            }
        }
        if !in_lines {
            counts = true;
            all = all.plus(&command.runs);
        }
        if counts {
            let name = names.entry(&command.name).or_default();
            *name = name.plus(&command.runs);
            if sessions.last() != Some(&witness.session.as_str()) {
                sessions.push(&witness.session);
            }
            let failure = command.last_failure.as_ref().map(|said| Place {
                text: said.text.clone(),
                session_id: witness.session.clone(),
                line: said.line,
                at: time(said.at),
            });
            last_failure = newer(last_failure, failure);
        }
    }
    let runs_of_all = runs(&all);
    let mut listed: Vec<HowLine> = lines.into_iter().filter_map(|(text, known)| line(text, &known)).collect();
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
    let shown = if in_lines || question.more.is_empty() || all.all() == 0 {
        asked.trim().to_owned()
    } else {
        question.name.clone()
    };
    let sessions = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
    let message = match runs_of_all.count {
        0 if question.looks => format!("`{shown}` only looks; runs of such commands are not counted"),
        0 => format!("`{shown}` was run in no session that is known"),
        1..TOO_FEW => format!("`{shown}` was seen {}, too few to say how it usually ends", times(runs_of_all.count)),
        count => {
            format!("`{shown}` ran {} in {}: {}", times(count), counted(sessions, "session"), told(&runs_of_all))
        }
    };
    let mut subcommands: Vec<HowSubcommand> = Vec::new();
    if question.is_whole_program() && names.keys().any(|name| *name != question.name) {
        subcommands = names
            .iter()
            .map(|(name, tally)| HowSubcommand { command: (*name).to_owned(), runs: runs(tally) })
            .collect();
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

fn line(text: &str, known: &Known<'_>) -> Option<HowLine> {
    let (last, session) = known.last?;
    Some(HowLine {
        text: text.to_owned(),
        runs: runs(&known.runs),
        last_seen: time(last.at),
        last_outcome: last.ended.as_str().to_owned(),
        session_id: session.to_owned(),
        line: last.line,
    })
}

/// The later of two places.
pub(super) fn newer(one: Option<Place>, other: Option<Place>) -> Option<Place> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.at > one.at { other } else { one }),
        (one, other) => one.or(other),
    }
}
