//! `baton update`: tells whether there is a newer version.

use std::process::ExitCode;

use baton_protocol::answer::Update;
use baton_protocol::{UpdateParams, method};

use super::{Error, ask, parse_result};
use crate::environment::Environment;
use crate::print::{self, Output};

const HELP: &str = "\
Asks the address of `update.url` for the newest version, checks the signature of the answer and compares it with this \
program. Nothing is downloaded or changed: update with what installed it (apt, dnf, brew, scoop, winget, npm, pip, cargo). \
The next command replaces the running daemon by the new one, and nothing that was recorded is lost.

The request carries no id, no version and nothing of yours. It is made only by this command, and once a day by the daemon \
if `update.check` is on, which it is not by default; `baton status` then tells of a newer version.

JSON: {\"version\",\"newest\",\"newer\",\"notes\"}

Examples:
  baton update           is there a newer version?
  baton update --json    the same for a program";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = UpdateParams { version: env!("CARGO_PKG_VERSION").to_owned() };
    let result = ask(environment, |client| client.call_raw(method::UPDATE, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let Update { version, newest, newer, notes } = parse_result(&result)?;
    let notes = notes.map_or(String::new(), |notes| format!(": {notes}"));
    output.line(&print::plain(&match newer {
        true => format!(
            "Version {newest} is available, this is {version}{notes}\nUpdate with what installed it; your data stays."
        ),
        false if newest == version => format!("Version {version} is the newest."),
        false => format!("This is version {version}; the newest that is announced is {newest}."),
    }));
    Ok(ExitCode::SUCCESS)
}
