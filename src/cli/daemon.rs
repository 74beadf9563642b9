//! `baton daemon`: starts it, or is it.

use std::process::ExitCode;

use clap::Args;

use super::Error;
use crate::client::Client;
use crate::daemon::{self, Mode};
use crate::environment::Environment;
use crate::print::Output;

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// Stay in this terminal, with the log on standard error, until Ctrl-C
    #[arg(long)]
    foreground: bool,
    /// Be the daemon, on its own
    #[arg(long, hide = true)]
    detached: bool,
    /// Be a daemon that goes with its home and its input
    #[arg(long, hide = true)]
    throwaway: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let mode = match (typed.foreground, typed.detached, typed.throwaway) {
        (true, ..) => Mode::Foreground,
        (_, true, _) => Mode::Detached,
        (.., true) => Mode::Throwaway,
        _ => {
            let client = Client::connect_or_start(environment)?;
            Output::new().line(&format!("The daemon runs: process {}.", client.welcome().pid));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let ran = daemon::run(environment, mode);
    if let (Err(error), Mode::Detached | Mode::Throwaway) = (&ran, mode) {
        // Whoever started it waits for this line.
        Output::new().line(&error.to_string());
    }
    ran?;
    Ok(ExitCode::SUCCESS)
}
