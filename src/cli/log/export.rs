//! `baton log export`: the log and the conversations as one file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_conversation::record::Position;
use baton_redaction::redact;
use baton_store::chunks::ChunkStore;
use baton_store::fingerprints::ForgottenSessions;
use baton_upkeep::archive;
use baton_upkeep::archive::{ExportRequest, ExportSummary, Offline};

use super::super::Error;
use super::destination::Destination;
use super::remote::Remote;
use super::{LogAccess, open_log};
use crate::environment::Environment;
use crate::print::{self, Progress};

const HELP: &str = "\
Writes JSON Lines that every later version can read: the events byte for byte, then the conversations of the current \
episodes, and notes. `baton replay FILE` replays it; `baton log import FILE` builds a home from a whole export. FILE \
is replaced in one step when everything is written, and stays as it was if anything fails. A running daemon keeps \
working meanwhile; without one the home is read directly. A damaged log is exported up to the damage, and the command \
then fails with a message.

What looks like a secret by the current rules is redacted, and so is the group of a forgotten session. A redacted \
file, like one made with --session, --since, --until or --no-conversations, can be read and replayed but not imported: \
its first line says \"whole\":false. --unredacted keeps every byte, for a file that stays on this machine.

Examples:
  baton log export -o home.jsonl              everything
  baton log export --session a94e0d17 | less  what was recorded of one session, and its conversation
  baton log export --no-conversations         events alone: ids, paths, hashes, counts, times; no text";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only this session: its id, or the beginning of it
    #[arg(long, short, value_name = "SESSION")]
    session: Option<String>,
    /// Only events from this position on
    #[arg(long, value_name = "POS", value_parser = super::super::number::<u64, 1, { u64::MAX }>)]
    since: Option<u64>,
    /// Only events up to this position
    #[arg(long, value_name = "POS", value_parser = super::super::number::<u64, 1, { u64::MAX }>)]
    until: Option<u64>,
    /// Leave out conversations and notes
    #[arg(long)]
    no_conversations: bool,
    /// Keep every byte, even what looks like a secret, for a file that stays on this machine
    #[arg(long)]
    unredacted: bool,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if let (Some(since), Some(until)) = (args.since, args.until)
        && since > until
    {
        return Err(Error::Usage(format!("--since {since} is after --until {until}")));
    }
    let wanted = ExportRequest {
        session: args.session.as_deref().map(super::super::session),
        since: args.since.map(Position),
        until: args.until.map(Position),
        conversations: !args.no_conversations,
        unredacted: args.unredacted,
    };
    let Some(Written { destination, exported, broken }) = write(environment, &wanted, args.output.as_deref())? else {
        return Ok(ExitCode::SUCCESS);
    };
    destination.finish()?;
    // Damage after the requested range does not make this export fail.
    let broken = broken.filter(|_| args.until.is_none_or(|until| until > exported.tail.position.0));
    Ok(report(args, &exported, broken.as_deref()))
}

/// A written export that is not at its destination yet.
pub(in crate::cli) struct Written {
    pub(in crate::cli) destination: Destination,
    pub(in crate::cli) exported: ExportSummary,
    /// Why the log could be read only in part.
    pub(in crate::cli) broken: Option<String>,
}

/// Writes an export; nothing is replaced yet. Returns `None` if the reader of standard output has gone (`| head`).
pub(in crate::cli) fn write(
    environment: &Environment,
    wanted: &ExportRequest,
    output: Option<&Path>,
) -> Result<Option<Written>, Error> {
    let chunks = ChunkStore::in_folder(environment.home.join("blobs"));
    let remains = ForgottenSessions::open(&environment.home.join("log"));
    let mut destination = Destination::open(output)?;
    let spool = destination.spool().map_err(archive::Error::Spool)?;
    let progress = Progress::new();
    let mut show = |update: &baton_protocol::Progress| progress.show(update);
    let (exported, broken) = match open_log(environment)? {
        LogAccess::Daemon(mut client) => {
            let mut source = Remote(&mut client);
            let out = destination.writer();
            (archive::export(&mut source, &chunks, &remains, wanted, spool, out, &mut show), None)
        }
        LogAccess::Home(_lock) => {
            let mut source = Offline::open(&environment.home)?;
            let out = destination.writer();
            let exported = archive::export(&mut source, &chunks, &remains, wanted, spool, out, &mut show);
            (exported, source.broken().map(str::to_owned))
        }
    };
    progress.end();
    match exported {
        Err(archive::Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe && output.is_none() => Ok(None),
        exported => Ok(Some(Written { destination, exported: exported?, broken })),
    }
}

fn report(args: &Args, exported: &ExportSummary, broken: Option<&str>) -> ExitCode {
    let name = args.output.as_ref().map_or("standard output".to_owned(), |path| path.display().to_string());
    if args.output.is_some() || exported.redacted > 0 {
        let redacted = match exported.redacted {
            0 => String::new(),
            count => format!(
                "; {} redacted, so it can be read and replayed, but not imported",
                print::counted(count, "line")
            ),
        };
        print::note(&print::plain(&format!(
            "{} up to position {}, {} (subagents' too) with {} written to {name}{redacted}",
            print::counted(exported.records, "event"),
            exported.tail.position,
            print::counted(exported.conversations, "conversation"),
            print::counted(exported.items, "item")
        )));
    }
    for lost in &exported.lost {
        print::error(&redact(lost));
    }
    if exported.missing > 0 {
        print::error(&format!(
            "{} conversations or notes could not be read and are marked as missing in the export; if a daemon was writing, run \
             the command again, otherwise `baton log verify` shows what is gone",
            exported.missing
        ));
    }
    if let Some(broken) = broken {
        let import = match exported.whole {
            true => ": `baton log import` builds a new home from it",
            false => "; it cannot be imported, but a whole one made with `--unredacted` can",
        };
        print::error(&format!(
            "{}; the export ends before that and has everything intact that was asked for{import}",
            redact(broken)
        ));
    }
    if exported.missing > 0 || broken.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
