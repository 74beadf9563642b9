//! Shared parts of the commands that ask about past work: the call, answered from the example sessions if there are no
//! transcripts, and the output.

use baton_conversation::printable::to_sentence;
use baton_protocol::answer::{Freshness, Runs};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Error;
use crate::client::{self, Client};
use crate::environment::{Environment, zone};
use crate::examples::{self, Throwaway};
use crate::print::{self, Output, Progress, Style};

/// Options of every such command.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    /// The project in the form that the daemon resolves.
    pub(super) fn project(&self) -> Option<String> {
        self.project.as_deref().map(super::project)
    }

    /// True if the answer waits until all history is read.
    pub(super) fn waits(&self) -> bool {
        !self.no_wait
    }
}

/// Returns the unparsed answer, and the output to print it on.
pub(super) fn call(
    environment: &Environment,
    method: &str,
    params: &impl Serialize,
    json: bool,
) -> Result<(Box<RawValue>, Output), Error> {
    let call = |client: &mut Client| -> Result<Box<RawValue>, client::Error> {
        let progress = Progress::new();
        let result = client.call_raw(method, params, |update| progress.show(&update));
        progress.end();
        result
    };
    let Some(folder) = examples::stand_in(environment) else {
        return Ok(super::ask_shown(environment, json, call)?);
    };
    print::note(&examples::note(&folder));
    let throwaway = Throwaway::start(&folder)?;
    let mut client = throwaway.client()?;
    let result = call(&mut client)?;
    let output = super::ask::shown(&mut client, json, &result);
    Ok((result, output))
}

/// Prints notes on what the answer may be missing.
pub(super) fn note_freshness(fresh: &Freshness) {
    if let Some(note) = &fresh.note {
        print::note(&format!("\n{}", print::plain(note)));
    }
    if fresh.pending > 0 {
        let what = print::counted(fresh.pending, "session");
        print::note(&format!("\n{what} still being read and may be missing."));
    }
}

/// Prints the answer's sentence, with a capital letter.
pub(super) fn heading(output: &Output, message: &str) {
    output.line(&output.styled(Style::Strong, &to_sentence(message)));
}

/// Prints an indented line, cut to the width of a terminal.
pub(super) fn row(output: &Output, indent: usize, text: &str, about: &str) {
    let about = if about.is_empty() { String::new() } else { format!("  {}", print::one_line(about, usize::MAX)) };
    let room = output.fit().map_or(usize::MAX, |fit| fit.saturating_sub(indent + print::columns(&about)).max(20));
    let text = print::one_line(text, room);
    output.line(&format!("{}{text}{}", " ".repeat(indent), output.styled(Style::Faint, &about)));
}

/// A session and a line of it: `a94e0d17 line 12, 2026-03-14`.
pub(super) fn place(output: &Output, session: &str, line: u64, at: Option<&str>) -> String {
    let id = output.id(session);
    let day = at.map(|at| format!(", {}", zone::day(at))).unwrap_or_default();
    format!("{id} line {line}{day}")
}

/// Describes how runs ended: `12 runs, 10 of 12 succeed (83 %)`. No percentage for fewer than three known outcomes.
pub(super) fn rate(runs: &Runs) -> String {
    let count = print::counted(u64::from(runs.count), "run");
    let known = runs.ok + runs.failed;
    let of = if known == runs.count { String::new() } else { " known".to_owned() };
    match runs.success_rate {
        Some(rate) => format!("{count}, {} of {known}{of} succeed ({:.0} %)", runs.ok, rate * 100.0),
        None if known > 0 => format!("{count}, {} of {known}{of} succeeded", runs.ok),
        None if runs.denied == runs.count => format!("{count}, refused"),
        None if runs.interrupted == runs.count => format!("{count}, interrupted"),
        None => format!("{count}, outcome unknown"),
    }
}
