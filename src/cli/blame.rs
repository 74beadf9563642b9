//! `baton blame`: the sessions behind a file.

use std::process::ExitCode;

use baton_protocol::answer::Blame;
use baton_protocol::{BlameParams, method};

use super::question::{heading, place, row};
use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Output};

const HELP: &str = "\
Lists the sessions that changed, read or renamed a file or made decisions about it, newest first, with the changes and \
decisions of each. A change by a shell command counts if the command names the file (`sed -i`, `cat > a.rs`). PATH may \
be the end of a path, a directory, or a quoted pattern ('src/*.rs'; ** matches any directories). If several files \
match and none is in this directory's project, their full paths are listed instead. Renames are followed. Decisions \
are those that name the file, then those made between the same two prompts as a change to it.

JSON: \
{\"message\",\"path\",\"project\",\"sessions\":[{\"session_id\",\"title\",\"at\",\"modified\",\"added\",\"removed\",\"read\",\"line\", \
\"renamed\",\"files\",\"decisions\":[{\"text\",\"session_id\",\"line\",\"at\"}]}],\"more_sessions\",\"candidates\":[{\"path\",\"project\",\"sessions\",\"ask\"}],\"freshness\"}

Examples:
  baton blame src/auth.rs               who changed it, who read it, what was decided
  baton blame src/auth                  of all files in a directory
  baton blame auth.rs -p ledger-api     in another project";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A path, or the end of one
    path: String,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// How many sessions to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = BlameParams {
        path: args.path.clone(),
        project: args.project.as_deref().map(super::project),
        limit: args.limit,
        wait: !args.no_wait,
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::BLAME, &params, args.json)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Blame = super::parse_result(&result)?;
    show(&output, &answer);
    question::note_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, blame: &Blame) {
    heading(output, &blame.message);
    for candidate in &blame.candidates {
        row(output, 2, &candidate.ask, &print::counted(u64::from(candidate.sessions), "session"));
    }
    for session in &blame.sessions {
        output.line("");
        let title = if session.title.is_empty() { "(no title)" } else { &session.title };
        let place = place(output, &session.session_id, session.line.unwrap_or(1), session.at.as_deref());
        row(output, 0, title, &format!("({place})"));
        let mut did = Vec::new();
        if session.modified {
            did.push(format!("changed it{}", print::changed_lines(", ", session.added, session.removed)));
        }
        if session.read > 0 {
            did.push(format!("read it {}", print::counted(u64::from(session.read), "time")));
        }
        if let Some(renamed) = &session.renamed {
            did.push(format!("renamed {renamed}"));
        }
        if !did.is_empty() {
            let files =
                if session.files.is_empty() { String::new() } else { format!("({})", session.files.join(", ")) };
            row(output, 5, &did.join("; "), &files);
        }
        for decision in &session.decisions {
            row(output, 5, &format!("decided: {}", decision.text), &format!("line {}", decision.line));
        }
    }
    if blame.more_sessions > 0 {
        let more = print::counted(u64::from(blame.more_sessions), "older session");
        output.line(&format!("\n  and {more}; --limit shows more"));
    }
}
