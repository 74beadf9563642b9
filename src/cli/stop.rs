//! `baton stop`: ends the daemon.

use std::process::ExitCode;

use clap::Args;

use super::Error;
use crate::client::Client;
use crate::environment::Environment;
use crate::print::Output;

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let client = Client::connect(environment)?;
    let pid = client.as_ref().map(|client| client.welcome().pid);
    if let Some(client) = client {
        client.stop(environment)?;
    }
    let output = Output::new();
    match (typed.json, pid) {
        (true, pid) => output.line(&serde_json::json!({ "stopped": pid.is_some(), "pid": pid }).to_string()),
        (false, Some(pid)) => output.line(&format!("The daemon (process {pid}) has stopped.")),
        (false, None) => output.line("No daemon was running."),
    }
    Ok(ExitCode::SUCCESS)
}
