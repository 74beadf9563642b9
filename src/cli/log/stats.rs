//! `baton log stats`: how much is recorded, with the hashes over it.

use std::process::ExitCode;

use baton_protocol::answer::LogStats;
use baton_protocol::method;
use baton_redaction::redact;
use baton_upkeep::archive;

use super::super::Error;
use super::{LogAccess, open_log};
use crate::environment::Environment;
use crate::print::{self, Output, Style, Waiting};

const HELP: &str = "\
Shows the position of the last event, the chain hash over all events, and the hash of the state of all sessions, which \
depends only on the events: `baton replay` of an export ends with the same. Then the disk usage. A running daemon is \
asked; if none runs, the log is read from its segments, as far as it can be read if it is damaged.

Examples:
  baton log stats                      how much is recorded
  baton log stats --json | jq -r .state_hash";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let (stats, broken) = match open_log(environment)? {
        LogAccess::Daemon(mut client) => (client.call(method::LOG_STATS, &(), |_| {})?, false),
        LogAccess::Home(_lock) => {
            let _waiting = Waiting::new("reading the log");
            let (mut stats, broken) = archive::read_stats(&environment.home);
            stats.problem = stats.problem.map(|problem| redact(&problem).into_owned());
            (stats, broken.is_some())
        }
    };
    let output = Output::new();
    match args.json {
        true => output.data(&serde_json::to_string(&stats).unwrap_or_default()),
        false => report(&output, &stats),
    }
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(output: &Output, stats: &LogStats) {
    let fact = |name: &str, value: String| {
        output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:13}")), print::plain(&value)));
    };
    fact("position", stats.position.to_string());
    fact("chain", stats.chain.clone());
    fact("state hash", stats.state_hash.clone());
    let unreadable = match stats.unreadable {
        0 => String::new(),
        count => format!(", {count} that this version cannot read"),
    };
    fact("events", format!("{}, of {} sessions with subagents'{unreadable}", stats.events, stats.sessions));
    fact("segments", format!("{}, {}", stats.segments, kilobytes(stats.bytes)));
    fact("index", kilobytes(stats.disk.index));
    if stats.disk.aside > 0 {
        fact("put aside", kilobytes(stats.disk.aside));
    }
    fact("conversations", kilobytes(stats.disk.conversations));
    fact("memory", kilobytes(stats.disk.memory));
    fact("whole home", kilobytes(stats.disk.total));
    if let Some(problem) = &stats.problem {
        output.line("");
        output.line(&output.styled(Style::Bad, &print::plain(problem)));
    }
}

fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes.div_ceil(1024))
}
