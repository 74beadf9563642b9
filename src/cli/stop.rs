//! `baton stop`: stops the daemon.

use std::process::ExitCode;

use super::Error;
use crate::client::{self, Client};
use crate::environment::Environment;
use crate::print::{Output, Waiting};

const HELP: &str = "\
Lets sessions finish what they have begun, for some seconds; the rest is done after the next start. Returns when the \
process has exited. The next command that needs a daemon starts a new one. If none was running that is not a failure.

JSON: {\"stopped\":true|false,\"pid\"}

Examples:
  baton stop                           before a backup, or so that changed variables take effect
  baton stop && baton daemon           restart it";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    // Waits for a process that holds the home: "none was running" must be true.
    let client = Client::connect_to_holder(environment, client::GREET)?;
    let pid = client.as_ref().map(|client| client.welcome().pid);
    if let Some(client) = client {
        let _waiting = Waiting::new("sessions are finishing their work");
        client.stop(environment)?;
    }
    let output = Output::new();
    match (args.json, pid) {
        (true, pid) => output.data(&serde_json::json!({ "stopped": pid.is_some(), "pid": pid }).to_string()),
        (false, Some(pid)) => output.line(&format!("The daemon (process {pid}) has stopped.")),
        (false, None) => output.line("No daemon was running."),
    }
    Ok(ExitCode::SUCCESS)
}
