//! `baton costs`: what models cost, those of the agents and those that Baton calls.

use std::process::ExitCode;

use baton_protocol::answer::{AgentCost, AgentCosts, Cost, Costs};
use baton_protocol::{Agent, CostsParams, method};
use clap::ValueEnum;

use super::{Error, question};
use crate::environment::{self, Environment};
use crate::print::{self, Cell, Column, Output, Style, Table};

const HELP: &str = "\
Two parts. Your agents, at list prices: the tokens in their transcripts, each request once, at the prices of llm.prices \
or of the built-in table. A plan or a discount is in no transcript, so this is what the tokens would cost, not what you \
paid. A model without a price is named and is in no cost. What a fork has copied counts for the session that it was \
copied from; subagents count for the session that started them, if it is known.

Baton's own model calls: those recorded in the event log, with the price at the time of the call. A call with an \
unknown end, because the daemon or the connection ended during it, is counted separately with its estimate: it may have \
cost that much or nothing.

Days are yours for the agents (TZ, else the system's zone), and in UTC for Baton's calls, like their budget.

JSON: \
{\"by\",\"days\",\"rows\":[{\"key\",\"calls\",\"input_tokens\",\"cached_tokens\",\"output_tokens\",\"usd\",\"unknown_calls\",\
\"running_calls\",\"unknown_usd\"}],\"total\":{…},\"spent_today_usd\",\"daily_budget_usd\",\"agents\":{\"rows\":[{\"key\",\
\"messages\",\"input_tokens\",\"output_tokens\",\"cache_read_input_tokens\",\"cache_creation_input_tokens\",\
\"cache_creation_1h_input_tokens\",\"output_is_lower_bound\",\"cost_usd\",\"models\":[{\"model\",…}]}],\"total\":{…},\
\"unpriced_models\",\"sessions\",\"subagents\",\"not_counted\",\"without_tokens\",\"note\"}}. cost_usd is null if no price is known.

Examples:
  baton costs                          by day
  baton costs --days 7 --by project
  baton costs --since \"last week\" --until \"this week\"
  baton costs --project . --by model
  baton costs --by week
  baton costs --by agent
  baton costs --by session --json";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// The session
    Session,
    /// The session's project
    Project,
    /// The session's agent
    Agent,
    /// The model
    Model,
    /// The day
    Day,
    /// The week, named by its Monday
    Week,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only the last N days, today included [default: all]
    #[arg(long, value_name = "N", value_parser = super::number::<u32, 1, 36_500>)]
    days: Option<u32>,
    /// Only from this day on: 2026-03-14, 2026-03, yesterday, "last week", or an age: 12h, 7d, 2w, 3m (months)
    #[arg(long, value_name = "WHEN", value_parser = super::timeline::moment)]
    since: Option<String>,
    /// Only the days before this one, in the same forms
    #[arg(long, value_name = "WHEN", value_parser = super::timeline::moment)]
    until: Option<String>,
    /// Only sessions of this agent, by its name or the first word of it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<Agent>,
    /// What to group the costs by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: By,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let by = match args.by {
        By::Session => "session",
        By::Project => "project",
        By::Agent => "agent",
        By::Model => "model",
        By::Day => "day",
        By::Week => "week",
    };
    let params = CostsParams {
        days: args.days,
        since: args.since.clone(),
        until: args.until.clone(),
        agent: args.agent,
        by: Some(by.to_owned()),
        project: args.options.project(),
        wait: args.options.waits(),
        caller: environment::caller(),
    };
    let (result, output) = question::call(environment, method::COSTS, &params, args.options.json)?;
    if args.options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let costs: Costs = super::parse_result(&result)?;
    output.line(&output.styled(Style::Strong, "Your agents, at list prices"));
    match &costs.agents {
        None => output.line("Not known: the memory is not available now. `baton status` tells why."),
        Some(agents) if agents.rows.is_empty() => output.line("No request of a model was found."),
        Some(agents) => {
            agents_table(&output, &costs.by, agents).lines(&output).iter().for_each(|line| output.line(line));
            let subagents = if agents.subagents > 0 {
                format!(" and {}", print::counted(agents.subagents, "subagent"))
            } else {
                String::new()
            };
            output.line(&format!("In {}{subagents}.", print::counted(agents.sessions, "session")));
        }
    }
    if let Some(agents) = &costs.agents {
        let unpriced = agents.unpriced_models.iter().map(|model| print::plain(model)).collect::<Vec<_>>().join(", ");
        if !unpriced.is_empty() {
            output.line(&format!("+ without models whose price is not known: {unpriced}"));
        }
        print::note(&print::plain(&agents.note));
    }
    output.line("");
    output.line(&output.styled(Style::Strong, "Baton's own model calls"));
    if costs.rows.is_empty() {
        output.line("No model was called.");
    } else {
        table(&costs).lines(&output).iter().for_each(|line| output.line(line));
    }
    if costs.spent_today_usd > 0.0 || costs.daily_budget_usd.is_some() {
        let of = costs.daily_budget_usd.map_or(String::new(), |budget| format!(" of {}", usd(budget)));
        print::note(&format!("Baton's own calls today: {}{of}", usd(costs.spent_today_usd)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The head of the column of keys.
fn head(by: &str) -> &'static str {
    match by {
        "session" => "SESSION",
        "project" => "PROJECT",
        "agent" => "AGENT",
        "model" => "MODEL",
        "week" => "WEEK OF",
        _ => "DAY",
    }
}

fn agents_table(output: &Output, by: &str, agents: &AgentCosts) -> Table<7> {
    let mut table = Table::new([
        Column::number("COST"),
        Column::number("REQUESTS"),
        Column::number("IN"),
        Column::number("CACHE READ"),
        Column::number("CACHE WRITE"),
        Column::number("OUT"),
        Column::words(head(by)),
    ]);
    let row = |cost: &AgentCost, key: Cell| {
        let tokens = &cost.tokens;
        let number = |count: u64| Cell::new(print::grouped(count));
        let more = if tokens.output_is_lower_bound { "+" } else { "" };
        [
            Cell::new(list_price(cost)),
            number(tokens.messages),
            number(tokens.input_tokens),
            number(tokens.cache_read_input_tokens),
            number(tokens.cache_creation_input_tokens),
            Cell::new(print::grouped(tokens.output_tokens) + more),
            key,
        ]
    };
    for cost in &agents.rows {
        let key = match by {
            "agent" => Agent::title_of(&cost.key).to_owned(),
            "session" => {
                let id = output.id(&cost.key);
                cost.title.as_ref().map_or_else(|| id.clone(), |title| format!("{id} {title}"))
            }
            _ => cost.key.clone(),
        };
        table.row(row(cost, Cell::new(print::plain(&key))));
    }
    if agents.rows.len() > 1 {
        table.row(row(&agents.total, Cell::styled(Style::Faint, "in all")));
    }
    table
}

/// What tokens cost at list prices, with a mark if it is more than that.
pub(super) fn list_price(cost: &AgentCost) -> String {
    let more = if cost.is_partial() { "+" } else { "" };
    cost.tokens.cost_usd.map_or_else(|| "?".to_owned(), |amount| usd(amount) + more)
}

fn table(costs: &Costs) -> Table<6> {
    let mut table = Table::new([
        Column::number("COST"),
        Column::number("CALLS"),
        Column::number("IN"),
        Column::number("OUT"),
        Column::number("UNKNOWN"),
        Column::words(head(&costs.by)),
    ]);
    let row = |cost: &Cost, key: Cell| {
        let unknown = match (cost.unknown_calls, cost.running_calls) {
            (0, 0) => String::new(),
            (calls, 0) => format!("{calls}, {} at most", usd(cost.unknown_usd)),
            (0, running) => format!("{running} under way, {} at most", usd(cost.unknown_usd)),
            (calls, running) => format!("{calls} and {running} under way, {} at most", usd(cost.unknown_usd)),
        };
        let number = |count: u64| Cell::new(print::grouped(count));
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
pub(super) fn usd(amount: f64) -> String {
    if amount > 0.0 && amount < 0.1 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use baton_protocol::answer::{ModelUsage, Tokens};

    use super::*;

    #[test]
    fn small_amounts_are_shown() {
        for (amount, told) in [(0.0, "$0.00"), (0.00123, "$0.0012"), (0.5, "$0.50"), (12.345, "$12.35")] {
            assert_eq!(usd(amount), told);
        }
    }

    #[test]
    fn what_has_no_price_is_never_nothing() {
        let model = |cost_usd| ModelUsage { model: "m".to_owned(), tokens: Tokens { cost_usd, ..Tokens::default() } };
        for (cost_usd, models, told) in [
            (Some(0.5), vec![model(Some(0.5))], "$0.50"),
            (Some(0.5), vec![model(Some(0.5)), model(None)], "$0.50+"),
            (None, vec![model(None)], "?"),
        ] {
            let tokens = Tokens { cost_usd, ..Tokens::default() };
            assert_eq!(list_price(&AgentCost { tokens, models, ..AgentCost::default() }), told);
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
