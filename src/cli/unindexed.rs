//! `baton unindexed`: the sessions that a search would index first.

use std::process::ExitCode;

use baton_protocol::answer::Unindexed;
use baton_protocol::{UnindexedParams, method};

use super::Error;
use crate::client::Client;
use crate::environment::{Environment, zone};
use crate::print::{self, Style};

const HELP: &str = "\
Lists the sessions with lines that are not indexed yet, last active first. The next search reads them, `baton sync` \
does it now.

JSON: {\"sessions\":[{\"session_id\",\"state\",\"last_activity\",\"message_count\",\"project\",…}],\"count\",\"note\"}.

Examples:
  baton unindexed                      of all projects
  baton unindexed --project . --active-only";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Only active sessions
    #[arg(long)]
    active_only: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params =
        UnindexedParams { project: args.project.as_deref().map(super::project), include_inactive: !args.active_only };
    let call = |client: &mut Client| client.call_raw(method::UNINDEXED, &params, |_| {});
    let (result, output) = super::ask_shown(environment, args.json, call)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let found: Unindexed = super::parse_result(&result)?;
    if found.sessions.is_empty() {
        output.line("Nothing waits to be indexed.");
        found.note.iter().for_each(|note| print::note(&print::plain(note)));
        return Ok(ExitCode::SUCCESS);
    }
    let width = found.sessions.iter().map(|row| output.id(&row.session_id).chars().count()).max().unwrap_or(8);
    let heading = format!("{:width$}  {:9}  {:16}  {:>8}  project", "session", "state", "last activity", "messages");
    output.line(&output.styled(Style::Faint, &heading));
    for row in &found.sessions {
        let at = row.last_activity.as_deref().map(zone::minute).unwrap_or_default();
        let left = output.width().saturating_sub(width + 43).max(12);
        output.line(&format!(
            "{:width$}  {:9}  {at:16}  {:>8}  {}",
            output.id(&row.session_id),
            print::one_line(&row.state, 12),
            row.message_count,
            print::one_line(row.project.as_deref().unwrap_or("-"), left),
        ));
    }
    let (noun, verb) = if found.count == 1 { ("session", "is") } else { ("sessions", "are") };
    print::note(&format!(
        "\n{} {noun} {verb} not fully indexed; the next search or `baton sync` does that.",
        found.count
    ));
    Ok(ExitCode::SUCCESS)
}
