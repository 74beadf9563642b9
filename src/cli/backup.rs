//! `baton backup`: everything that was recorded, in one file that `baton log import` restores.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use baton_redaction::redact;
use baton_upkeep::archive::ExportRequest;
use serde_json::json;

use super::Error;
use super::log::export::{Written, write};
use crate::environment::Environment;
use crate::print::{self, Output};

const HELP: &str = "\
Writes events, conversations, notes and what is known of forgotten sessions, every byte as it is stored, as of one \
position of the log. A running daemon keeps working meanwhile; without one the home is read directly. FILE is readable \
by you alone and is replaced in one step, only when all of it could be read: an earlier backup is never replaced by \
less.

Not in it: the search index, which is rebuilt; vectors; `config.json`; Markdown files of a vault; `relay/` with its \
keys. It holds your conversations as they are stored: keep it where only you can read it. To share a log, use `baton \
log export`, which redacts once more. Sessions that you forget later stay in older backups.

JSON: {\"file\",\"bytes\",\"position\",\"chain\",\"events\",\"conversations\",\"items\",\"seconds\"}

Examples:
  baton backup ~/backup/baton.jsonl                         while the daemon runs
  BATON_HOME=~/restored baton log import ~/backup/baton.jsonl
  ssh there baton backup - | zstd > there.jsonl.zst         `-` writes to standard output";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The file to write; `-` is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let begun = Instant::now();
    let is_piped = args.file.as_os_str() == "-";
    if is_piped && args.json {
        return Err(Error::Usage("--json needs standard output for itself: name a file".to_owned()));
    }
    let everything = ExportRequest { session: None, since: None, until: None, conversations: true, unredacted: true };
    let output = Some(args.file.as_path()).filter(|_| !is_piped);
    let Some(Written { destination, exported, broken }) = write(environment, &everything, output)? else {
        return Err(Error::Output { path: args.file.clone(), source: std::io::ErrorKind::BrokenPipe.into() });
    };
    let lost = || exported.lost.first().map_or("something could not be read", String::as_str);
    if let Some(why) = broken.as_deref().or_else(|| (exported.missing > 0 || !exported.whole).then(lost)) {
        // What was written to a pipe has no end to be mistaken for a whole one: the exit code tells.
        return Err(Error::Backup(redact(&format!(
            "no backup was written, because it would not be whole: {why}; `baton log verify` shows what is damaged, and \
             `baton log export --unredacted -o FILE` writes what can be read"
        )).into_owned()));
    }
    destination.finish()?;
    let bytes = output.and_then(|path| path.metadata().ok()).filter(|file| file.is_file()).map(|file| file.len());
    if args.json {
        Output::new().data(
            &json!({
                "file": args.file, "bytes": bytes, "position": exported.tail.position.0,
                "chain": exported.tail.chain.to_string(), "events": exported.records,
                "conversations": exported.conversations, "items": exported.items,
                "seconds": (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            })
            .to_string(),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let size = bytes.map_or(String::new(), |bytes| format!(", {}", print::size(bytes)));
    print::note(&print::plain(&format!(
        "{} and {} up to position {} written to {}{size}; `baton log import` restores them into a new home",
        print::counted(exported.records, "event"),
        print::counted(exported.conversations, "conversation"),
        exported.tail.position,
        if is_piped { "standard output".to_owned() } else { args.file.display().to_string() },
    )));
    Ok(ExitCode::SUCCESS)
}
