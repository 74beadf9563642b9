//! `baton keep`: shortens old conversations to what their episodes need.

use std::process::ExitCode;

use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Keep, KeepRow};
use baton_protocol::{KeepParams, method};

use super::forget::now;
use super::{Error, install};
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Progress};

/// Most conversations that are listed; the rest are only counted.
const LISTED: usize = 40;
const DAY_MS: i64 = 86_400_000;

const HELP: &str = "\
Of old sessions it deletes what their episodes do not need: what the agent thought, replies that no episode quotes, the \
rest of long prompts and arguments. Every episode stays as it is and stays searchable, with its decisions, errors, files, \
commands, facts and costs; a conversation of which all is needed stays whole. The text that goes is found no more, and \
`baton show --messages` has `…` in its place.

It stays so: reading the transcript again, `baton reindex` and a rebuild of the search index bring nothing back. A session \
that goes on is stored whole again. What went cannot be restored unless a backup has it (`baton backup`). The agent's own \
transcripts are not touched.

What an episode is made of is most of what is stored (calls, their results, tokens used), so this frees the smaller part: \
`baton forget --before 365d` deletes old sessions wholly.

Nothing goes by itself: without this command everything is kept. A conversation is shortened if one of the limits applies \
to it. On a terminal it lists what would be freed and asks once; elsewhere it needs --yes. The space of the search index \
is freed later, when it merges its files. If it was interrupted, run it again.

JSON: {\"status\",\"dry_run\",\"sessions\":[{\"session_id\",\"project\",\"last_activity\",\"bytes\",\"freed_bytes\"}],\
\"conversations\",\"bytes\",\"freed_bytes\",\"already\",\"whole\",\"over_bytes\",\"failures\"}

Examples:
  baton keep --days 365 --dry-run       what would be freed of sessions older than a year
  baton keep --max-bytes 500MB          the oldest, until all conversations take 500 MB
  baton keep --days 90 --yes            without asking";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Keep the conversations of the last N days whole
    #[arg(long, value_name = "N", value_parser = super::number::<u32, 0, 100_000>, required_unless_present = "max_bytes")]
    days: Option<u32>,
    /// Shorten the oldest until all conversations take no more: bytes, or 500MB, 2GB
    #[arg(long, value_name = "B", value_parser = bytes)]
    max_bytes: Option<u64>,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
    /// List what would be freed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let before = args.days.map(|days| now().saturating_sub(i64::from(days) * DAY_MS));
    let params = |dry_run| KeepParams { before, max_bytes: args.max_bytes, dry_run };
    if args.dry_run || !args.yes {
        let can_ask = install::is_terminal() && !args.json;
        if !args.dry_run && !can_ask {
            return Err(Error::NotAgreed);
        }
        let (result, output) = call(environment, &params(true), args.json)?;
        if args.json {
            output.json(&result);
            return Ok(ExitCode::SUCCESS);
        }
        let would: Keep = super::parse_result(&result)?;
        would.sessions.iter().take(LISTED).for_each(|row| output.line(&line(&output, row)));
        if would.sessions.len() > LISTED {
            output.line(&format!("  and {} more", would.sessions.len() - LISTED));
        }
        output.line(&told(&would));
        if args.dry_run || would.sessions.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let question = format!("Shorten {}?", print::counted(would.sessions.len() as u64, "conversation"));
        if !install::confirm(&question, &output) {
            print::note("Nothing was changed.");
            return Ok(ExitCode::FAILURE);
        }
    }
    let (result, output) = call(environment, &params(false), args.json)?;
    let done: Keep = super::parse_result(&result)?;
    let code = if done.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    match args.json {
        true => output.json(&result),
        false => output.line(&told(&done)),
    }
    Ok(code)
}

fn call(
    environment: &Environment,
    params: &KeepParams,
    json: bool,
) -> Result<(Box<serde_json::value::RawValue>, Output), Error> {
    let progress = Progress::new();
    // What is shortened already is not shortened again, so it may be repeated.
    let result = super::ask_shown(environment, json, |client| {
        client.call_raw(method::KEEP, params, |update| progress.show(&update))
    });
    progress.end();
    Ok(result?)
}

fn line(output: &Output, row: &KeepRow) -> String {
    let at = Timestamp::parse(&row.last_activity).map_or_else(|| "-".to_owned(), |_| zone::minute(&row.last_activity));
    let left = output.width().saturating_sub(56).max(12);
    let project = print::one_line(row.project.as_deref().unwrap_or("-"), left);
    let [bytes, freed] = [row.bytes, row.freed_bytes].map(print::size);
    format!("  {:8}  {at:16}  {bytes:>9}, {freed:>9} of it go  {project}", output.id(&row.session_id))
}

/// What was done, or would be.
fn told(keep: &Keep) -> String {
    let (shortened, size) = (print::counted(keep.sessions.len() as u64, "conversation"), print::size(keep.freed_bytes));
    let of = format!("{} take {}", print::counted(keep.conversations, "conversation"), print::size(keep.bytes));
    let mut told = match (keep.sessions.len(), keep.dry_run) {
        (0, _) => format!("{of}; nothing of them is to be shortened"),
        (_, true) => {
            format!("{of}; shortening {shortened} would free about {size}, and later space of the search index")
        }
        (_, false) => format!("{shortened} shortened, {size} freed"),
    };
    for (count, what) in [(keep.already, "shortened before"), (keep.whole, "needed as a whole by the episode")] {
        if count > 0 {
            told.push_str(&format!("; {count} {what}"));
        }
    }
    if keep.over_bytes > 0 {
        told.push_str(&format!("; {} above --max-bytes remain: nothing more can go", print::size(keep.over_bytes)));
    }
    if let Some(problem) = &keep.problem {
        told.push_str(&format!("; {} stayed as they were, the first: {problem}", keep.failures));
    }
    print::plain(&(told + "."))
}

/// Parses a size: bytes, or a number with a decimal unit.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size: write bytes, or 500MB, 2GB");
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1_u64,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_bytes_or_a_number_with_a_unit() {
        for (text, expected) in
            [("0", 0), ("1024", 1024), ("500MB", 500_000_000), ("2 gb", 2_000_000_000), ("7k", 7_000)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in ["", "MB", "-1", "1.5GB", "1TB", "99999999999999999999", "99999999999999GB"] {
            assert!(bytes(wrong).unwrap_err().contains("500MB"), "{wrong}");
        }
    }
}
