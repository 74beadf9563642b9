//! `baton patterns`: recurring sequences, failures and retries.

use std::process::ExitCode;

use baton_protocol::answer::Patterns;
use baton_protocol::{Agent, PatternsParams, method};
use clap::ValueEnum;

use super::question::{heading, place, rate, row};
use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows which tools and programs follow each other and how often the last one succeeds, which commands fail more often \
than not, and what failed at least three times in a row, over the newest 2,000 sessions. Nothing is shown that was \
seen fewer than three times. Rates count only runs with a known outcome; a command before a pipe has none. Without \
--project it covers this directory's project if anything is known about it, otherwise all projects.

JSON: \
{\"message\",\"project\",\"agent\",\"sessions\",\"more_sessions\",\"sequences\":[{\"steps\",\"count\",\"ok\",\"failed\",\"success_rate\",\"sessions\"}], \
\"mostly_failing\":[{\"command\",\"count\",\"ok\",\"failed\",\"success_rate\",\"last_failure\"}], \
\"retry_loops\":[{\"what\",\"loops\",\"failures\",\"longest\",\"resolved\",\"without_edits\",\"last\"}],\"more\",\"diagram\",\"freshness\"}

Examples:
  baton workflows                            the same as `baton patterns`: of this project
  baton patterns -p ledger-api -n 20         more of another
  baton patterns --agent codex               of what one agent does
  baton patterns --format dot | dot -Tsvg    the sequences as a graph";

/// Format of the diagram of sequences.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A Mermaid flowchart
    Mermaid,
    /// A Graphviz digraph
    Dot,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Only this agent, by its name or the first word of it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<Agent>,
    /// How many entries of each kind to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    /// Print the sequences as a graph
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let format = args.format.map(|format| match format {
        Format::Mermaid => "mermaid".to_owned(),
        Format::Dot => "dot".to_owned(),
    });
    let params = PatternsParams {
        format,
        pairs: false,
        project: args.project.as_deref().map(super::project),
        agent: args.agent,
        limit: args.limit,
        wait: !args.no_wait,
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::PATTERNS, &params, args.json)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Patterns = super::parse_result(&result)?;
    show(&output, &answer);
    question::note_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, patterns: &Patterns) {
    if let Some(diagram) = &patterns.diagram {
        return output.line(print::plain(diagram).trim_end());
    }
    heading(output, &patterns.message);
    if let Some(project) = &patterns.project {
        let scope = format!("Only of {}; another with --project.", print::one_line(project, usize::MAX));
        output.line(&output.styled(Style::Faint, &scope));
    }
    for sequence in &patterns.sequences {
        let known = sequence.ok + sequence.failed;
        let rate = sequence.success_rate;
        let rate = rate.map(|rate| format!(", {} of {known} known succeed ({:.0} %)", sequence.ok, rate * 100.0));
        let rate = rate.unwrap_or_default();
        let times = print::counted(u64::from(sequence.count), "time");
        row(output, 2, &sequence.steps.join(" → "), &format!("{times}{rate}"));
    }
    if !patterns.mostly_failing.is_empty() {
        output.line(&format!("\n{}", output.styled(Style::Warning, "Mostly failing:")));
    }
    for failing in &patterns.mostly_failing {
        row(output, 2, &failing.command, &rate(&failing.runs));
        if let Some(last) = &failing.last_failure {
            row(output, 6, &last.text, &place(output, &last.session_id, last.line, last.at.as_deref()));
        }
    }
    if !patterns.retry_loops.is_empty() {
        output.line(&format!("\n{}", output.styled(Style::Warning, "Retried again and again:")));
    }
    for retry in &patterns.retry_loops {
        let loops = print::counted(u64::from(retry.loops), "loop");
        let about = format!("{loops}, up to {} failures in a row, {} ended well", retry.longest, retry.resolved);
        row(output, 2, &retry.what, &about);
        row(
            output,
            6,
            &retry.last.text,
            &place(output, &retry.last.session_id, retry.last.line, retry.last.at.as_deref()),
        );
    }
    if patterns.more > 0 {
        let more = if patterns.more == 1 { "entry" } else { "entries" };
        output.line(&format!("\n  and {} other {more}; --limit shows more", patterns.more));
    }
    if patterns.more_sessions > 0 {
        let more = print::counted(u64::from(patterns.more_sessions), "older session");
        print::note(&format!("\n{more} not checked."));
    }
}
