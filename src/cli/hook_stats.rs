//! `baton hook-stats`: how fast hooks are answered, and which were not.

use std::path::Path;
use std::process::ExitCode;

use baton_base::transcript_file;
use baton_protocol::answer::{HookEventStats, HookStats};
use baton_protocol::{SPOOL, method};

use super::Error;
use super::sessions::{ago, now};
use crate::client::Client;
use crate::environment::Environment;
use crate::print::{self, Cell, Column, Output, Style, Table};

/// The daemon's counters, read if no daemon runs.
const FILE: &str = "hook_stats.json";
/// Most bytes of it that are read.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

const HELP: &str = "\
Shows for each event how many hooks reported it, how long they took from their start to the daemon's answer (the last \
1,000), how many failed and came through the spool, and when the last one ran. Calls that were ignored and signals \
that wait in the spool or were lost follow, if there are any. Without a daemon it shows what the last one counted.

Failures: absent (no daemon), timeout (no answer in time), refused, garbled (not understood), other_version.

JSON: \
{\"events\":{EVENT:{\"calls\",\"failures\":{WHY:N},\"p50_us\",\"p95_us\",\"p99_us\",\"last_at\"}},\"ignored\":{WHY:N}, \
\"spooled\",\"dropped\",\"unreadable\",\"since\",\"last_recorded_at\"}; times in microseconds.

Examples:
  baton hook-stats
  baton hook-stats --json";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let output = Output::new();
    let stats: HookStats = match Client::connect(environment)? {
        Some(mut client) => {
            let result = client.call_raw(method::HOOK_STATS, &(), |_| {})?;
            if args.json {
                output.json(&result);
                return Ok(ExitCode::SUCCESS);
            }
            super::parse_result(&result)?
        }
        None => kept(&environment.home),
    };
    if args.json {
        let text = serde_json::to_string(&stats).map_err(|error| Error::Usage(error.to_string()))?;
        output.data(&text);
        return Ok(ExitCode::SUCCESS);
    }
    match stats.events.is_empty() {
        true => output.line("No hook has run yet. `baton install` registers them, `baton doctor` checks them."),
        false => table(&stats).lines(&output).iter().for_each(|line| output.line(line)),
    }
    notes(&stats).iter().for_each(|note| print::note(&print::plain(note)));
    Ok(ExitCode::SUCCESS)
}

/// The last daemon's counters, and the number of signals waiting in the spool.
fn kept(home: &Path) -> HookStats {
    let text = transcript_file::read(&home.join(FILE), FILE_BYTES).unwrap_or_default();
    let counted: HookStats = serde_json::from_slice(&text).unwrap_or_default();
    let is_signal = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|ending| ending == "json");
    let waiting = std::fs::read_dir(home.join(SPOOL)).map_or(0, |files| files.flatten().filter(is_signal).count());
    HookStats { spooled: waiting as u64, ..counted }
}

fn table(stats: &HookStats) -> Table<7> {
    let mut table = Table::new([
        Column::words("event"),
        Column::number("calls"),
        Column::number("p50 ms"),
        Column::number("p95 ms"),
        Column::number("p99 ms"),
        Column::number("last"),
        Column::words("failures"),
    ]);
    for (name, event) in &stats.events {
        let HookEventStats { calls, failures, p50_us, p95_us, p99_us, last_at } = event;
        let style = if failures.is_empty() { Style::Faint } else { Style::Bad };
        table.row([
            Cell::new(name),
            Cell::new(calls.to_string()),
            Cell::new(milliseconds(*p50_us)),
            Cell::new(milliseconds(*p95_us)),
            Cell::new(milliseconds(*p99_us)),
            Cell::new(last_at.as_deref().map_or_else(|| "-".to_owned(), |at| ago(at, now()))),
            Cell::styled(style, if failures.is_empty() { "-".to_owned() } else { counts(failures) }),
        ]);
    }
    table
}

fn milliseconds(us: Option<u64>) -> String {
    us.map_or_else(|| "-".to_owned(), |us| format!("{}.{}", us / 1000, us % 1000 / 100))
}

fn counts(counts: &std::collections::BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = counts.iter().map(|(why, count)| format!("{why} {count}")).collect();
    counts.join(", ")
}

fn notes(stats: &HookStats) -> Vec<String> {
    let notes = [
        (!stats.ignored.is_empty()).then(|| format!("ignored: {}", counts(&stats.ignored))),
        (stats.spooled > 0).then(|| format!("in the spool: {}; a daemon takes them in", stats.spooled)),
        (stats.dropped > 0).then(|| print::lost_signals(stats.dropped)),
        (stats.unreadable > 0).then(|| print::unreadable_signals(stats.unreadable)),
    ];
    notes.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_without_a_daemon() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(kept(home.path()), HookStats::default());
        let text = r#"{"events":{"Stop":{"calls":3,"failures":{"timeout":2,"absent":1},"p50_us":1234,"p99_us":90100}},
            "dropped":7,"since":"2026-11-21T00:00:00Z","times_us":{"Stop":[1]}}"#;
        std::fs::write(home.path().join(FILE), text).unwrap();
        std::fs::create_dir(home.path().join(SPOOL)).unwrap();
        for name in ["a.json", "b.json", "c.tmp", "dropped"] {
            std::fs::write(home.path().join(SPOOL).join(name), "").unwrap();
        }
        let stats = kept(home.path());
        assert_eq!((stats.spooled, stats.dropped), (2, 7));
        let lines: Vec<String> = table(&stats)
            .lines(&Output::plain(None))
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines[1], "Stop 3 1.2 - 90.1 - absent 1, timeout 2");
        assert_eq!(notes(&stats).len(), 2);
        std::fs::write(home.path().join(FILE), "{oops").unwrap();
        assert_eq!(kept(home.path()).dropped, 0);
    }
}
