//! `baton log`: inspects and transfers the event log. Asks the daemon if one runs; otherwise reads the home and holds
//! its lock, so that a daemon can start only when the command has ended.

mod compact;
mod destination;
pub(super) mod export;
mod import;
mod remote;
mod repair;
mod stats;
mod tail;
mod verify;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use baton_base::lock::{HomeLock, LockError};
use clap::Subcommand;

use super::Error;
use crate::client::{self, Client};
use crate::environment::Environment;

/// How long to wait for a daemon that holds the home but does not answer yet; it opens its log first.
const STARTING: Duration = Duration::from_secs(30);
/// Interval between two tries.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how much is recorded: position, hashes, bytes
    Stats(stats::Args),
    /// Write the log and the conversations as one file
    Export(export::Args),
    /// Build a new home from a whole export
    Import(import::Args),
    /// Show the last events, and follow new ones
    Tail(tail::Args),
    /// Read and compare everything that is stored, without changing it
    Verify(verify::Args),
    /// Free disk space that nothing needs
    Compact(compact::Args),
    /// Cut a damaged log off after its intact part; what is cut off is kept
    Repair(repair::Args),
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    match &args.action {
        Action::Stats(args) => stats::run(environment, args),
        Action::Export(args) => export::run(environment, args),
        Action::Import(args) => import::run(environment, args),
        Action::Tail(args) => tail::run(environment, args),
        Action::Verify(args) => verify::run(environment, args),
        Action::Compact(args) => compact::run(environment, args),
        Action::Repair(args) => repair::run(environment, args),
    }
}

/// The source that can read the log.
enum LogAccess {
    /// The daemon that has the log open.
    Daemon(Client),
    /// The home's lock: no process opens the log while it is held.
    Home(HomeLock),
}

/// Reaches the log without starting a daemon.
fn open_log(environment: &Environment) -> Result<LogAccess, Error> {
    if !environment.home.is_dir() {
        return Err(Error::NoHome { home: environment.home.clone() });
    }
    let until = Instant::now() + STARTING;
    loop {
        if let Some(client) = Client::connect(environment)? {
            return Ok(LogAccess::Daemon(client));
        }
        match HomeLock::acquire_to_read(&environment.home) {
            Ok(lock) => return Ok(LogAccess::Home(lock)),
            Err(LockError::Held { pid, .. }) if Instant::now() >= until => {
                return Err(client::Error::NotAnswering(pid).into());
            }
            Err(LockError::Held { .. }) => std::thread::sleep(LOOK),
            Err(error) => return Err(Error::Lock(error)),
        }
    }
}
