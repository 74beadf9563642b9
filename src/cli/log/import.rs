//! `baton log import`: builds a home from a file that `baton log export` wrote.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_base::durable;
use baton_base::lock::HomeLock;
use baton_upkeep::archive;
use serde_json::json;

use super::super::Error;
use crate::client::Client;
use crate::environment::Environment;
use crate::print::{self, Output, Progress};

const HELP: &str = "\
Builds a home from a whole export: the same events at the same positions, the same chain and states, and every \
conversation. Everything is checked against the hashes in the file and read back; if anything is wrong, the home stays \
empty. The first daemon builds the searchable memory.

The home must have no events, and no daemon may run in it: set BATON_HOME to a new folder. Directories named by \
clients of the other home are not read in this one, and sessions whose transcripts are in no directory that is read \
here stay as imported: searches find them, but they are never read, closed or indexed.

Examples:
  BATON_HOME=~/copy baton log import home.jsonl
  ssh there baton log export | BATON_HOME=~/copy baton log import -";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The export; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let unreadable = |error: io::Error| Error::File {
        path: args.file.display().to_string(),
        reason: format!("{error}; `baton log export -o FILE` writes one"),
    };
    let mut input: Box<dyn BufRead> = match args.file == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(&args.file).map_err(unreadable)?)),
    };
    durable::create_private_folder(&environment.home)
        .map_err(|source| Error::Output { path: environment.home.clone(), source })?;
    if Client::connect(environment)?.is_some() {
        return Err(Error::Usage(format!(
            "a daemon is running in {}; run `baton stop` first, or set BATON_HOME to a new folder",
            environment.home.display()
        )));
    }
    let lock = HomeLock::acquire(&environment.home).map_err(Error::Lock)?;
    let progress = Progress::new();
    let built = archive::import(&environment.home, &mut *input, &mut |update| progress.show(update));
    progress.end();
    drop(lock);
    let built = built?;
    let output = Output::new();
    if args.json {
        output.line(
            &json!({
                "position": built.tail.position.0,
                "chain": built.tail.chain.to_string(),
                "sessions": built.sessions,
                "conversations": built.conversations,
                "items": built.items,
                "missing": built.missing,
                "unknown": built.unknown,
            })
            .to_string(),
        );
    } else {
        output.line(&print::plain(&format!(
            "{} of {}, {} with {}: all in {}",
            print::counted(built.tail.position.0, "event"),
            print::counted(built.sessions, "session"),
            print::counted(built.conversations, "conversation"),
            print::counted(built.items, "item"),
            environment.home.display()
        )));
    }
    if built.missing > 0 {
        print::note(&format!("{} conversations or notes were already missing in the file", built.missing));
    }
    if built.unknown > 0 {
        print::note(&format!("{} lines of kinds that this version does not know were skipped", built.unknown));
    }
    Ok(ExitCode::SUCCESS)
}
