//! `baton timeline`: sessions by day.

use std::collections::BTreeSet;
use std::process::ExitCode;

use baton_ask::query::parse_moment;
use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Timeline, TimelineSession};
use baton_protocol::{Agent, TimelineParams, method};

use super::{Error, question};
use crate::environment::{self, Environment, zone};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Lists sessions, one line each, by the day of their last activity, the latest first: time, duration, goal, outcome, \
the agent if there are several, numbers of changed files and commits, and open work. Days and times are yours (TZ, else the system's zone); with --json, times are in UTC. Subagents' sessions are not listed.

Outcome: done, open (work was left), failed (the last failure was not followed by a success).

JSON: \
{\"days\":[{\"day\",\"sessions\":[{\"session_id\",\"project\",\"agent\",\"state\",\"started_at\",\"ended_at\",\"duration_seconds\", \
\"title\",\"outcome\",\"files_changed\",\"commits\",\"open\":[…],\"open_ends\"}]}],\"next_cursor\",\"freshness\"}; \
pass next_cursor as --cursor to continue.

Examples:
  baton timeline                            the last twenty sessions
  baton timeline --project . --since 7d     the last week, of this project
  baton timeline --agent codex              what was done with one agent
  baton timeline --since 2026-03 --until 2026-04 --limit 100   of one month";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only sessions active since then: 2026-03-14, 2026-03, 2026, yesterday, or an age: 12h, 7d, 2w, 3m (months), 1y
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<String>,
    /// Only sessions that were last active before then, in the same forms
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<String>,
    /// Only this agent, by its name or the first word of it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<Agent>,
    /// How many sessions to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    /// Continue here: next_cursor of the previous answer, with the same --project, --since, --until and --agent
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    options: question::Options,
}

/// Checks a point in time. The daemon computes it, by its own clock.
pub(super) fn moment(text: &str) -> Result<String, String> {
    let is_known = parse_moment(text, Timestamp(0)).is_some();
    is_known.then(|| text.to_owned()).ok_or_else(|| {
        "write a date such as 2026-03-14, 2026-03, yesterday or \"last week\", or an age: 12h, 7d, 2w, 3m (months), 1y".to_owned()
    })
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = TimelineParams {
        project: args.options.project(),
        since: args.since.clone(),
        until: args.until.clone(),
        agent: args.agent,
        limit: args.limit,
        wait: args.options.waits(),
        cursor: args.cursor.clone(),
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::TIMELINE, &params, args.options.json)?;
    if args.options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let timeline: Timeline = super::parse_result(&result)?;
    // The agent is shown only if there are several.
    let sessions = timeline.days.iter().flat_map(|day| &day.sessions);
    let agents: BTreeSet<&str> = sessions.filter_map(|session| session.agent.as_deref()).collect();
    for (number, day) in timeline.days.iter().enumerate() {
        if number > 0 {
            output.line("");
        }
        output.line(&output.styled(Style::Strong, &print::plain(&day.day)));
        day.sessions.iter().for_each(|session| show(&output, session, agents.len() > 1));
    }
    if timeline.days.is_empty() {
        output.line("No sessions. `baton sessions` lists all that are known.");
    }
    question::note_freshness(&timeline.freshness);
    if let Some(cursor) = &timeline.next_cursor {
        print::note(&format!("\nThere are more: --cursor {cursor} continues."));
    }
    Ok(ExitCode::SUCCESS)
}

/// An outcome in a word that means nothing else here: sessions are open, too, and items.
pub(super) fn outcome(outcome: &str) -> &str {
    if outcome == "open" { "unfinished" } else { outcome }
}

pub(super) fn show(output: &Output, session: &TimelineSession, with_agent: bool) {
    let ended = session.ended_at.as_deref().map(zone::minute).unwrap_or_default();
    let ended = ended.get(11..).unwrap_or("     ");
    let id = output.id(&session.session_id);
    let title = match session.title.as_str() {
        "" => "(no title)",
        title => title,
    };
    let head = output.styled(Style::Faint, &format!("{ended} {:>6} {id}", lasted(session)));
    output.hanging(25, &format!("  {head}  {}", print::one_line(title, usize::MAX)));
    let project = session.project.as_deref().map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned());
    let some = |count: u64, what: &str| (count > 0).then(|| print::counted(count, what));
    let about = [
        session.agent.as_deref().filter(|_| with_agent).map(|agent| Agent::title_of(agent).to_owned()),
        project,
        session.running.then(|| "running".to_owned()),
        Some(outcome(&session.outcome).to_owned()).filter(|outcome| !outcome.is_empty()),
        some(session.files_changed, "file"),
        some(session.commits, "commit"),
        some(session.open_ends, "open item"),
    ];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(", ");
    output.hanging(25, &format!("  {:21}  {}", "", output.styled(Style::Faint, &print::plain(&about))));
    for open in &session.open {
        output.hanging(27, &format!("  {:21}  - {}", "", print::one_line(open, usize::MAX)));
    }
}

/// `45s`, `12m`, `3h 5m`.
fn lasted(session: &TimelineSession) -> String {
    match session.duration_seconds {
        None => String::new(),
        Some(seconds) if seconds < 60 => format!("{seconds}s"),
        Some(seconds) if seconds < 3_600 => format!("{}m", seconds / 60),
        Some(seconds) if seconds < 86_400 => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
        Some(seconds) => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_its_largest_units() {
        for (seconds, told) in [
            (None, ""),
            (Some(0), "0s"),
            (Some(59), "59s"),
            (Some(60), "1m"),
            (Some(3_900), "1h 5m"),
            (Some(90_000), "1d 1h"),
        ] {
            assert_eq!(lasted(&TimelineSession { duration_seconds: seconds, ..TimelineSession::default() }), told);
        }
    }
}
