//! `baton how`: how a command is really run here.

use std::process::ExitCode;

use baton_protocol::answer::{How, Runs};
use baton_protocol::{HowParams, method};

use super::question::{heading, place, rate, row};
use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows the lines by which a command is run, as they were typed, how often each succeeds, and the last failure. Lines \
that worked come first, those that worked in most sessions before others, then the latest; lines that never worked come \
last. Words will do as well (run tests, deploy): they are looked for in the names of commands, in their lines and in \
what the agent ran them for. Outcomes \
come from the results of the tool; a command that went to the background, was refused or has no result is not a \
failure. No rate is shown for fewer than three known outcomes. If a pipe or a longer line hides the program's exit \
code, the outcome is unknown, unless the output says that its tests passed or failed. Commands that only look (ls, \
grep, git status) are not counted. Without --project it covers this directory's project if the command was ever run \
there, otherwise all projects.

JSON: \
{\"message\",\"command\",\"project\",\"count\",\"ok\",\"failed\",\"unknown\",\"denied\",\"interrupted\",\"success_rate\", \
\"rate_of\",\"shared\",\"sessions\",\"more_sessions\",\"elsewhere\",\"last_seen\",\"lines\":[{\"text\",\"purpose\",\"count\",\"ok\",\"failed\",\"success_rate\",\"last_seen\", \
\"last_outcome\",\"session_id\",\"line\"}],\"more_lines\",\"last_failure\":{\"text\",\"session_id\",\"line\",\"at\"},\"subcommands\":[…], \
\"freshness\"}; rates are from 0 to 1, zeros may be left out

Examples:
  baton how cargo test                 its lines, and how often they succeed
  baton how docker                     all its subcommands
  baton how run tests                  whatever runs the tests
  baton how npm test --watch           only lines with this flag
  baton how \"cargo test\" -p ledger    in another project: after a quoted line -p is Baton's option";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A program, with or without a subcommand, a whole line, or words for it; flags after it belong to it
    #[arg(required = true)]
    command: Vec<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// How many lines to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = HowParams {
        command: args.command.join(" "),
        project: args.project.as_deref().map(super::project),
        limit: args.limit,
        wait: !args.no_wait,
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::HOW, &params, args.json)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: How = super::parse_result(&result)?;
    show(&output, &answer);
    question::note_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, how: &How) {
    heading(output, &how.message);
    for line in &how.lines {
        let last = format!(
            "{}; last {} in {}",
            rate(&line.runs),
            line.last_outcome,
            place(output, &line.session_id, line.line, line.last_seen.as_deref())
        );
        let never = match line.runs {
            Runs { ok: 0, unknown: 0, failed: 1.., .. } => "never worked: ",
            Runs { ok: 0, failed: 3.., .. } => "never seen to work: ",
            _ => "",
        };
        let purpose =
            if line.purpose.is_empty() { String::new() } else { format!("{}; ", print::plain(&line.purpose)) };
        output.line("");
        // A line that is cut cannot be run.
        output.line(&format!("  {}", print::plain(&line.text)));
        output.line(&output.styled(Style::Faint, &format!("      {never}{purpose}{last}")));
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
            &place(output, &failure.session_id, failure.line, failure.at.as_deref()),
        );
    }
}
