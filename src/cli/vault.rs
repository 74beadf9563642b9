//! `baton vault`: notes for people, in an Obsidian vault or a plain folder.

mod compact;
mod open;
mod status;
mod sync;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;

use super::Error;
use crate::environment::Environment;

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show where the notes are, how many there are, what is waiting and what failed
    Status(status::Args),
    /// Write every finished session into its note now
    Sync(sync::Args),
    /// Move the knowledge of long or old notes into the notes of entities, and archive them
    Compact(compact::Args),
    /// Check links, frontmatter and markers of every note, without changing any
    Verify(verify::Args),
    /// Open the vault in Obsidian, or its folder
    Open(open::Args),
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    match &args.action {
        Action::Status(args) => status::run(environment, args),
        Action::Sync(args) => sync::run(environment, args),
        Action::Compact(args) => compact::run(environment, args),
        Action::Verify(args) => verify::run(environment, args),
        Action::Open(args) => open::run(environment, args),
    }
}
