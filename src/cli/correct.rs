//! `baton correct`: a person's corrections of what is told of a session.

use std::process::ExitCode;

use baton_protocol::answer::{Correct, CorrectEntry};
use baton_protocol::{CorrectParams, method};

use super::Error;
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Without a correction it lists what can be corrected: decisions, fixes, open items and next steps, each with its number \
and the line of the transcript. N is such a number, or L and the line (L120); lines stay the same when a session goes \
on, numbers may not. Each option may be repeated. What stands already is not recorded again.

What is wrong is told no more, in `recall`, in a handoff, in notes and among facts; what is superseded is told after \
what holds, marked as yours. A correction is kept when the session is read again, indexed anew, or forgotten and \
restored; only the text of a title is erased by `baton forget`, for good.

JSON: {\"session_id\",\"message\",\"changed\",\"title\",\"title_said_by\",\"entries\":[{\"number\",\"kind\",\"line\",\"at\",\
\"text\",\"verdict\"}],\"unmatched\"}; kind is decision, fix or open; verdict is wrong, superseded, done or not_a_fix

Examples:
  baton correct a94e0d17                          what can be corrected
  baton correct a94e0d17 --title \"Cache limits\"   give it a title
  baton correct a94e0d17 --wrong 2 --done L120    that was never decided; that is done
  baton correct a94e0d17 --undo 2                 take the correction of entry 2 back";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A session's id, or the beginning of one
    session: String,
    /// Give the session a title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A decision that was never made, or that says something else
    #[arg(long, value_name = "N")]
    wrong: Vec<String>,
    /// A decision that no longer holds
    #[arg(long, value_name = "N")]
    superseded: Vec<String>,
    /// An open item or next step that is done
    #[arg(long, value_name = "N")]
    done: Vec<String>,
    /// A fix that fixed nothing
    #[arg(long, value_name = "N")]
    not_a_fix: Vec<String>,
    /// Take back the correction of an entry, `title`, or `all`
    #[arg(long, value_name = "N")]
    undo: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = CorrectParams {
        session: Some(super::session(&args.session)),
        title: args.title.clone(),
        wrong: args.wrong.clone(),
        superseded: args.superseded.clone(),
        done: args.done.clone(),
        not_a_fix: args.not_a_fix.clone(),
        undo: args.undo.clone(),
        caller: environment::caller(),
    };
    let result = super::ask(environment, |client| client.call_raw(method::CORRECT, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    show(&output, &super::parse_result(&result)?);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, corrected: &Correct) {
    output.line(&output.styled(Style::Strong, &corrected.session_id));
    let by = corrected.title_said_by.as_ref().map(|by| format!(" · {by}")).unwrap_or_default();
    output.line(&format!("{}{by}", print::plain(&corrected.title)));
    for entry in &corrected.entries {
        output.line(&row(entry, output.width()));
    }
    if corrected.unmatched > 0 {
        let earlier = print::counted(corrected.unmatched, "earlier correction");
        output.line(&format!("{earlier} of entries that the session no longer has; `--undo all` drops them"));
    }
    output.line(&print::plain(&corrected.message));
}

/// `  3  L120  decision  superseded: use sled`.
fn row(entry: &CorrectEntry, width: usize) -> String {
    let verdict = entry.verdict.as_ref().map(|verdict| format!("{}: ", verdict.replace('_', " "))).unwrap_or_default();
    let line = format!("L{}", entry.line);
    let head = format!("{:>3}  {line:7}  {:8}  ", entry.number, entry.kind);
    format!("{head}{}", print::one_line(&format!("{verdict}{}", entry.text), width.saturating_sub(head.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line() {
        let entry = CorrectEntry {
            number: 3,
            kind: "fix".into(),
            line: 120,
            text: "cargo test: boom -> passed".into(),
            verdict: Some("not_a_fix".into()),
            ..CorrectEntry::default()
        };
        assert_eq!(row(&entry, 80), "  3  L120     fix       not a fix: cargo test: boom -> passed");
    }
}
