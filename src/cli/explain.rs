//! `baton explain`: why a session is in its state.

use std::process::ExitCode;

use baton_protocol::answer::{Explain, HistoryEvent, Row};
use baton_protocol::{ExplainParams, method};

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows a session's history from the log: each event with its time, its reason and its effect; then the current state, \
what is still owed to the session and when, and whatever else affects it: switches, files with the same id, lines that \
could not be read. Reasons name the timeouts configured now. `baton replay` shows in detail what each event changed.

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
    let mut last: Option<&HistoryEvent> = None;
    for happened in &explained.events {
        output.line(&event(&output, happened, last));
        last = Some(happened);
    }
    output.line("");
    end(&output, &explained);
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
    let time = if together { " ".repeat(happened.at.len()) } else { happened.at.clone() };
    let what = match &happened.unreadable {
        Some(why) => output.styled(Style::Warning, &format!("{}: {}", happened.kind, one_line(why))),
        None => one_line(&happened.told),
    };
    let mut text = format!("{}  {what}", output.styled(Style::Faint, &time));
    let indent = " ".repeat(happened.at.len() + 4);
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

/// Formats the state with its reason, what ended the session, and the note of the close.
fn state_of(row: &Row) -> String {
    let mut state = row.state.clone();
    if let Some(why) = &row.why {
        state.push_str(&format!(" ({why})"));
    }
    if let Some(end) = &row.end {
        state.push_str(&format!(", ended by {end}"));
        // Without an end the note belongs to an earlier close, after which the session went on.
        if let Some(note) = &row.close_note {
            state.push_str(&format!(": {}", one_line(note)));
        }
    }
    state
}

fn end(output: &Output, explained: &Explain) {
    let row = &explained.row;
    output.line(&format!("Now it is {}.", output.styled(style(&row.state), &state_of(row))));
    match &row.episode_uuid {
        Some(episode) => output.line(&format!("Its episode is {episode}.")),
        None => output.line("It has no episode."),
    }
    for owed in &explained.owed {
        let at = owed.at.as_deref().unwrap_or("now");
        output.line(&format!("Owed: {} {}, {}", owed.what, output.styled(Style::Strong, at), one_line(&owed.why)));
    }
    if explained.owed.is_empty() {
        output.line(match row.state.as_str() {
            "forgotten" => {
                "Nothing is owed: it is not read again, even if its file grows; `baton forget --undo` lifts that."
            }
            _ => "Nothing is owed: it changes when its file grows or on request.",
        });
    }
    explained.notes.iter().for_each(|note| output.line(&format!("Note: {}", one_line(note))));
}

fn one_line(text: &str) -> String {
    print::one_line(text, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_of_a_close_is_shown_while_that_close_ends_the_session() {
        let row = |state: &str, end: Option<&str>| Row {
            state: state.to_owned(),
            end: end.map(str::to_owned),
            close_note: Some("done".to_owned()),
            ..Row::default()
        };
        assert_eq!(state_of(&row("indexed", Some("explicit"))), "indexed, ended by explicit: done");
        assert_eq!(state_of(&row("inactive", None)), "inactive", "it has gone on since");
    }

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
