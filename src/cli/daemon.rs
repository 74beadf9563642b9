//! `baton daemon`: starts the daemon, or runs as the daemon.

use std::process::ExitCode;

use super::Error;
use crate::client::{self, Client};
use crate::daemon::{self, Mode};
use crate::environment::{self, Environment};
use crate::print::Output;

const HELP: &str = "\
Starts the daemon of this BATON_HOME, if none runs, and prints its process id. It keeps running when the terminal is \
closed, until `baton stop`. `baton logs` shows what it does, `baton status` shows its state.

Examples:
  baton daemon                         start it now, so that the next search does not wait for it
  baton daemon --foreground            watch it work; Ctrl-C ends it
  BATON_LOG=debug baton daemon         with a more detailed log";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Stay in this terminal, with the log on standard error, until Ctrl-C
    #[arg(long)]
    foreground: bool,
    /// Be the daemon, on its own
    #[arg(long, hide = true)]
    detached: bool,
    /// Be a daemon that goes with its home and its input
    #[arg(long, hide = true)]
    throwaway: bool,
    /// Be a daemon that goes with its input
    #[arg(long, hide = true)]
    leashed: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let mode = match (args.foreground, args.detached, args.throwaway, args.leashed) {
        (true, ..) => Mode::Foreground,
        (_, true, ..) => Mode::Detached,
        (.., true, _) => Mode::Throwaway,
        (.., true) => Mode::Leashed,
        _ => {
            let client = Client::connect_or_start(environment)?;
            Output::new().line(&format!("The daemon runs: process {}.", client.welcome().pid));
            return Ok(ExitCode::SUCCESS);
        }
    };
    if mode == Mode::Foreground {
        client::check_named_directories(environment)?;
    }
    // A project's settings may have named the directories to the program that starts a detached daemon.
    let environment = match mode {
        Mode::Detached | Mode::Foreground => &environment::for_daemon(environment),
        Mode::Throwaway => &environment.clone().only_named(),
        _ => environment,
    };
    let ran = daemon::run(environment, mode);
    if let (Err(error), Mode::Detached | Mode::Throwaway | Mode::Leashed) = (&ran, mode) {
        // The process that started the daemon waits for this line.
        Output::new().line(&error.to_string());
    }
    ran?;
    Ok(ExitCode::SUCCESS)
}
