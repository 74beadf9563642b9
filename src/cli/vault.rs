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
    /// Show where the notes are, how many there are, what is waiting and what failed
    Status(status::Typed),
    /// Write every finished session into its note now
    Sync(sync::Typed),
    /// Move the knowledge of long or old notes into the notes of entities, and archive them
    Compact(compact::Typed),
    /// Check links, frontmatter and markers of every note, without changing any
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
