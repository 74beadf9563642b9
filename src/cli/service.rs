//! `baton service`: runs the daemon from login on.

use std::process::ExitCode;

use clap::Subcommand;

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Output, Style};
use crate::service::{Done, Service};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the service's definition and start the service
    ///
    /// A systemd user unit, or a launch agent on macOS. It gets BATON_HOME and CLAUDE_CONFIG_DIR if they
    /// are set. It is optional: every command starts a daemon if none runs. With it, sessions that no hook reports are
    /// indexed too.
    #[command(after_long_help = "Examples:\n  baton service install")]
    Install,
    /// Stop the service and remove its definition
    #[command(after_long_help = "Examples:\n  baton service uninstall && baton stop")]
    Uninstall,
    /// Show whether it is installed and running
    #[command(after_long_help = "Examples:\n  baton service status")]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let service = Service::new(environment)?;
    let output = Output::new();
    match args.action {
        Action::Install => print_done(&service.install(environment)?, &output),
        Action::Uninstall => print_done(&service.uninstall()?, &output),
        Action::Status { json } => {
            let status = service.status()?;
            if json {
                let text =
                    serde_json::to_string(&status).map_err(|error| crate::client::Error::Garbled(error.to_string()))?;
                output.data(&text);
                return Ok(ExitCode::SUCCESS);
            }
            let answer = |answer: Option<bool>| match answer {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not known",
            };
            let fact = |name: &str, value: &str| {
                output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:9}")), print::plain(value)));
            };
            let file = status.file.display();
            fact(
                "file",
                &match (status.installed, status.current) {
                    (false, _) => format!("{file}, not installed"),
                    (true, true) => file.to_string(),
                    (true, false) => format!("{file}, outdated: run `baton service install`"),
                },
            );
            fact("at login", answer(status.enabled));
            fact("runs", answer(status.running));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_done(done: &Done, output: &Output) {
    for line in &done.done {
        output.line(&print::plain(line));
    }
    if !done.by_hand.is_empty() {
        output.line("The service manager was not found on the path; run these commands in a shell that has it:");
        done.by_hand.iter().for_each(|line| output.line(&format!("  {}", print::plain(line))));
    }
}
