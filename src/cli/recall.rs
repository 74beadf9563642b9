//! `baton recall`: what is known about a question, in one answer.

use std::process::ExitCode;

use baton_conversation::printable::to_sentence;
use baton_episode::digest::MODEL_MARK;
use baton_protocol::answer::{Author, Recall, RecallEntry};
use baton_protocol::{RECALL_SESSIONS, RECALL_TOKENS, RecallParams, method};

use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Marks, Output, Style};

const HELP: &str = "\
Gives one answer, short enough for an agent: the sessions that match best, one line each, and the most telling parts \
of them: passages, decisions, errors with their fixes, facts, notes. Decisions that were changed later come last, with \
the day; what a later session may have replaced comes below that and names it (`later:`). The answer never exceeds the \
token budget; it has whole entries only, best first, and says how many were left out. Each entry names its session and \
line, for `baton show ID --line N`.

Some questions are recognised by their words and get just what they ask for: what was worked on last time (or \
yesterday, last week, since 2026-03-14), what is still open, what the user prefers, why something was chosen, which \
approach failed, how an error was solved, which files belong to a piece of work. If none of that is known, the answer \
says so, above passages with the question's words. If what was found has too little of the question, nothing is \
claimed, and the nearest sessions are quoted line by line. If such a question names no subject, the latest sessions answer it, those \
of this directory's project if it has any. A project named in the question (in ledger-api, in this project) \
narrows it. The question may use the query language of `baton search`.

JSON: \
{\"took\":[\"latest\"|\"open\"|\"preferences\"|\"decisions\"|\"failed\"|\"solved\"|\"files\"],\"project\",\"answer\":[{\"kind\": \
\"session\"|\"done\"|\"answer\"|\"passage\"|\"note\"|\"decision\"|\"fixed\"|\"failed\"|\"open\"|\"next\"|\"file\"|\"fact\",\"text\",\"session_id\",\"line\",\"at\",\"day\", \
\"uuid\",\"ended\",\"later\",\"said_by\"}],\"abstained\",\"nearest\":[{\"session_id\",\"title\",\"day\",\"later\",\"said\":[{\"text\",\"line\"}],\"line\"}],\"left_out\",\"tokens\",\"notes\":[…],\"freshness\":{\"indexed_now\",\"pending\",\"position\"}}

Examples:
  baton recall what were we working on last time
  baton recall why did we choose keyset pagination --project ledger-api
  baton recall how did we solve error E0382 --budget 400
  baton recall what did we work on yesterday
  baton recall what is still open in harbor-ui --json";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// What you want to know
    #[arg(required = true)]
    query: Vec<String>,
    /// How many sessions to use
    #[arg(long, short = 'n', value_name = "N", default_value_t = RECALL_SESSIONS, value_parser = super::number::<u32, 1, 20>)]
    limit: u32,
    /// Most tokens in the answer
    #[arg(long, value_name = "TOKENS", default_value_t = RECALL_TOKENS, value_parser = super::number::<u32, 200, 20_000>)]
    budget: u32,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let query = super::word_args::join(&args.query);
    if query.trim().is_empty() {
        return Err(Error::Usage("the question is empty; say what you want to know".to_owned()));
    }
    let params = RecallParams {
        query,
        project: args.options.project(),
        limit: args.limit,
        budget_tokens: args.budget,
        wait: args.options.waits(),
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::RECALL, &params, args.options.json)?;
    if args.options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    show(&output, &params.query, &super::parse_result(&result)?);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, query: &str, recall: &Recall) {
    let marks = Marks::of_query(query);
    for entry in &recall.answer {
        let text = print::one_line(&entry.text, usize::MAX);
        let kind = output.styled(style(entry), &format!("{:8}", entry.kind));
        let until = entry.ended.as_deref().map_or_else(String::new, |day| format!("  (no longer valid since {day})"));
        let text = output.marked(&marks, &text);
        let model = if entry.said_by.is_some() { MODEL_MARK } else { "" };
        let place = place(output, (&entry.from, &entry.day), (&entry.session_id, entry.line), &entry.later);
        let place = output.styled(Style::Faint, &format!("({place})"));
        output.hanging(9, &format!("{kind} {text}{model}{}  {place}", print::plain(&until)));
    }
    show_nearest(output, recall);
    if recall.answer.is_empty() && recall.notes.is_empty() {
        output.line("Nothing was found.");
    }
    // Above the nearest sessions, the first note has been printed.
    for (number, note) in recall.notes.iter().enumerate().skip(usize::from(!recall.nearest.is_empty())) {
        let gap = if number == 0 && recall.answer.is_empty() { "" } else { "\n" };
        print::note(&format!("{gap}{}.", print::plain(note)));
    }
    if let Some(note) = &recall.freshness.note {
        print::note(&format!("\n{}.", print::plain(note)));
    }
    super::search::note_vectors(recall.freshness.vectors.as_deref());
    if recall.freshness.left_out_asking {
        print::note("\nThe latest messages of this session itself were left out; name its id to include them.");
    }
    if recall.freshness.asking_last {
        print::note("\nEarlier messages of this session itself come last.");
    }
    if recall.freshness.pending > 0 {
        let pending = print::counted(recall.freshness.pending, "session");
        print::note(&format!("\n{pending} still to be read and may be missing."));
    }
}

/// Prints that nothing is claimed, and what the nearest sessions say.
fn show_nearest(output: &Output, recall: &Recall) {
    if recall.nearest.is_empty() {
        return;
    }
    if let Some(note) = recall.notes.first() {
        output.line(&format!("{} Nearest:", to_sentence(&print::plain(note))));
    }
    for near in &recall.nearest {
        let line = near.line.filter(|_| near.said.is_empty());
        let place = place(output, (&near.from, &near.day), (&near.session_id, line), &near.later);
        let title = output.styled(Style::Strong, &print::one_line(&near.title, usize::MAX));
        output.line(&format!("\n{title}  {}", output.styled(Style::Faint, &format!("({place})"))));
        for said in &near.said {
            let line = output.styled(Style::Faint, &format!("{:>7}", format!(":{}", said.line)));
            output.hanging(9, &format!("{line}  {}", print::one_line(&said.text, usize::MAX)));
        }
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

/// `Ann, 2026-03-14, 7acd37a8:12; later: 1bc1004a`; of a note the beginning of its uuid.
fn place(
    output: &Output,
    (from, day): (&Option<Author>, &Option<String>),
    (id, line): (&str, Option<u64>),
    later: &Option<String>,
) -> String {
    let before = from.iter().map(|from| &from.name).chain(day).map(|said| format!("{said}, ")).collect::<String>();
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    let later = later.as_ref().map_or_else(String::new, |later| format!("; later: {}", output.id(later)));
    print::plain(&format!("{before}{}{line}{later}", output.id(id)))
}
