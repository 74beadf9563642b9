//! `baton recall`: what is known about a question, in one answer.

use std::process::ExitCode;

use baton_episode::digest::MODEL_MARK;
use baton_protocol::answer::{Recall, RecallEntry};
use baton_protocol::{RECALL_SESSIONS, RECALL_TOKENS, RecallParams, method};
use clap::Args;

use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};

const HELP: &str = "\
One answer for an agent that needs to know: the sessions that fit best, a line each, and of them what tells most: passages, \
decisions, errors with what mended them, facts, notes. What was decided otherwise later comes last, with the day. Never more \
tokens than the budget, whole entries only, best first; it says how many were left out. Each names its session and line, for \
`baton show ID --line N`.

Some questions are known by their words, and they get what they ask for and nothing else: what was worked on last time (or \
yesterday, last week, since 2026-03-14), what is still open, what the user prefers, why something was chosen, which approach \
failed, how an error was solved, which files belong to a work. Where nothing of it is known, that is said, above passages that \
have its words. Where such a question is about nothing in particular, the latest sessions answer it, those of this directory's \
project if it has any. A project that is named (in ledger-api, in this project) narrows it. The question may use the language \
of `baton search`.

JSON: {\"took\":[\"latest\"|\"open\"|\"preferences\"|\"decisions\"|\"failed\"|\"solved\"|\"files\"],\"project\",\"entries\":[{\"kind\": \
\"session\"|\"done\"|\"passage\"|\"note\"|\"decision\"|\"fixed\"|\"failed\"|\"open\"|\"next\"|\"file\"|\"fact\",\"text\",\"session_id\",\"line\",\"day\", \
\"uuid\",\"ended\",\"said_by\"}],\"left_out\",\"tokens\",\"notes\":[…],\"freshness\":{\"indexed_now\",\"pending\",\"position\"}}

Examples:
  baton recall what were we working on last time
  baton recall why did we choose keyset pagination --project ledger-api
  baton recall how did we solve error E0382 --budget 400
  baton recall what did we work on yesterday
  baton recall what is still open in harbor-ui --json";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(super) struct Typed {
    /// What you want to know
    #[arg(required = true)]
    query: Vec<String>,
    /// How many sessions to look into
    #[arg(long, short = 'n', value_name = "N", default_value_t = RECALL_SESSIONS, value_parser = clap::value_parser!(u32).range(1..=20))]
    limit: u32,
    /// How many tokens the answer may have
    #[arg(long, value_name = "TOKENS", default_value_t = RECALL_TOKENS, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    budget: u32,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let query = super::worded::joined(&typed.query);
    if query.trim().is_empty() {
        return Err(Error::Usage("the question is empty; say what you want to know".to_owned()));
    }
    let params = RecallParams {
        query,
        project: typed.options.project(),
        limit: typed.limit,
        budget_tokens: typed.budget,
        wait: typed.options.waits(),
        caller: environment::caller(),
    };
    let (result, output) = question::answered(environment, method::RECALL, &params, typed.options.json)?;
    if typed.options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    show(&output, &super::read(&result)?);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, recall: &Recall) {
    for entry in &recall.entries {
        let text = print::one_line(&entry.text, usize::MAX);
        let kind = output.styled(style(entry), &format!("{:8}", entry.kind));
        let until = entry.ended.as_deref().map_or_else(String::new, |day| format!(" (not any more since {day})"));
        output.line(&format!(
            "{kind} {text}{}{}  {}",
            if entry.said_by.is_some() { MODEL_MARK } else { "" },
            print::plain(&until),
            output.styled(Style::Faint, &format!("({})", place(output, entry)))
        ));
    }
    if recall.entries.is_empty() && recall.notes.is_empty() {
        output.line("Nothing was found.");
    }
    for note in &recall.notes {
        print::note(&format!("\n{}.", print::plain(note)));
    }
    if let Some(note) = &recall.freshness.note {
        print::note(&format!("\n{}.", print::plain(note)));
    }
    super::search::tell_vectors(recall.freshness.vectors.as_deref());
    if recall.freshness.left_out_asking {
        print::note("\nWhat this session itself said last was left out; name its id to look into it too.");
    }
    if recall.freshness.asking_last {
        print::note("\nWhat this session itself said before was looked into last.");
    }
    if recall.freshness.pending > 0 {
        let pending = print::counted(recall.freshness.pending, "session");
        print::note(&format!("\n{pending} still to be read and may be missing."));
    }
}

fn style(entry: &RecallEntry) -> Style {
    match entry.kind.as_str() {
        _ if entry.ended.is_some() => Style::Faint,
        "session" => Style::Strong,
        "failed" => Style::Bad,
        "open" | "next" => Style::Warning,
        "fixed" => Style::Good,
        _ => Style::Faint,
    }
}

/// `2026-03-14, 7acd37a8:12`; for a note, the beginning of its uuid.
fn place(output: &Output, entry: &RecallEntry) -> String {
    let id = output.id(&entry.session_id);
    let line = entry.line.map_or_else(String::new, |line| format!(":{line}"));
    let day = entry.day.as_deref().map_or_else(String::new, |day| format!("{day}, "));
    print::plain(&format!("{day}{id}{line}"))
}
