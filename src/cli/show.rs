//! `baton show`: one session and its episode.

use std::process::ExitCode;

use baton_events::protocol::answer::Show;
use baton_events::protocol::{ShowParams, method};
use clap::Args;

use super::Error;
use crate::client;
use crate::environment::Environment;
use crate::print::{self, Output, Style};

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// A session's id, or the beginning of one
    session: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = ShowParams { session: super::session(&typed.session) };
    let result = super::ask(environment, |client| client.call_raw(method::SHOW, &params, |_| {}))?;
    let output = Output::new();
    if typed.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Show = serde_json::from_str(result.get()).map_err(|error| client::Error::Garbled(error.to_string()))?;
    let row = &shown.row;
    output.line(&output.styled(Style::Strong, &row.session_id));
    let state = match &row.why {
        Some(why) => format!("{} ({why})", row.state),
        None => row.state.clone(),
    };
    let closed = match (&row.close_reason, &row.close_note) {
        (Some(reason), Some(note)) => Some(format!("{reason}: {note}")),
        (Some(reason), None) => Some(reason.clone()),
        (None, _) => None,
    };
    let facts = [
        ("state", Some(state)),
        ("project", row.project.clone()),
        ("transcript", row.file_path.clone()),
        ("subagent of", row.parent_session_id.clone()),
        ("messages", Some(row.message_count.to_string())),
        ("last activity", row.last_activity.clone()),
        ("closed", closed),
        ("indexed", row.last_indexed_at.clone()),
        ("episode", row.episode_uuid.clone()),
        ("not readable", (row.malformed_lines > 0).then(|| format!("{} lines", row.malformed_lines))),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:13}")), print::plain(&value)));
        }
    }
    output.line("");
    match &shown.episode {
        Some(episode) => output.line(print::plain(&episode.content).trim_end()),
        None if row.why.as_deref() == Some("empty") => output.line("Nothing was said in it."),
        None => output.line("No episode yet: `baton close` or any search indexes it."),
    }
    Ok(ExitCode::SUCCESS)
}
