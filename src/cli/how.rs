//! `baton how`: how a command is really run here.

use std::ffi::OsString;
use std::process::ExitCode;

use baton_events::protocol::answer::How;
use baton_events::protocol::{HowParams, method};
use clap::Args;

use super::question::{heading, place, rate, row};
use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{Output, Style};

const HELP: &str = "\
Shows by which lines a command is run, the most used first, how often each succeeds, and the last failure. What counts is how \
the tool's result says it ended; what went on in the background, was refused or has no answer is no failure. Of fewer than \
three known outcomes no rate is told. Where a pipe or a longer line hides how the program itself ended, that is said. Commands \
that only look (ls, grep, git status) are not counted. Without --project this directory's project answers if the command was \
ever run in it, else all.

JSON: {\"message\",\"command\",\"project\",\"count\",\"ok\",\"failed\",\"unknown\",\"denied\",\"interrupted\",\"success_rate\", \
\"rate_of\",\"shared\",\"sessions\",\"last_seen\",\"lines\":[{\"text\",\"count\",\"ok\",\"failed\",\"success_rate\",\"last_seen\", \
\"last_outcome\",\"session_id\",\"line\"}],\"more_lines\",\"last_failure\":{\"text\",\"session_id\",\"line\",\"at\"},\"subcommands\":[…], \
\"freshness\"}; rates are from 0 to 1, what is 0 may be left out

Examples:
  baton how cargo test            by which lines, and how often it succeeds
  baton how docker                all its subcommands
  baton how npm test --watch      only lines with this flag
  baton how \"git log --json\"      a flag that we have too stands in quotes";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(super) struct Typed {
    /// A program, with or without a subcommand, or a whole line; flags behind it are its own
    #[arg(required = true)]
    command: Vec<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// How many lines to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Flags of ours, wherever they stand.
const OWN: [&str; 9] = ["--project", "-p", "--limit", "-n", "--no-wait", "--json", "--help", "-h", "--"];

/// The words of a command line, with every flag that is not ours and stands behind the command's first word made one with the
/// word of the command before it.
pub(super) fn with_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_asked = |word: &OsString| !word.to_string_lossy().starts_with('-');
    let Some(at) = arguments.iter().skip(1).position(is_asked).filter(|at| arguments[at + 1] == "how") else {
        return arguments;
    };
    let mut words: Vec<OsString> = Vec::with_capacity(arguments.len());
    let (mut command, mut takes_value, mut is_raw) = (None, false, false);
    for (place, word) in arguments.into_iter().enumerate() {
        let text = word.to_string_lossy().into_owned();
        let is_flag = !is_raw && text.len() > 1 && text.starts_with('-');
        let is_own = OWN.contains(&text.split('=').next().unwrap_or_default());
        let is_value = std::mem::take(&mut takes_value);
        match command.and_then(|at: usize| words.get_mut(at)) {
            Some(before) if is_flag && !is_own && !is_value => {
                before.push(" ");
                before.push(&word);
                continue;
            }
            _ if place <= at + 1 || is_value => {}
            _ if is_flag => {
                takes_value = OWN[..4].contains(&text.as_str());
                is_raw = text == "--";
            }
            _ => command = Some(words.len()),
        }
        words.push(word);
    }
    words
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = HowParams {
        command: typed.command.join(" "),
        project: typed.project.as_deref().map(super::project),
        limit: typed.limit,
        wait: !typed.no_wait,
        caller: environment::caller(),
    };
    let result = question::answered(environment, method::HOW, &params)?;
    let output = Output::new();
    if typed.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: How = super::read(&result)?;
    show(&output, &answer);
    question::tell_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, how: &How) {
    heading(output, &how.message);
    for line in &how.lines {
        let last = format!(
            "{}; last {} in {}",
            rate(&line.runs),
            line.last_outcome,
            place(&line.session_id, line.line, line.last_seen.as_deref())
        );
        output.line("");
        row(output, 2, &line.text, "");
        output.line(&output.styled(Style::Faint, &format!("      {last}")));
    }
    if how.more_lines > 0 {
        output.line(&format!("\n  and {} other lines; --limit shows more", how.more_lines));
    }
    if !how.subcommands.is_empty() {
        output.line("");
        for one in &how.subcommands {
            row(output, 2, &one.command, &rate(&one.runs));
        }
    }
    if let Some(failure) = &how.last_failure {
        output.line("");
        row(
            output,
            0,
            &format!("Last failure: {}", failure.text),
            &place(&failure.session_id, failure.line, failure.at.as_deref()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_behind_a_command_is_the_commands_unless_it_is_ours() {
        for (typed, expected) in [
            ("baton how cargo test --workspace", "baton|how|cargo|test --workspace"),
            ("baton how cargo test --workspace -q --json", "baton|how|cargo|test --workspace -q|--json"),
            ("baton how cargo --json test --workspace", "baton|how|cargo|--json|test --workspace"),
            ("baton how cargo test -p shop", "baton|how|cargo|test|-p|shop"),
            ("baton how -p shop cargo test --all", "baton|how|-p|shop|cargo|test --all"),
            ("baton how cargo -n 3 --workspace", "baton|how|cargo --workspace|-n|3"),
            ("baton how --workspace cargo", "baton|how|--workspace|cargo"),
            ("baton how -- cargo --json", "baton|how|--|cargo|--json"),
            ("baton how cargo --limit=3 --project=a b -x", "baton|how|cargo|--limit=3|--project=a|b -x"),
            ("baton fix cargo test --workspace", "baton|fix|cargo|test|--workspace"),
            ("baton search how --many", "baton|search|how|--many"),
            ("baton", "baton"),
        ] {
            let words = with_flags(typed.split(' ').map(OsString::from).collect());
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join("|"), expected, "{typed}");
        }
    }
}
