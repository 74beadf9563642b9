//! `baton sessions`: the session table.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::SystemTime;

use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Reading, Row, Sessions};
use baton_protocol::{Agent, SessionsParams, method};

use super::Error;
use crate::client::Client;
use crate::environment::{self, Environment, zone};
use crate::examples;
use crate::print::{self, Cell, Column, Output, Style, Table};
use crate::resume::is_over;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// Index of the agent's column.
const AGENT_COLUMN: usize = 5;
/// Index of the title's column.
const TITLE_COLUMN: usize = 6;
/// Width from which there is room for titles.
const TITLE_FIT: usize = 80;
const DAY_MS: i64 = 24 * HOUR_MS;

const HELP: &str = "\
Looks for new transcripts and lists the sessions, last active first; those without messages (only snapshots, for \
example) come last. Each line shows whether the session is open (●) or over (○); its id; its state, or why it is not \
indexed; the age of its last message; how many messages it has; the agent, if there are several; its title and its \
project. On a terminal lines are cut to fit if possible; in a pipe or a file they are whole.

States: active (in use; --state active also finds open sessions that a search has already indexed), inactive (silent \
for a while), indexing, indexed (its episode is stored), failed (retried automatically), unindexed, forgotten. \
Unindexed ones are shown with the reason: timeout_disabled, empty (no messages), gone (the transcript vanished before \
it was read), untracked (stopped by hand).

JSON: \
{\"sessions\":[{\"session_id\",\"title\",\"file_path\",\"project\",\"group_id\",\"agent\",\"tracked\",\"state\",\"why\",\"content_hash\", \
\"episode_uuid\",\"last_indexed_at\",\"last_activity\",\"message_count\",\"close_reason\",\"close_note\",\"records_by_type\",\"unknown_types\", \
\"malformed_lines\",\"oversize_lines\",…}], \"reading\":{\"done\",\"total\"}}; \"reading\" only while there are \
transcripts that were never read. `session_states.json` in BATON_HOME is a copy, at most 10 s old, that can be read \
without a daemon.

Examples:
  baton sessions                       all of them, without subagents
  baton sessions --state active        the open ones
  baton sessions --state empty         those without messages
  baton sessions --agent codex         those of one agent
  baton sessions --since 7d -n 20      the latest 20 of the last 7 days
  baton sessions --since \"last week\" --until \"this week\"
  baton sessions --project .           those of this directory's project";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only sessions in this state, or not indexed for this reason
    #[arg(long, short, value_name = "S", ignore_case = true, value_parser = [
        "active", "inactive", "unindexed", "indexing", "indexed", "failed", "forgotten",
        "timeout_disabled", "empty", "gone", "untracked",
    ])]
    state: Option<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Only this agent, by its name or the first word of it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<Agent>,
    /// Only this person's or machine's, as a relay brought them: a name, `me`, or `team` for all others
    #[arg(long, value_name = "W")]
    who: Option<String>,
    /// Only sessions active since then: a date, or 12h, 7d, 2w, 3m (months)
    #[arg(long, value_name = "WHEN", value_parser = super::timeline::moment)]
    since: Option<String>,
    /// Only sessions that were last active before then, in the same forms
    #[arg(long, value_name = "WHEN", value_parser = super::timeline::moment)]
    until: Option<String>,
    /// How many sessions to list [default: all]
    #[arg(long, short = 'n', value_name = "N", value_parser = super::number::<u32, 1, { u64::MAX }>)]
    limit: Option<u32>,
    /// Include subagents' sessions
    #[arg(long)]
    subagents: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = SessionsParams {
        state: args.state.as_deref().map(str::to_ascii_lowercase),
        project: args.project.as_deref().map(super::project),
        agent: args.agent,
        who: args.who.clone(),
        subagents: args.subagents,
        since: args.since.clone(),
        until: args.until.clone(),
        limit: args.limit,
        caller: environment::caller(),
        ..SessionsParams::default()
    };
    let call = |client: &mut Client| client.call_raw(method::SESSIONS, &params, |_| {});
    let (result, output) = super::ask_shown(environment, args.json, call)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let found: Sessions = super::parse_result(&result)?;
    if let Some(Reading { done, total }) = found.reading {
        print::note(&format!(
            "Still reading history: {done} of {total} transcripts. `baton status` shows the progress."
        ));
    }
    if found.sessions.is_empty() {
        let is_timed = args.since.is_some() || args.until.is_some();
        let is_filtered = args.state.is_some() || args.project.is_some() || args.agent.is_some() || is_timed;
        output.line(match is_filtered {
            true => "No such sessions. `baton sessions` lists all.",
            false if examples::stand_in(environment).is_some() => {
                "No sessions. `baton --examples sessions` lists the example sessions, which questions are answered from."
            }
            false => "No sessions. `baton status` shows where transcripts are looked for.",
        });
        return Ok(ExitCode::SUCCESS);
    }
    table(&output, &found.sessions, now()).lines(&output).iter().for_each(|line| output.line(line));
    if args.project.is_some() && found.sessions.iter().all(|row| row.state == "forgotten") {
        print::note("\nAll sessions of this project are forgotten. `baton forget --undo` reverses that.");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn table(output: &Output, rows: &[Row], now: Timestamp) -> Table<8> {
    let mut table = Table::new([
        Column::words(" "),
        Column::words("session"),
        Column::words("state"),
        Column::number("last"),
        Column::number("messages"),
        Column::words("agent"),
        Column::title("title"),
        Column::words("project"),
    ]);
    // The agent is shown only if there are several.
    let agents: BTreeSet<&str> = rows.iter().filter_map(|row| row.agent.as_deref()).collect();
    if agents.len() < 2 {
        table.hide(AGENT_COLUMN);
    }
    // A home that was just set up, or whose memory is being built anew, knows no titles.
    let has_room = output.fit().is_none_or(|fit| fit >= TITLE_FIT);
    if !has_room || rows.iter().all(|row| row.title.as_deref().unwrap_or_default().is_empty()) {
        table.hide(TITLE_COLUMN);
    }
    for row in rows {
        let style = match row.state.as_str() {
            "failed" => Style::Bad,
            "indexed" => Style::Good,
            "active" | "indexing" => Style::Strong,
            _ => Style::Faint,
        };
        table.row([
            Cell::styled(style, if is_over(row) { "○" } else { "●" }),
            Cell::new(output.id(&row.session_id)),
            Cell::styled(style, shown_state(row)),
            Cell::new(row.last_activity.as_deref().map_or_else(|| "-".to_owned(), |at| ago(at, now))),
            Cell::new(row.message_count.to_string()),
            Cell::new(row.agent.as_deref().map_or("-", Agent::title_of)),
            Cell::new(row.title.as_deref().unwrap_or_default()),
            Cell::new(project(row)),
        ]);
    }
    table
}

/// The project, and who worked there if it was somebody else.
fn project(row: &Row) -> String {
    let by = row.from.as_ref().map_or_else(String::new, |from| format!(" (by {})", from.name));
    format!("{}{by}", row.project.as_deref().unwrap_or("-"))
}

fn shown_state(row: &Row) -> &str {
    match (row.state.as_str(), &row.why) {
        _ if row.unreadable_events > 0 => "newer",
        ("unindexed", Some(why)) => why,
        (state, _) => state,
    }
}

/// Formats a rough age; beyond 30 days the date.
pub(super) fn ago(at: &str, now: Timestamp) -> String {
    let ms = match Timestamp::parse(at) {
        Some(at) => now.since_ms(at),
        None => i64::MAX,
    };
    match ms {
        ms if ms < MINUTE_MS => "now".to_owned(),
        ms if ms < HOUR_MS => format!("{} min", ms / MINUTE_MS),
        ms if ms < DAY_MS => format!("{} h", ms / HOUR_MS),
        ms if ms < 30 * DAY_MS => format!("{} d", ms / DAY_MS),
        _ => zone::day(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_rough_and_old_ones_are_days() {
        let now = Timestamp::parse("2026-11-03T12:00:00Z").unwrap();
        for (at, expected) in [
            ("2026-11-03T12:00:30Z", "now"),
            ("2026-11-03T11:59:01Z", "now"),
            ("2026-11-03T11:58:59Z", "1 min"),
            ("2026-11-03T09:01:00Z", "2 h"),
            ("2026-10-31T12:00:00Z", "3 d"),
            ("2026-01-31T12:00:00Z", "2026-01-31"),
            ("odd", "odd"),
        ] {
            assert_eq!(ago(at, now), expected, "{at}");
        }
    }

    #[test]
    fn the_table_tells_open_from_over_and_why() {
        let row = |id: &str, state: &str, why: Option<&str>, end: Option<&str>, messages: u64| Row {
            session_id: id.to_owned(),
            state: state.to_owned(),
            why: why.map(str::to_owned),
            end: end.map(str::to_owned),
            message_count: messages,
            project: Some("/srv/projects/ledger-api".to_owned()),
            ..Row::default()
        };
        let rows = [
            row("a94e0d17-1f2e", "active", None, None, 12),
            row("18e5b7a2-1f2e", "indexed", None, Some("explicit"), 7),
            row("a94e0d17-1f2e", "indexed", None, None, 130),
            row("00000001-1f2e", "unindexed", Some("empty"), None, 0),
        ];
        let short = |row: &Row| (row.session_id.clone(), row.session_id[..8].to_owned());
        let output = Output::plain(Some(80)).with_ids(rows.iter().map(short).collect());
        let lines = table(&output, &rows, Timestamp(0)).lines(&output);
        assert_eq!(
            lines,
            [
                "   session   state    last  messages  project",
                "●  a94e0d17  active      -        12  /srv/projects/ledger-api",
                "○  18e5b7a2  indexed     -         7  /srv/projects/ledger-api",
                "●  a94e0d17  indexed     -       130  /srv/projects/ledger-api",
                "○  00000001  empty       -         0  /srv/projects/ledger-api",
            ]
        );
    }

    #[test]
    fn the_agent_is_shown_if_there_are_several() {
        let row = |agent: &str| Row { agent: Some(agent.to_owned()), state: "active".to_owned(), ..Row::default() };
        let output = Output::plain(None);
        let head = |rows: &[Row]| table(&output, rows, Timestamp(0)).lines(&output).swap_remove(0);
        assert!(!head(&[row("claude_code"), row("claude_code")]).contains("agent"));
        assert!(head(&[row("claude_code"), row("codex")]).contains("  agent  "));
    }
}
