//! `baton forget`: forgets sessions, or remembers them again.

use std::process::ExitCode;

use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Forget, ForgetRow};
use baton_protocol::{ForgetParams, method};
use uuid::Uuid;

use super::{Error, install};
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Progress, Style};

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: std::time::Duration = std::time::Duration::from_secs(120);
/// Most sessions that are listed; the rest are only counted.
const LISTED: usize = 40;

const HELP: &str = "\
Deletes everything stored about the sessions, their subagents, and forks and copies with the same records (`--only` \
leaves those alone): conversations, notes, episodes, entries of the search index. When it returns, no file in Baton's \
home holds their text. A tombstone stays, so that their transcripts are never read again, whatever happens to them; \
`--undo` removes it and reads the transcripts again. A note is deleted by its uuid, and --project also deletes all \
notes that were added to the project; deleted notes cannot be restored.

What an agent deleted with delete_episode, delete_entity_edge or clear_graph is only hidden: --undo shows it again, by \
id, by the uuid of a fact, by project, or with --all.

The agent's own transcripts and earlier exports and backups are not touched.

Sessions of the project that begin later are remembered; session_tracking.exclude prevents that.

On a terminal it lists what will be deleted and asks once; elsewhere it needs --yes. If it was interrupted, run it \
again.

JSON: \
{\"status\",\"sessions\":[{\"session_id\",\"state\",\"project\",\"file_path\",\"last_activity\",\"message_count\"}],\
\"also\":[{\"session_id\",\"why\",\"shared\"}],\"notes\",\"note_ids\",\"found_again\",\"files\",\"bytes\",\"estimated\",\"kept_elsewhere\",\"transcripts\":[…],\"later\",\"message\"}.

Examples:
  baton forget a94e0d17                       one session, after showing what goes with it
  baton forget --project ledger --dry-run     what is stored about a project
  baton forget --before 90d --yes             every session without a message for 90 days
  baton forget --before 2026-10-01            every session older than that day
  baton forget --undo a94e0d17                remember it again, or show it again if it was deleted
  baton forget --undo --project ledger        show again what was cleared of a project
  baton forget 6ba71b0e                       a note, by its uuid";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Ids of sessions or notes, or the beginnings of them
    #[arg(value_name = "SESSION", conflicts_with_all = ["project", "before", "all"], required_unless_present_any = ["project", "before", "all"])]
    sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Only sessions without a message since then: 2026-10-01, a time (RFC 3339), or an age: 30d, 12h, 8w
    #[arg(long, value_name = "DATE", value_parser = before)]
    before: Option<i64>,
    /// Leave forks and copies alone, although they hold the same text
    #[arg(long)]
    only: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
    /// Remember them again: remove the tombstones and read the transcripts; show again what was deleted or cleared
    #[arg(long, conflicts_with = "only")]
    undo: bool,
    /// With --undo: everything that was forgotten, deleted or cleared
    #[arg(long, requires = "undo", conflicts_with_all = ["project", "before"])]
    all: bool,
    /// List what would be deleted, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = ForgetParams {
        sessions: args.sessions.iter().map(|session| super::session(session)).collect(),
        project: args.project.as_deref().map(super::project),
        before: args.before,
        only: args.only,
        dry_run: true,
        undo: args.undo,
        all: args.all,
        notes_of: None,
        command_id: Some(Uuid::new_v4().to_string()),
    };
    // An undo can itself be undone, so it asks nothing.
    let is_agreed = args.yes || args.undo;
    let can_ask = install::is_terminal() && !args.json;
    if args.dry_run || !is_agreed {
        // Report first what does not exist: `--yes` would not help there.
        let (result, output) = call(environment, &params, args.json)?;
        let would: Forget = super::parse_result(&result)?;
        let is_all = args.dry_run || (would.sessions.is_empty() && would.notes == 0);
        if !is_all && !can_ask {
            return Err(Error::NotAgreed);
        }
        if args.json {
            output.json(&result);
            return Ok(ExitCode::SUCCESS);
        }
        list(&output, &would);
        if is_all {
            output.line(&print::plain(&would.message));
            return Ok(ExitCode::SUCCESS);
        }
        let question = question(&would);
        if !install::confirm(&question, &output) {
            print::note("Nothing was changed.");
            return Ok(ExitCode::FAILURE);
        }
        // Forget exactly the sessions shown, and those that hold the same text.
        let mut shown: Vec<String> = would.sessions.iter().map(|row| row.session_id.clone()).collect();
        if !shown.is_empty() {
            shown.extend(would.note_ids.iter().cloned());
        }
        let agreed = match shown.is_empty() {
            true => ForgetParams { dry_run: false, ..params },
            false => {
                let notes_of = params.project.filter(|_| would.notes > would.note_ids.len() as u64);
                let before = params.before.filter(|_| notes_of.is_some());
                ForgetParams { sessions: shown, notes_of, before, project: None, dry_run: false, ..params }
            }
        };
        return finish(environment, &agreed, args, &would.later);
    }
    finish(environment, &ForgetParams { dry_run: false, ..params }, args, "")
}

/// Carries out the request. `later` is the remark about later sessions from the preceding dry run.
fn finish(environment: &Environment, params: &ForgetParams, args: &Args, later: &str) -> Result<ExitCode, Error> {
    // The message names no session, and forgotten sessions are not listed again, so short ids are not needed.
    let (result, output) = call(environment, params, true)?;
    let done: Forget = super::parse_result(&result)?;
    let code = if done.status == "success" { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        output.json(&result);
        return Ok(code);
    }
    let message = print::plain(&done.message);
    match done.status.as_str() {
        "success" => output.line(&message),
        _ => print::note(&message),
    }
    if !args.undo && !done.sessions.is_empty() {
        print::note(&format!("\nStill there: {}.", print::plain(&done.kept_elsewhere)));
        for path in done.transcripts.iter().take(LISTED) {
            print::note(&format!("  {}", print::plain(path)));
        }
        if done.transcripts.len() > LISTED {
            print::note(&format!("  and {} more", done.transcripts.len() - LISTED));
        }
    }
    let later = if done.later.is_empty() { later } else { &done.later };
    if !later.is_empty() {
        print::note(&format!("\nNote: {}.", print::plain(later)));
    }
    Ok(code)
}

fn call(
    environment: &Environment,
    params: &ForgetParams,
    json: bool,
) -> Result<(Box<serde_json::value::RawValue>, Output), Error> {
    let progress = Progress::new();
    // The id makes a repeated call do the work once and give the same answer.
    let result = super::ask_shown(environment, json, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::FORGET, params, |update| progress.show(&update))
    });
    progress.end();
    Ok(result?)
}

fn list(output: &Output, would: &Forget) {
    for row in would.sessions.iter().take(LISTED) {
        output.line(&line(output, row));
    }
    more(output, would.sessions.len());
    for (head, also) in
        [("Also, because they hold the same text:", &would.also), ("Left alone because of --only:", &would.left)]
    {
        if also.is_empty() {
            continue;
        }
        output.line(&output.styled(Style::Strong, head));
        for row in also.iter().take(LISTED) {
            let left = output.width().saturating_sub(12).max(20);
            output.line(&format!("  {}  {}", output.id(&row.session_id), print::one_line(&row.why, left)));
        }
        more(output, also.len());
    }
}

fn more(output: &Output, count: usize) {
    if count > LISTED {
        output.line(&format!("  and {} more", count - LISTED));
    }
}

fn line(output: &Output, row: &ForgetRow) -> String {
    let at = row.last_activity.as_deref().map_or_else(|| "-".to_owned(), zone::minute);
    let parent = row.parent_session_id.as_deref().map(|parent| format!(" subagent of {}", output.id(parent)));
    let place = format!("{}{}", row.project.as_deref().unwrap_or("-"), parent.unwrap_or_default());
    let left = output.width().saturating_sub(52).max(12);
    format!(
        "  {:8}  {:9}  {at:16}  {:>14}  {}",
        output.id(&row.session_id),
        print::one_line(&row.state, 12),
        print::counted(row.message_count, "message"),
        print::one_line(&place, left)
    )
}

/// The question asked before anything is deleted, with the amount.
fn question(would: &Forget) -> String {
    let count = would.sessions.len() + would.also.len();
    let noun = if count == 1 { "this session" } else { "these sessions" };
    let size = format!("{}, {}", print::counted(would.files, "file"), print::size(would.bytes));
    match (count, would.notes) {
        (0, notes) => format!("Permanently delete the added notes ({notes})?"),
        (_, 0) => format!("Forget {noun} ({count}), {size}?"),
        (_, notes) => format!("Forget {noun} ({count}), {size}, and permanently delete the added notes ({notes})?"),
    }
}

/// Parses a date or an age, such as `30d`, to milliseconds since 1970.
fn before(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is not a date: write 2026-10-01, 2026-10-01T12:00:00Z, or an age: 30d, 12h, 8w");
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let hours = match unit {
        "h" => Some(1_i64),
        "d" => Some(24),
        "w" => Some(24 * 7),
        _ => None,
    };
    if let (Some(hours), Ok(number)) = (hours, number.parse::<u32>()) {
        let ago = i64::from(number).saturating_mul(hours).saturating_mul(3_600_000);
        return Ok(now().saturating_sub(ago));
    }
    let midnight = || Timestamp::parse(&format!("{text}T00:00:00Z")).map(|wall| zone::zone().first_utc(wall.0));
    Timestamp::parse(text).map(|moment| moment.0).or_else(midnight).ok_or_else(wrong)
}

pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_day_a_moment_or_how_long_ago() {
        assert_eq!(before("2026-10-01"), Ok(zone::zone().first_utc(1_790_812_800_000)));
        assert_eq!(before("2026-10-01T12:00:00Z"), Ok(1_790_856_000_000));
        for (text, hours) in [("30d", 720), ("12h", 12), ("8w", 1344), ("0d", 0)] {
            let ago = now() - before(text).unwrap();
            assert!((ago - hours * 3_600_000).abs() < 60_000, "{text}: {ago}");
        }
        for wrong in ["", "yesterday", "30", "d", "-3d", "2026-13-01", "3é", "99999999999d"] {
            assert!(before(wrong).unwrap_err().contains("2026-10-01"), "{wrong}");
        }
    }
}
