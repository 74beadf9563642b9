//! `baton costs`: what calls to models cost.

use std::process::ExitCode;

use baton_protocol::answer::{Cost, Costs};
use baton_protocol::{Agent, CostsParams, method};
use clap::ValueEnum;

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Cell, Column, Output, Style, Table};

const HELP: &str = "\
Adds up the model calls recorded in the event log. Tokens are as reported by the endpoint; prices are those of \
llm.prices or of the built-in table at the time of the call. A call with an unknown end, because the daemon or the \
connection ended during it, is counted separately with its estimate: it may have cost that much or nothing. The \
agents' own models are not included; `baton show` has those of a session. Days are in UTC.

JSON: \
{\"by\",\"days\",\"rows\":[{\"key\",\"calls\",\"input_tokens\",\"cached_tokens\",\"output_tokens\",\"usd\",\"unknown_calls\",\
\"running_calls\",\"unknown_usd\"}],\"total\":{…},\"spent_today_usd\",\"daily_budget_usd\"}.

Examples:
  baton costs                          by day
  baton costs --days 7 --by project
  baton costs --by agent
  baton costs --by session --json";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// The session that was enriched
    Session,
    /// The project of that session
    Project,
    /// The agent of that session
    Agent,
    /// The model that was called
    Model,
    /// The day of the call, in UTC
    Day,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only calls of the last N days, today included [default: all]
    #[arg(long, value_name = "N", value_parser = super::number::<u32, 1, 36_500>)]
    days: Option<u32>,
    /// Only calls for sessions of this agent, by its name or the first word of it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<Agent>,
    /// What to group the costs by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: By,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let by = match args.by {
        By::Session => "session",
        By::Project => "project",
        By::Agent => "agent",
        By::Model => "model",
        By::Day => "day",
    };
    let params = CostsParams { days: args.days, agent: args.agent, by: Some(by.to_owned()) };
    let result = super::ask(environment, |client| client.call_raw(method::COSTS, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let costs: Costs = super::parse_result(&result)?;
    if costs.rows.is_empty() {
        output.line("No model was called.");
    } else {
        table(&costs).lines(&output).iter().for_each(|line| output.line(line));
    }
    let of = costs.daily_budget_usd.map_or(String::new(), |budget| format!(" of {}", usd(budget)));
    print::note(&format!("\ntoday: {}{of}", usd(costs.spent_today_usd)));
    Ok(ExitCode::SUCCESS)
}

fn table(costs: &Costs) -> Table<6> {
    let mut table = Table::new([
        Column::number("COST"),
        Column::number("CALLS"),
        Column::number("IN"),
        Column::number("OUT"),
        Column::number("UNKNOWN"),
        Column::words(match costs.by.as_str() {
            "session" => "SESSION",
            "project" => "PROJECT",
            "agent" => "AGENT",
            "model" => "MODEL",
            _ => "DAY",
        }),
    ]);
    let row = |cost: &Cost, key: Cell| {
        let unknown = match (cost.unknown_calls, cost.running_calls) {
            (0, 0) => String::new(),
            (calls, 0) => format!("{calls}, {} at most", usd(cost.unknown_usd)),
            (0, running) => format!("{running} under way, {} at most", usd(cost.unknown_usd)),
            (calls, running) => format!("{calls} and {running} under way, {} at most", usd(cost.unknown_usd)),
        };
        let number = |count: u64| Cell::new(count.to_string());
        [
            Cell::new(usd(cost.usd)),
            number(cost.calls),
            number(cost.input_tokens),
            number(cost.output_tokens),
            Cell::new(unknown),
            key,
        ]
    };
    for cost in &costs.rows {
        table.row(row(cost, Cell::new(print::plain(&cost.key))));
    }
    if costs.rows.len() > 1 {
        table.row(row(&costs.total, Cell::styled(Style::Faint, "in all")));
    }
    table
}

/// Formats an amount in cents, or with four decimals if it is below 10 cents.
fn usd(amount: f64) -> String {
    if amount > 0.0 && amount < 0.1 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_shown() {
        for (amount, told) in [(0.0, "$0.00"), (0.00123, "$0.0012"), (0.5, "$0.50"), (12.345, "$12.35")] {
            assert_eq!(usd(amount), told);
        }
    }

    #[test]
    fn what_is_unknown_stands_apart() {
        let cost = |key: &str, unknown_calls| Cost {
            key: key.to_owned(),
            calls: 2,
            usd: 0.5,
            unknown_calls,
            unknown_usd: 0.25,
            ..Cost::default()
        };
        let costs = Costs {
            by: "model".to_owned(),
            rows: vec![cost("a", 0), cost("b", 1)],
            total: cost("", 1),
            ..Costs::default()
        };
        let told = table(&costs).lines(&Output::new()).join("\n");
        assert!(told.contains("MODEL") && told.contains("1, $0.25 at most") && told.contains("in all"), "{told}");
    }
}
