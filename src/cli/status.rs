//! `baton status`: the state of daemon, log and memory.

use std::collections::BTreeMap;
use std::process::ExitCode;

use baton_protocol::answer::{Enrichment, Status};
use baton_protocol::method;

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Output, Style};

const HELP: &str = "\
Prints one fact per line: the daemon's process and version, the home, the directories with transcripts (root), counts \
of sessions by state, what is still to be read, the size of log and memory, hooks, and what is switched on: vectors, a \
model, notes (vault). Problems follow, each with what to do. `baton doctor` also checks the agents' settings.

Examples:
  baton status                         is everything read, and is anything wrong?
  baton status --json | jq .problems   the problems only";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let result = super::ask(environment, |client| client.call_raw(method::STATUS, &(), |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let status: Status = super::parse_result(&result)?;
    let fact = |name: &str, value: String| {
        output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:9}")), print::plain(&value)));
    };
    fact("daemon", format!("process {}, version {}, since {}", status.pid, status.version, status.started_at));
    fact("home", status.home.clone());
    for root in &status.roots {
        let how = if root.exists { root.watched_by.as_str() } else { "not there" };
        let by = match root.named_by.as_str() {
            "default" | "" => String::new(),
            by => format!(", named by {by}"),
        };
        fact("root", format!("{} ({how}{by})", root.path));
    }
    if let Some(note) = &status.note {
        fact("tracking", note.clone());
    }
    let states = counts_by_state(&status.sessions);
    let backlog = &status.backlog;
    let is_early = status.looking || backlog.pending > 0;
    fact(
        "sessions",
        match states.is_empty() {
            true if is_early => "none read yet".to_owned(),
            true => "none".to_owned(),
            false => states,
        },
    );
    if !status.subagents.is_empty() {
        fact("subagents", counts_by_state(&status.subagents));
    }
    if let Some(count) = status.older_filter.filter(|count| *count > 0) {
        fact("filter", older_filter(count));
    }
    if let Some(count) = status.untyped.filter(|count| *count > 0) {
        let what =
            "stored by an earlier version without what their tools report; read again while the transcripts exist";
        fact("untyped", format!("{count} sessions {what}"));
    }
    if let Some(redacting) = &status.redacting {
        let (done, total, changed) = (redacting.done, redacting.total, redacting.changed);
        fact(
            "redacting",
            format!("{done} of {total} stored sessions checked by the rules of this version, {changed} changed"),
        );
    }
    if let Some(count) = status.hidden.filter(|count| *count > 0) {
        fact("deleted", format!("{count} deleted or cleared; `baton forget --undo` shows them again"));
    }
    fact(
        "files",
        match status.looking {
            true => "still looking for transcripts".to_owned(),
            false => format!("{} transcripts, {} still to read", status.transcripts, backlog.pending),
        },
    );
    if backlog.pending > 0 {
        let (done, total) = (backlog.done, backlog.done + backlog.pending);
        let (read, bytes) = (megabytes(backlog.bytes_done), megabytes(backlog.bytes_done + backlog.bytes_pending));
        let rate = backlog.sessions_per_second.map_or(String::new(), |rate| format!(", {rate:.0} a second"));
        let since = backlog.since.as_deref().map_or(String::new(), |since| format!(", since {since}"));
        fact("reading", format!("{done} of {total} sessions, {read} of {bytes} MB{rate}{since}"));
    }
    let log = &status.log;
    fact(
        "log",
        format!(
            "{} in {}, {} KB",
            print::counted(log.position, "event"),
            print::counted(log.segments, "segment"),
            log.bytes.div_ceil(1024)
        ),
    );
    let memory = &status.memory;
    fact("memory", format!("{} turns and episodes, {} events behind the log", memory.documents, memory.lag));
    let vectors = &status.vectors;
    if let Some(model) = &vectors.model {
        let of = if vectors.pending == 0 { String::new() } else { format!(" of {}", vectors.done + vectors.pending) };
        fact("vectors", format!("{} by {model}, {}{of} texts", vectors.state, vectors.done));
    }
    if let Some(line) = enrichment(&status.enrichment) {
        fact("model", line);
    }
    if let Some(vault) = &status.vault {
        let waiting = if vault.pending > 0 { format!(", {} waiting", vault.pending) } else { String::new() };
        fact("vault", format!("{}: {} notes in {}/{}{waiting}", vault.state, vault.notes, vault.path, vault.root));
    }
    if let Some(storage) = &status.storage {
        let parts = [
            ("segments", storage.segments),
            ("index", storage.sled),
            ("conversations", storage.chunks),
            ("memory", storage.memory),
        ];
        let parts = parts.map(|(name, part)| match part.live_bytes {
            Some(live) if live < part.bytes => {
                format!("{name} {} ({} needed)", print::size(part.bytes), print::size(live))
            }
            _ => format!("{name} {}", print::size(part.bytes)),
        });
        let aside = match storage.aside.bytes {
            0 => String::new(),
            bytes => format!(", cut off or put aside {}", print::size(bytes)),
        };
        fact("disk", format!("{}{aside}", parts.join(", ")));
    }
    let hooks = &status.hooks;
    let ignored: u64 = hooks.ignored.values().sum();
    let counted = [(ignored, "ignored"), (hooks.spooled, "waiting"), (hooks.dropped, "lost")];
    let counts = counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    fact(
        "hooks",
        match (&hooks.last_at, hooks.enabled) {
            (_, false) => "switched off in config.json".to_owned(),
            (Some(at), true) if hooks.calls == 0 => {
                format!("none counted, the last recorded at {at}{}", counts.collect::<String>())
            }
            (Some(at), true) => format!("{} calls, the last at {at}{}", hooks.calls, counts.collect::<String>()),
            (None, true) => format!("none has run yet{}", counts.collect::<String>()),
        },
    );
    for problem in &status.problems {
        output.line("");
        output.line(&output.styled(Style::Bad, &print::plain(&problem.what)));
        output.line(&format!("  {}", print::plain(&problem.fix)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The enriching model, its progress and today's cost. `None` if no model is enabled or ever was.
fn enrichment(enrichment: &Enrichment) -> Option<String> {
    let counts = [
        (enrichment.owed, "owed"),
        (enrichment.under_way, "under way"),
        (enrichment.over_budget, "over budget"),
        (enrichment.given_up, "given up"),
    ];
    let mut text: String =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
    if enrichment.unknown_calls > 0 {
        text.push_str(&format!(", {} of unknown cost", print::counted(enrichment.unknown_calls, "call")));
    }
    let enriched = format!("{} enriched", print::counted(enrichment.enriched, "session"));
    let Some(model) = &enrichment.model else {
        return (enrichment.enriched > 0 || !text.is_empty()).then(|| format!("off, {enriched}{text}"));
    };
    let of = enrichment.daily_budget_usd.map_or(String::new(), |budget| format!(" of ${budget:.2}"));
    let (state, spent) = (&enrichment.state, enrichment.spent_today_usd);
    Some(format!("{state}, {model}, {enriched}{text}, ${spent:.2}{of} spent today"))
}

/// Counts by state: `3 active, 120 indexed`.
fn counts_by_state(states: &BTreeMap<String, u64>) -> String {
    let states: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    states.join(", ")
}

/// Counts the sessions stored by an older filter, and says what to do about them.
fn older_filter(count: u64) -> String {
    let (sessions, them) =
        if count == 1 { ("1 session was".to_owned(), "it") } else { (format!("{count} sessions were"), "them") };
    format!("{sessions} made by an older filter; `baton reindex` rebuilds {them}")
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_shown_if_one_is_or_was_enabled() {
        assert_eq!(enrichment(&Enrichment::default()), None);
        let was = Enrichment { enriched: 3, unknown_calls: 1, ..Enrichment::default() };
        assert_eq!(enrichment(&was).as_deref(), Some("off, 3 sessions enriched, 1 call of unknown cost"));
        let is = Enrichment {
            state: "waiting".to_owned(),
            model: Some("m".to_owned()),
            owed: 7,
            over_budget: 2,
            spent_today_usd: 4.999,
            daily_budget_usd: Some(5.0),
            ..was
        };
        let told = "waiting, m, 3 sessions enriched, 7 owed, 2 over budget, 1 call of unknown cost, $5.00 of $5.00 spent today";
        assert_eq!(enrichment(&is).as_deref(), Some(told));
    }
}
