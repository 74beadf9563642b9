//! `baton sessions`: the session table.

use std::process::ExitCode;

use baton_events::protocol::answer::{Row, Sessions};
use baton_events::protocol::{SessionsParams, method};
use clap::Args;

use super::Error;
use crate::client::{self, Client};
use crate::environment::Environment;
use crate::print::{self, Output, Style};

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// Only sessions in this state
    #[arg(long, short, value_name = "S", value_parser = ["active", "inactive", "unindexed", "indexing", "indexed", "failed", "forgotten"])]
    state: Option<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// Subagents' sessions too
    #[arg(long)]
    subagents: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = SessionsParams {
        state: typed.state.clone(),
        project: typed.project.as_deref().map(super::project),
        subagents: typed.subagents,
    };
    let result = Client::connect_or_start(environment)?.call_raw(method::SESSIONS, &params, |_| {})?;
    let output = Output::new();
    if typed.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let table: Sessions =
        serde_json::from_str(result.get()).map_err(|error| client::Error::Garbled(error.to_string()))?;
    if table.sessions.is_empty() {
        output.line("No sessions. `baton status` tells where transcripts are looked for.");
        return Ok(ExitCode::SUCCESS);
    }
    let id_width = table.sessions.iter().map(|row| shown_id(row).chars().count()).max().unwrap_or(8);
    output.line(&output.styled(
        Style::Faint,
        &format!("{:id_width$}  {:9}  {:16}  {:>8}  project", "session", "state", "last activity", "messages"),
    ));
    for row in &table.sessions {
        let state = match (&row.why, row.state.as_str()) {
            (Some(why), "unindexed") => why.clone(),
            (_, state) => state.to_owned(),
        };
        let style = match row.state.as_str() {
            "failed" => Style::Bad,
            "indexed" => Style::Good,
            _ => Style::Strong,
        };
        let at = row.last_activity.as_deref().and_then(|at| at.get(..16)).unwrap_or("").replace('T', " ");
        let left = output.width().saturating_sub(id_width + 43).max(12);
        output.line(&format!(
            "{:id_width$}  {}  {at:16}  {:>8}  {}",
            shown_id(row),
            output.styled(style, &format!("{state:9}")),
            row.message_count,
            print::one_line(row.project.as_deref().unwrap_or("-"), left),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown_id(row: &Row) -> String {
    let length = if row.parent_session_id.is_some() || row.session_id.starts_with("agent-") { 24 } else { 8 };
    row.session_id.chars().take(length).collect()
}
