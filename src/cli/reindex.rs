//! `baton reindex`: rebuilds what is stored of sessions.

use std::process::ExitCode;

use baton_protocol::answer::Reindex;
use baton_protocol::{ReindexParams, method};

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Output, Progress};

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: std::time::Duration = std::time::Duration::from_secs(120);

const HELP: &str = "\
Reads the transcripts of the sessions again, from the start, with the current filter and redaction rules, and replaces \
what was stored before. If a transcript is gone, the stored conversation is redacted by the current rules. Calls no \
model; a session's enrichment stays until the session has new messages. Closes nothing.

Without an argument it takes the sessions whose episode was made by an older filter; `baton status` counts them. \
Nothing is rebuilt automatically.

JSON: {\"status\",\"sessions\",\"reindexed\",\"unchanged\",\"skipped\",\"failures\",\"failed\":[…],\"message\"}.

Examples:
  baton reindex                  after an update: what an older filter made
  baton reindex a94e0d17         one session
  baton reindex --all            everything, as after a change of the redaction rules";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Ids of sessions, or the beginnings of them
    #[arg(value_name = "SESSION", conflicts_with_all = ["project", "all"])]
    sessions: Vec<String>,
    /// All sessions of a project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true, conflicts_with = "all")]
    project: Option<String>,
    /// All sessions
    #[arg(long)]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = ReindexParams {
        sessions: args.sessions.iter().map(|session| super::session(session)).collect(),
        project: args.project.as_deref().map(super::project),
        all: args.all,
    };
    let progress = Progress::new();
    let result = super::ask(environment, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::REINDEX, &params, |update| progress.show(&update))
    });
    progress.end();
    let result = result?;
    let done: Reindex = super::parse_result(&result)?;
    let output = Output::new();
    if args.json {
        output.json(&result);
    } else {
        output.line(&print::plain(&done.message));
        if !done.failed.is_empty() {
            print::note(&format!("failed: {}", print::one_line(&done.failed.join(", "), 400)));
        }
    }
    Ok(if done.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
