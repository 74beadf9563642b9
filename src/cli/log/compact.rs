//! `baton log compact`: frees disk space that nothing needs.

use std::process::ExitCode;

use baton_protocol::answer::Compact;
use baton_protocol::method;

use super::super::{Error, ask};
use crate::environment::Environment;
use crate::print::{self, Output, Progress};

const HELP: &str = "\
Removes the files of conversations that were replaced or left behind by a crash, and rewrites the index of the log, \
which grows beyond its contents. No event, episode or search result is lost or changed. The daemon keeps working \
meanwhile, and does this by itself when the index has grown to three times its contents.

JSON: \
{\"position\",\"state_hash\",\"freed_bytes\",\"index\":{\"events\",\"bytes_before\",\"bytes_after\",\"pause_ms\"},\
\"conversations\":{\"sessions\",\"files\",\"bytes\",\"busy\",\"unreadable\"},\"seconds\"}

Examples:
  baton log compact                    free what is not needed
  baton status                         how much space everything takes, and how much is needed";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if !environment.home.is_dir() {
        return Err(Error::NoHome { home: environment.home.clone() });
    }
    let progress = Progress::new();
    // Idempotent, so it may be repeated.
    let compacted =
        ask(environment, |client| client.call_raw(method::LOG_COMPACT, &(), |update| progress.show(&update)));
    progress.end();
    let compacted = compacted?;
    let output = Output::new();
    if args.json {
        output.json(&compacted);
        return Ok(ExitCode::SUCCESS);
    }
    let Compact { freed_bytes, index, conversations, .. } = super::super::parse_result(&compacted)?;
    match freed_bytes {
        0 => output.line("Nothing to free."),
        freed => output.line(&format!("{} freed.", print::size(freed))),
    }
    output.line(&format!(
        "The index of {} events takes {}, and took {}.",
        index.events,
        print::size(index.bytes_after),
        print::size(index.bytes_before)
    ));
    let busy = match conversations.busy {
        0 => String::new(),
        busy => format!("; {busy} are being indexed and were left alone"),
    };
    output.line(&format!(
        "{} files of {} sessions' conversations were not needed ({}){busy}.",
        conversations.files,
        conversations.sessions,
        print::size(conversations.bytes)
    ));
    if conversations.unreadable > 0 {
        output.line(&format!(
            "No conversation was removed: {} events of the log were written by a newer version, and may name it.",
            conversations.unreadable
        ));
    }
    Ok(ExitCode::SUCCESS)
}
