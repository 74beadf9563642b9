//! `baton today`: what runs, what was finished, what is open and what was spent.

use std::process::ExitCode;

use baton_protocol::answer::{AgentCost, Today};
use baton_protocol::{TodayParams, method};

use super::costs::{list_price, usd};
use super::question::{place, row};
use super::{Error, question, timeline};
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows the sessions that run (they have not ended), those that ended and were active today, what the latest session of each project has left open \
(of projects that were active within 30 days), and what the tokens of today and of seven days cost at list prices. \
The day is yours (TZ, else the system's zone). Subagents' sessions are not listed; their tokens count.

JSON: {\"day\",\"running\":[as in timeline],\"more_running\",\"finished\":[as in timeline],\"more_finished\", \
\"open\":[{\"project\",\"items\":[{\"text\",\"session_id\",\"line\",\"at\"}],\"more\"}],\"more_projects\", \
\"spent\":{\"today\":{as a row of costs},\"week\":{…},\"note\"},\"own_calls_usd\",\"freshness\"}

Examples:
  baton today
  baton today --project .
  baton today --json -n 50";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// How many entries of each kind to show
    #[arg(long, short = 'n', value_name = "N", value_parser = super::number::<u32, 1, 100>)]
    limit: Option<u32>,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = TodayParams {
        project: args.options.project(),
        limit: args.limit.unwrap_or_default(),
        wait: args.options.waits(),
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::TODAY, &params, args.options.json)?;
    if args.options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let today: Today = super::parse_result(&result)?;
    show(&output, &today);
    question::note_freshness(&today.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, today: &Today) {
    output.line(&output.styled(Style::Strong, &format!("Today, {}", print::plain(&today.day))));
    for (title, sessions, more) in
        [("Running", &today.running, today.more_running), ("Finished today", &today.finished, today.more_finished)]
    {
        section(output, title);
        if sessions.is_empty() {
            output.line("  none");
        }
        sessions.iter().for_each(|session| timeline::show(output, session, true));
        and_more(output, more, "session");
    }
    section(output, "Left open by the latest session of each project active in the last 30 days");
    if today.open.is_empty() {
        output.line("  nothing");
    }
    for project in &today.open {
        output.line(&format!("  {}", print::one_line(&project.project, usize::MAX)));
        for item in &project.items {
            let place = place(output, &item.session_id, item.line, item.at.as_deref());
            row(output, 4, &item.text, &place);
        }
        and_more(output, project.more, "open item");
    }
    if today.more_projects {
        output.line(&output.styled(Style::Faint, "  There may be more: `-n 100`, or `baton project` in each."));
    }
    section(output, "Spent, at list prices");
    match &today.spent {
        None => output.line("  Not known: the memory is not available now. `baton status` tells why."),
        Some(spent) => {
            output.line(&format!("  today   {}", spending(&spent.today)));
            output.line(&format!("  7 days  {}", spending(&spent.week)));
            print::note(&format!("  {}", print::plain(&spent.note)));
        }
    }
    if today.own_calls_usd > 0.0 {
        output.line(&format!("  Baton's own model calls, since midnight in UTC: {}", usd(today.own_calls_usd)));
    }
}

fn section(output: &Output, title: &str) {
    output.line("");
    output.line(&output.styled(Style::Strong, title));
}

fn spending(cost: &AgentCost) -> String {
    format!("{} for {}", list_price(cost), print::counted(cost.tokens.messages, "request"))
}

fn and_more(output: &Output, count: u32, what: &str) {
    if count > 0 {
        let more = print::counted(u64::from(count), &format!("more {what}"));
        output.line(&output.styled(Style::Faint, &format!("  and {more}")));
    }
}
