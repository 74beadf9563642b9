//! The command line: what may be typed, one file per command.

mod bench;
mod close;
mod daemon;
mod search;
mod sessions;
mod show;
mod status;
mod stop;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::client;
use crate::environment::{self, Environment};

/// Session memory for coding agents: every session becomes one episode, found in milliseconds.
///
/// Baton reads the transcripts that Claude Code writes, notices when a session is over, and keeps what was asked, done,
/// broken and mended, searchable and offline. The first command starts a daemon; `baton stop` ends it.
#[derive(Debug, Parser)]
#[command(name = "baton", version, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  baton search refresh token race      what was found out about it, in any project
  baton search E0382 --project .       in this directory's project only
  baton sessions --state active        which sessions are open
  baton show 7acd37a8                  what a session came to
  baton close --reason \"story done\"    close the open session of this directory

Environment:
  BATON_HOME         Baton's own files [default: ~/.baton]
  CLAUDE_CONFIG_DIR  Claude Code's directory; transcripts lie below projects/ [default: ~/.claude]
  BATON_LOG          what goes to daemon.log, as in `info,baton_actors=debug`
  NO_COLOR           no colours";

#[derive(Debug, Subcommand)]
enum Command {
    /// Search everything that was said and done; new sessions are read first
    Search(search::Typed),
    /// List sessions and their states
    Sessions(sessions::Typed),
    /// Show one session and its episode
    Show(show::Typed),
    /// Close a session now and index it
    Close(close::Typed),
    /// Show how the daemon, the log and the memory are
    Status(status::Typed),
    /// Start the daemon (other commands do it by themselves)
    Daemon(daemon::Typed),
    /// Stop the daemon; returns when its process is gone
    Stop(stop::Typed),
    /// Measure how fast Baton is on this machine
    Bench(bench::Typed),
}

/// Why a command failed: what happened, to what, what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The surroundings.
    #[error(transparent)]
    Environment(#[from] environment::Error),
    /// The daemon or the way to it.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The daemon itself.
    #[error(transparent)]
    Daemon(#[from] crate::daemon::Error),
    /// A measurement.
    #[error(transparent)]
    Bench(#[from] crate::bench::Error),
}

/// Does what was typed.
pub fn run(typed: Cli) -> Result<ExitCode, Error> {
    let environment = Environment::read()?;
    match typed.command {
        Command::Search(typed) => search::run(&environment, &typed),
        Command::Sessions(typed) => sessions::run(&environment, &typed),
        Command::Show(typed) => show::run(&environment, &typed),
        Command::Close(typed) => close::run(&environment, &typed),
        Command::Status(typed) => status::run(&environment, &typed),
        Command::Daemon(typed) => daemon::run(&environment, &typed),
        Command::Stop(typed) => stop::run(&environment, &typed),
        Command::Bench(typed) => bench::run(&typed),
    }
}

/// A project as the daemon takes it: a directory becomes an absolute path, a name stays one.
fn project(typed: &str) -> String {
    let path = std::path::Path::new(typed);
    let looks_like_path = typed.contains(['/', '\\']) || matches!(typed, "." | "..");
    match path.canonicalize() {
        Ok(absolute) if looks_like_path && absolute.is_dir() => absolute.display().to_string(),
        _ => typed.to_owned(),
    }
}
