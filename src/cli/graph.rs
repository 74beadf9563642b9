//! `baton graph`: what is known around a thing, as of a time.

use std::collections::BTreeMap;
use std::process::ExitCode;

use baton_protocol::answer::Graph;
use baton_protocol::{GraphParams, method};

use super::question::{heading, row};
use super::{Error, question};
use crate::environment::{self, Environment, zone};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows the entities (files, commands, errors, decisions, sessions and others) around one, and the facts between them that \
held at a time: a fact counts if it became valid by then and had not ceased to be. Without ABOUT the best-supported facts \
are shown. At most 60 entities and 200 facts; what is left out is counted. ABOUT is a uuid from --json, a session's id, a \
name, or words that find one.

JSON: {\"message\",\"center\",\"as_of\",\"nodes\":[{\"uuid\",\"name\",\"label\",\"hops\",\"facts\"}],\"more_nodes\", \
\"facts\":[{\"uuid\",\"name\",\"fact\",\"source\",\"target\",\"valid_at\",\"invalid_at\",\"sessions\",\"session_id\",\"line\",\"at\"}], \
\"more_facts\",\"cut\",\"days\",\"freshness\"}
cut: there are more facts than were looked at, so that the numbers are lower bounds. days: when facts of the middle began or ceased.

Examples:
  baton graph src/auth.rs                    what is known around a file
  baton graph src/auth.rs --as-of 2026-03-14 as it was at the end of that day
  baton graph -p ledger-api                  the best-supported facts of a project";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A name, a session's id, a uuid, or words that find an entity
    about: Vec<String>,
    /// Facts that held then: 2026-03-14 (its end), 2026-03-14T10:00:00Z, yesterday, or an age: 12h, 7d, 2w, 3m, 1y
    #[arg(long, value_name = "T", value_parser = super::timeline::moment)]
    as_of: Option<String>,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = GraphParams {
        about: args.about.join(" "),
        as_of: args.as_of.clone(),
        project: args.options.project(),
        wait: args.options.waits(),
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::GRAPH, &params, args.options.json)?;
    let answer: Graph = super::parse_result(&result)?;
    if args.options.json {
        output.json(&result);
    } else {
        show(&output, &answer);
        question::note_freshness(&answer.freshness);
    }
    // As with a project that is not known.
    let is_unknown = !params.about.trim().is_empty() && answer.center.is_none();
    Ok(if is_unknown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(output: &Output, graph: &Graph) {
    heading(output, &graph.message);
    let mut by_label: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in &graph.nodes {
        by_label.entry(&node.label).or_default().push(&node.name);
    }
    for (label, names) in &by_label {
        let label = if label.is_empty() { "Other" } else { label };
        let names = names.iter().map(|name| print::one_line(name, 60)).collect::<Vec<_>>().join(", ");
        output.hanging(12, &format!("  {:<9} {names}", print::plain(label)));
    }
    if !graph.facts.is_empty() {
        output.line("");
    }
    for fact in &graph.facts {
        let place = match (&fact.session_id, fact.line) {
            (Some(session), Some(line)) => super::question::place(output, session, line, fact.at.as_deref()),
            _ => String::new(),
        };
        // The place is that of the latest session, and it held before that.
        let [said, since] = [&fact.at, &fact.valid_at].map(|at| at.as_deref().map(zone::day).unwrap_or_default());
        let since = if since == said || since.is_empty() { String::new() } else { format!(", since {since}") };
        let until = fact.invalid_at.as_deref().map(|at| format!(", until {}", zone::day(at))).unwrap_or_default();
        row(output, 2, &fact.fact, &format!("{}, {place}{since}{until}", fact.name));
    }
    if graph.more_nodes > 0 || graph.more_facts > 0 {
        let least = if graph.cut { "at least " } else { "" };
        let (nodes, facts) = (u64::from(graph.more_nodes), u64::from(graph.more_facts));
        let left = format!("{} and {} are not shown", print::counted(nodes, "thing"), print::counted(facts, "fact"));
        output.line(&output.styled(Style::Faint, &format!("\n  {least}{left}")));
    } else if graph.cut {
        output.line(&output.styled(Style::Faint, "\n  There are further facts that were not looked at."));
    }
}
