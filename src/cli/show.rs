//! `baton show`: one session and its episode.

use std::process::ExitCode;

use baton_events::protocol::answer::{Metadata, Show};
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
    if let Some(episode) = &shown.episode {
        for (name, value) in numbers(&episode.metadata) {
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

/// How long it took and how much it is, for people.
fn numbers(metadata: &Metadata) -> Vec<(&'static str, String)> {
    let mut numbers = Vec::new();
    if metadata.duration_seconds > 0 {
        numbers.push(("lasted", duration(metadata.duration_seconds)));
    }
    let (raw, kept) = (metadata.token_count, metadata.filtered_token_count);
    let price = metadata.llm_cost_estimate;
    numbers
        .push(("tokens", format!("about {kept} kept of {raw}; one summary by a model would cost about ${price:.4}")));
    if !metadata.mcp_tools_used.is_empty() {
        numbers.push(("MCP tools", metadata.mcp_tools_used.join(", ")));
    }
    numbers
}

/// The two largest units that say something: `3 d 4 h`, `12 min`.
fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let first = units.iter().position(|(size, _)| seconds >= *size).unwrap_or(units.len() - 1);
    let parts = units[first..].iter().take(2).scan(seconds, |rest, (size, unit)| {
        let count = *rest / size;
        *rest %= size;
        Some((count, unit))
    });
    let told: Vec<_> = parts.filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if told.is_empty() { "0 s".to_owned() } else { told.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (seconds, expected) in
            [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_725, "1 h 2 min"), (86_401, "1 d"), (97_200, "1 d 3 h")]
        {
            assert_eq!(duration(seconds), expected);
        }
    }
}
