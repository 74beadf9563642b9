//! `baton vault sync`: writes every finished session into its note now.

use std::process::ExitCode;

use baton_protocol::answer::VaultSync;
use baton_protocol::{VaultSyncParams, method};

use super::super::{Error, ask, parse_result, project};
use super::SILENT;
use crate::environment::Environment;
use crate::print::{self, Output, Progress};

const HELP: &str = "\
The daemon does this automatically whenever a session ends. Use it to do so now, to write notes again that were \
removed, and to start over in a vault that was emptied. What people have written in notes stays.

JSON: \
{\"status\",\"sessions\",\"written\",\"without_note\",\"files\",\"conflicts\",\"compacted\",\"pending\",\"failed\":[…],\"seconds\",\
\"message\"}

Examples:
  baton vault sync                     all finished sessions
  baton vault sync --project .         those of this directory's project";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = VaultSyncParams { project: args.project.as_deref().map(project) };
    let progress = Progress::new();
    let result = ask(environment, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::VAULT_SYNC, &params, |update| progress.show(&update))
    });
    progress.end();
    let result = result?;
    let done: VaultSync = parse_result(&result)?;
    let output = Output::new();
    match args.json {
        true => output.json(&result),
        false => {
            output.line(&print::plain(&done.message));
            if !done.failed.is_empty() {
                print::note(&format!("failed: {}", print::one_line(&done.failed.join(", "), 400)));
            }
        }
    }
    Ok(if done.status == "success" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
