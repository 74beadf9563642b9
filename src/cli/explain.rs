//! `baton explain`: why a session is in its state.

use std::process::ExitCode;

use baton_protocol::answer::{Explain, HistoryEvent};
use baton_protocol::{ExplainParams, method};

use super::Error;
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Says why a session was closed, its state, what comes next and when, and whatever else affects it: switches, files with \
the same id, lines that could not be read. Below is its history from the log: each event with its time, its reason and \
its effect. Times are on your clock (TZ, else the system's zone). Reasons name the timeouts configured now. `baton replay` shows in detail what each event changed.

JSON: the fields of `baton sessions`, and \
{\"events\":[{\"position\",\"sequence\",\"at\",\"type\",\"told\",\"why\",\"before\",\"after\", \
\"changed\":[{\"field\",\"before\",\"after\"}],\"owed\":[…]}],\"owed\":[{\"what\",\"at\",\"why\"}],\"notes\":[…]}.

Examples:
  baton explain a94e0d17               why it was closed, why it is not indexed, when it is tried again
  baton explain a94e0d17 --json        the same as JSON";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A session's id, or the beginning of one
    session: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let explained = whole(environment, &super::session(&args.session))?;
    let output = Output::new();
    if args.json {
        // Strings and numbers always have a JSON form.
        output.data(&serde_json::to_string(&explained).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    head(&output, &explained);
    answer(&output, &explained);
    output.line("");
    let mut last: Option<&HistoryEvent> = None;
    for happened in &explained.events {
        output.line(&event(&output, happened, last));
        last = Some(happened);
    }
    Ok(ExitCode::SUCCESS)
}

/// Fetches the whole history; the daemon sends a long one in several parts.
fn whole(environment: &Environment, session: &str) -> Result<Explain, Error> {
    let mut session = session.to_owned();
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let params = ExplainParams { session: Some(session.clone()), after, ..ExplainParams::default() };
        let result = super::ask(environment, |client| client.call_raw(method::EXPLAIN, &params, |_| {}))?;
        let mut part: Explain = super::parse_result(&result)?;
        events.append(&mut part.events);
        match part.next.take() {
            Some(next) if next > after => after = next,
            _ => return Ok(Explain { events, ..part }),
        }
        session.clone_from(&part.row.session_id);
    }
}

fn head(output: &Output, explained: &Explain) {
    let row = &explained.row;
    output.line(&output.styled(Style::Strong, &print::plain(&row.session_id)));
    for (name, value) in
        [("transcript", &row.file_path), ("project", &row.project), ("subagent of", &row.parent_session_id)]
    {
        if let Some(value) = value {
            output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:11}")), print::plain(value)));
        }
    }
    output.line("");
}

/// Formats an event: what happened, why, and the change of state. The time is shown only for the first of several
/// events with one cause and time.
fn event(output: &Output, happened: &HistoryEvent, last: Option<&HistoryEvent>) -> String {
    let together = last.is_some_and(|last| last.at == happened.at && last.cause == happened.cause);
    let at = zone::minute(&happened.at);
    let time = if together { " ".repeat(at.len()) } else { at.clone() };
    let what = match &happened.unreadable {
        Some(why) => output.styled(Style::Warning, &format!("{}: {}", happened.kind, one_line(why))),
        None => one_line(&happened.told),
    };
    let mut text = format!("{}  {what}", output.styled(Style::Faint, &time));
    let indent = " ".repeat(at.len() + 4);
    if let Some(why) = &happened.why {
        text.push_str(&format!("\n{indent}{}", output.styled(Style::Faint, &one_line(why))));
    }
    if let (Some(before), Some(after)) = (&happened.before, &happened.after)
        && before != after
    {
        text.push_str(&format!("\n{indent}{}", output.styled(style(after), &format!("{before} -> {after}"))));
    }
    text
}

fn style(state: &str) -> Style {
    match state {
        "failed" => Style::Bad,
        "indexed" => Style::Good,
        _ => Style::Strong,
    }
}

/// Why it has ended, the state with its reason, and what comes next.
fn answer(output: &Output, explained: &Explain) {
    let row = &explained.row;
    if let Some(ending) = row.ending(zone::minute) {
        output.line(&output.styled(Style::Strong, &one_line(&ending)));
    }
    let why = row.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let state = output.styled(style(&row.state), &format!("{}{why}", row.state));
    match &row.episode_uuid {
        Some(episode) => output.line(&format!("It is {state} now, as episode {episode}.")),
        None => output.line(&format!("It is {state} now, and has no episode.")),
    }
    for owed in &explained.owed {
        let at = owed.at.as_deref().map_or_else(|| "now".to_owned(), zone::minute);
        output.line(&format!("Next: {} {}, {}", owed.what, output.styled(Style::Strong, &at), one_line(&owed.why)));
    }
    if explained.owed.is_empty() {
        output.line(match row.state.as_str() {
            "forgotten" => "It is not read again, even if its file grows; `baton forget --undo` lifts that.",
            _ => "Nothing more is due: it changes when its file grows or on request.",
        });
    }
    explained.notes.iter().for_each(|note| output.line(&format!("Note: {}", one_line(note))));
}

/// A text on one line, its times on the person's clock.
fn one_line(text: &str) -> String {
    zone::with_times(&print::one_line(text, usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_together_has_its_time_once() {
        let output = Output::plain(None);
        let first = HistoryEvent {
            at: "T".to_owned(),
            cause: Some("c".to_owned()),
            told: "close\nasked for".to_owned(),
            why: Some("a person".to_owned()),
            before: Some("active".to_owned()),
            after: Some("active".to_owned()),
            ..HistoryEvent::default()
        };
        let second = HistoryEvent { after: Some("indexing".to_owned()), why: None, ..first.clone() };
        let other = HistoryEvent {
            cause: None,
            unreadable: Some("too new".to_owned()),
            kind: "x".to_owned(),
            ..second.clone()
        };
        assert_eq!(event(&output, &first, None), "T  close asked for\n     a person");
        assert_eq!(event(&output, &second, Some(&first)), "   close asked for\n     active -> indexing");
        assert_eq!(event(&output, &other, Some(&second)), "T  x: too new\n     active -> indexing");
    }
}
