//! `baton sync`: indexes or counts a range of history.

use std::process::ExitCode;

use baton_protocol::answer::Sync;
use baton_protocol::{SyncParams, method};

use super::Error;
use crate::client::Client;
use crate::environment::Environment;
use crate::print::{self, Output, Progress};

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: std::time::Duration = std::time::Duration::from_secs(120);

const HELP: &str = "\
Reads the transcripts in the range now and indexes what is new, with progress. A search does that by itself; use this \
after a long pause, or to see what indexing and enriching would cost.

JSON: \
{\"sessions\",\"would_index\",\"indexed\",\"subagents\",\"tokens_raw\",\"tokens_filtered\",\"would_enrich\",\"enrich_model\",\
\"enrich_cost_estimate\",\"failures\",\"failed\":[…],\"note\"}.

Examples:
  baton sync                           everything that is not indexed yet
  baton sync --days 7 --dry-run        only count, the sessions of the last week
  baton sync --project . --max-sessions 20";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only sessions with activity in the last N days [default: all]
    #[arg(long, value_name = "N", value_parser = super::number::<u32, 1, 36_500>)]
    days: Option<u32>,
    /// At most N sessions, the newest [default: all]
    #[arg(long, value_name = "N", value_parser = super::number::<u32, 1, { u32::MAX as u64 }>)]
    max_sessions: Option<u32>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Only count; index nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = SyncParams {
        project: args.project.as_deref().map(super::project),
        days: args.days,
        max_sessions: args.max_sessions,
        dry_run: args.dry_run,
    };
    let mut client = Client::connect_or_start(environment)?;
    client.set_answer_timeout(SILENT);
    let progress = Progress::new();
    let result = client.call_raw(method::SYNC, &params, |update| progress.show(&update));
    progress.end();
    let result = result?;
    let output = Output::new();
    let done: Sync = super::parse_result(&result)?;
    if args.json {
        output.json(&result);
    } else {
        report(&output, &done, args.dry_run);
        done.note.iter().for_each(|note| print::note(&print::plain(note)));
    }
    Ok(if done.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(output: &Output, done: &Sync, dry_run: bool) {
    let range = sessions(done.sessions);
    let (count, verb) = if dry_run { (done.would_index, "to index") } else { (done.indexed, "indexed") };
    let with = match done.subagents {
        0 => String::new(),
        subagents => format!(", and {} of subagents with them", sessions(subagents)),
    };
    output.line(&match (count, done.subagents, done.failures) {
        (0, 0, 0) => format!("{range} in the range; everything is indexed."),
        _ => format!("{range} in the range, {count} {verb}{with}."),
    });
    if done.tokens_raw > 0 {
        let less = 100.0 - done.tokens_filtered as f64 * 100.0 / done.tokens_raw as f64;
        output.line(&format!(
            "About {} tokens of transcript, {} of them kept ({less:.0} % less).",
            number(done.tokens_raw),
            number(done.tokens_filtered),
        ));
    }
    if let Some(cost) = enriching(done) {
        output.line(&cost);
    } else if done.tokens_raw > 0 {
        output.line("Indexing costs nothing.");
    }
    if dry_run && count + done.subagents > 0 {
        print::note("\nNothing was indexed. `baton sync` without --dry-run does it.");
    }
    if done.failures > 0 {
        let names = print::one_line(&done.failed.join(", "), 400);
        let failures = sessions(done.failures);
        print::note(&format!("\n{failures} could not be read or stored: {names}. `baton status` says why."));
    }
}

/// Estimates what enriching the sessions that are not yet enriched would cost.
fn enriching(done: &Sync) -> Option<String> {
    let (count, model) = (sessions(done.would_enrich), print::plain(&done.enrich_model));
    let cost = match done.enrich_cost_estimate {
        Some(0.0) => "costs nothing either: it runs on this machine, and no price is set for it".to_owned(),
        // Small amounts get four decimals.
        Some(usd) if usd < 0.1 => format!("would cost ${usd:.4} at most (`baton enrich --all --max-usd N`)"),
        Some(usd) => format!("would cost ${usd:.2} at most (`baton enrich --all --max-usd N`)"),
        None => "has an unknown cost: set llm.prices in config.json".to_owned(),
    };
    (done.would_enrich > 0).then(|| format!("Indexing costs nothing. Enriching {count} with {model} {cost}."))
}

fn sessions(count: u64) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{} sessions", number(count)) }
}

/// Formats a number with thousands separators.
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (value, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(value), shown);
        }
        assert_eq!((sessions(1), sessions(2_000)), ("1 session".to_owned(), "2,000 sessions".to_owned()));
    }
}
