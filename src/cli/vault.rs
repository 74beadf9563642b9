//! `baton vault`: notes for people, in an Obsidian vault or a plain folder.

mod compact;
mod open;
mod status;
mod sync;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Error;
use crate::environment::Environment;

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(super) struct Typed {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show where the notes lie, how many there are, what waits and what failed
    Status(status::Typed),
    /// Bring every session that is over into its note now
    Sync(sync::Typed),
    /// Move what long or old notes know into the notes of entities, and archive them
    Compact(compact::Typed),
    /// Read every note and check links, heads and markers; nothing is changed
    Verify(verify::Typed),
    /// Open the vault in Obsidian, or its folder
    Open(open::Typed),
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    match &typed.action {
        Action::Status(typed) => status::run(environment, typed),
        Action::Sync(typed) => sync::run(environment, typed),
        Action::Compact(typed) => compact::run(environment, typed),
        Action::Verify(typed) => verify::run(environment, typed),
        Action::Open(typed) => open::run(environment, typed),
    }
}
