//! `baton vault compact`: moves the knowledge of long or old notes into the notes of entities.

use std::process::ExitCode;

use baton_protocol::answer::{VaultCompact, VaultCompacted};
use baton_protocol::{VaultCompactParams, method};

use super::super::{Error, ask, parse_result, session};
use super::SILENT;
use crate::environment::Environment;
use crate::print::{self, Output, Progress, Style};

const HELP: &str = "\
A note is compacted when it has `vault.compact_lines` lines (500) or is `vault.compact_days` days old (3), whichever \
comes first: its decisions, gotchas, patterns, preferences and references go as dated lines into the notes of \
entities, it is copied to archive/sessions/ and read back, and stays where it is, marked as archived. The daemon does \
this at the end of each session and once a day. With a SESSION its note is compacted whatever its size. Nothing is \
deleted.

JSON: \
{\"status\",\"dry_run\",\"notes\":[{\"session_id\",\"note\",\"archive\",\"lines\",\"days\",\"reason\",\"updated\":[{\"note\",\"lines\"}],\
\"error\",\"duration_ms\"}],\"below\",\"message\"}

Examples:
  baton vault compact --dry-run        what is over a threshold, and where it would go
  baton vault compact a94e0d17         one note now";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// An id, or the beginning of one; without it every note that is over a threshold
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Only count; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = VaultCompactParams { session: args.session.as_deref().map(session), dry_run: args.dry_run };
    let progress = Progress::new();
    let result = ask(environment, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::VAULT_COMPACT, &params, |update| progress.show(&update))
    });
    progress.end();
    let result = result?;
    let done: VaultCompact = parse_result(&result)?;
    let output = Output::new();
    match args.json {
        true => output.json(&result),
        false => {
            done.notes.iter().for_each(|note| report(&output, note, done.dry_run));
            output.line(&print::plain(&done.message));
        }
    }
    Ok(if done.status == "success" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(output: &Output, note: &VaultCompacted, dry_run: bool) {
    output.line(&output.styled(Style::Strong, &print::plain(&note.note)));
    let why = match note.reason.as_str() {
        "asked" => "over no threshold, but asked for".to_owned(),
        reason => format!("over the threshold of {}", reason.replace(" and ", " and that of ")),
    };
    let (lines, days) = (print::counted(note.lines, "line"), print::counted(note.days, "day"));
    output.line(&print::plain(&format!("  {lines}, {days} old: {why}")));
    for updated in &note.updated {
        let noun = if updated.lines == 1 { "line" } else { "lines" };
        output.line(&print::plain(&format!("  {:4} {noun} to {}", updated.lines, updated.note)));
    }
    match (&note.error, dry_run) {
        (Some(error), _) => output.line(&output.styled(Style::Bad, &print::plain(&format!("  {error}")))),
        (None, true) => {}
        (None, false) => {
            output.line(&print::plain(&format!("  archived as {} in {} ms", note.archive, note.duration_ms)));
        }
    }
}
