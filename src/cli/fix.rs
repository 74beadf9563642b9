//! `baton fix`: what made an error go away before.

use std::io::Read;
use std::process::ExitCode;

use baton_protocol::answer::{Fix, FixAccount, FixMatch, Quote};
use baton_protocol::{FixParams, method};

use super::question::{heading, place, row};
use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Output};

/// Most bytes read from standard input.
const MAX_INPUT_BYTES: u64 = 64 * 1024;

const HELP: &str = "\
Finds earlier failures like this one, whatever their numbers, paths and line numbers, and shows what was changed \
before the same command or test succeeded, which changes did not help, and what the agent said about it, in its own \
words. A failure that no command reported is looked for in prompts, replies, outputs and summaries. Any text of the error \
will do: one line, a code, or the whole output; - reads it from standard input. A failure that never went away is shown \
as such.

JSON: \
{\"message\",\"error\",\"cause\":{\"text\",\"session_id\",\"line\",\"at\"},\"resolution\":{…},\"tried\":[{…}],\"places\":[{…}],\"abstained\",\"matches\":[{\"error\",\"same\",\"commands\",\"seen\",\"sessions\",\"resolved\",\"unsure\",\"last_seen\", \
\"fixes\":[{\"text\",\"files\",\"commands\",\"count\",\"session_id\",\"project\",\"line\",\"at\"}], \
\"tried_in_vain\":[{\"files\",\"commands\",\"then\",\"count\",\"session_id\",\"line\",\"at\"}],\"unresolved\":{\"text\",\"session_id\",\"line\",\"at\"},\"account\"}], \
\"accounts\":[{\"text\",\"role\",\"same\",\"times\",\"session_id\",\"project\",\"line\",\"at\",\"said\",\"files\",\"edits\",\"commands\",\"tried\", \
\"concluded\"}],\"freshness\"}; an account quotes what was said and done after its line

Examples:
  baton fix E0382                        by its code
  baton fix connect ECONNREFUSED         by its words; quote only what the shell would interpret
  cargo test 2>&1 | baton fix -          the whole output";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The error, or - to read it from standard input
    #[arg(required = true)]
    error: Vec<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// How many failures to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let error = match args.error.join(" ") {
        text if text == "-" => input()?,
        text => text,
    };
    let params = FixParams {
        error,
        project: args.project.as_deref().map(super::project),
        limit: args.limit,
        wait: !args.no_wait,
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::FIX, &params, args.json)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Fix = super::parse_result(&result)?;
    show(&output, &answer);
    question::note_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

/// Reads standard input, up to the limit.
fn input() -> Result<String, Error> {
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| Error::File { path: "standard input".to_owned(), reason: error.to_string() };
    std::io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn show(output: &Output, fix: &Fix) {
    heading(output, &fix.message);
    for found in &fix.matches {
        output.line("");
        let unsure =
            if found.unsure == 0 { String::new() } else { format!(", outcome unknown {}", count(found.unsure)) };
        let resolved = match found.resolved {
            0 => String::new(),
            resolved => format!(", went away {}", count(resolved)),
        };
        let about = format!("seen {}{resolved}{unsure}", count(found.seen));
        row(output, 0, &found.error, &about);
        rows(output, found);
    }
    for found in &fix.accounts {
        output.line("");
        let place = place(output, &found.session_id, found.line, found.at.as_deref());
        row(output, 0, &found.text, &place);
        account(output, found);
    }
    if fix.more_sessions > 0 {
        let more = print::counted(u64::from(fix.more_sessions), "more session");
        print::note(&format!("\nNot checked: {more} with some of its words."));
    }
}

fn rows(output: &Output, found: &FixMatch) {
    for fix in &found.fixes {
        let place = place(output, &fix.session_id, fix.line, fix.at.as_deref());
        row(output, 2, &format!("gone: {}", fix.text), &place);
        changed(output, &fix.files, &fix.commands);
    }
    for tried in &found.tried_in_vain {
        let then = if tried.then.is_empty() { "the same again" } else { &tried.then };
        let place = place(output, &tried.session_id, tried.line, tried.at.as_deref());
        row(output, 2, &format!("did not help, then {then}"), &place);
        changed(output, &tried.files, &tried.commands);
    }
    if let Some(open) = &found.unresolved {
        let place = place(output, &open.session_id, open.line, open.at.as_deref());
        row(output, 2, "last seen here; what became of it is not known", &place);
    }
    if let Some(account) = &found.account {
        quoted(output, "the agent said", account.said.as_ref());
        // Of a failure that is known to be gone, the fix says what was run.
        if found.fixes.is_empty() {
            changed(output, &account.files, &account.commands);
        }
        added(output, account);
        if found.tried_in_vain.is_empty() {
            in_vain(output, account);
        }
        quoted(output, "the agent concluded", account.concluded.as_ref());
    }
}

/// Prints what was said and done about a failure, as it was said.
fn account(output: &Output, account: &FixAccount) {
    quoted(output, "the agent said", account.said.as_ref());
    changed(output, &account.files, &account.commands);
    added(output, account);
    in_vain(output, account);
    quoted(output, "the agent concluded", account.concluded.as_ref());
}

/// Prints what was changed before the failure came again.
fn in_vain(output: &Output, account: &FixAccount) {
    if !account.tried.is_empty() {
        row(output, 2, &format!("did not help, it came again: {}", account.tried.join("; ")), "");
    }
}

fn quoted(output: &Output, who: &str, quote: Option<&Quote>) {
    let Some(quote) = quote else { return };
    row(output, 2, &format!("{who}, line {}:", quote.line), "");
    for line in print::plain(&quote.text).lines() {
        output.line(&format!("    {line}"));
    }
}

fn changed(output: &Output, files: &[String], commands: &[String]) {
    if !files.is_empty() {
        row(output, 6, &format!("changed {}", files.join(", ")), "");
    }
    if !commands.is_empty() {
        row(output, 6, &format!("ran {}", commands.join("; ")), "");
    }
}

/// Prints the lines that edits added.
fn added(output: &Output, account: &FixAccount) {
    for edit in &account.edits {
        row(output, 6, &format!("added in {edit}"), "");
    }
}

fn count(count: u32) -> String {
    print::counted(u64::from(count), "time")
}
