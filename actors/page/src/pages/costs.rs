//! Costs: the agents' models at list prices, and Baton's own model calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_conversation::record::Timestamp;
use baton_protocol::answer::{AgentCost, AgentCosts, Cost, Costs};
use baton_protocol::{Agent, CostsParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::{agent_choice, non_empty};
use crate::ask::Failed;
use crate::layout::{self, counted, number, usd};
use crate::picture::{self, Bar, Stack};
use crate::site::Site;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Ways to group the costs: name on the wire, name on the page.
const GROUPS: &[(&str, &str)] = &[
    ("day", "Day"),
    ("week", "Week"),
    ("model", "Model"),
    ("project", "Project"),
    ("agent", "Agent"),
    ("session", "Session"),
];
/// Most rows of a table.
const ROWS: usize = 200;
/// Most bars of a picture; the table has all.
const BARS: usize = 60;
/// Most days of a picture that includes days without costs.
const DAYS: i64 = 120;
/// Most models with a colour of their own.
const SERIES: usize = 4;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    by: String,
    days: String,
    since: String,
    until: String,
    project: String,
    agent: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    let params = CostsParams {
        days: super::parse_number("days", &asked.days)?,
        since: non_empty(&asked.since),
        until: non_empty(&asked.until),
        by: non_empty(&asked.by),
        project: non_empty(&asked.project),
        agent: Agent::ALL.iter().copied().find(|agent| agent.as_str() == asked.agent),
        wait: false,
        caller: site.caller(),
    };
    let costs = match site.ask::<Costs>(method::COSTS, &params).await {
        Ok(costs) => cost_tables(&costs),
        Err(failed) => failed.beside_form()?,
    };
    Ok(layout::page("/costs", "Costs", &body(&asked, &costs)))
}

fn body(asked: &Params, costs: &Markup) -> Markup {
    let by = if asked.by.is_empty() { "day" } else { &asked.by };
    let others = [("by", asked.by.as_str()), ("project", &asked.project), ("agent", &asked.agent)];
    html! {
        h1 { "Costs" }
        form.filters {
            label for="by" { "By" }
            select #by name="by" {
                @for (name, title) in GROUPS { option value=(name) selected[*name == by] { (title) } }
            }
            label for="days" { "Days" }
            input #days name="days" type="number" min="1" max="36500" value=(asked.days) placeholder="all";
            (super::time_fields(&asked.since, &asked.until))
            label for="project" { "Project" }
            input #project name="project" value=(asked.project) placeholder="all";
            (agent_choice(&asked.agent))
            button { "Show" }
        }
        (super::span_links("/costs", &others))
        (costs)
    }
}

fn cost_tables(costs: &Costs) -> Markup {
    html! {
        section #agents-costs data-live {
            h2 { "Your agents, at list prices" }
            @match &costs.agents {
                None => p.problem { "Not known: the memory is not available now. The page Health tells why." },
                Some(agents) => (agent_costs(&costs.by, agents)),
            }
        }
        section #costs data-live { h2 { "Baton's own model calls" } (baton_costs(costs)) }
    }
}

fn agent_costs(by: &str, agents: &AgentCosts) -> Markup {
    html! {
        p { b { (list_price(&agents.total)) } " in " (counted(agents.sessions, "session"))
            @if agents.subagents > 0 { " and " (counted(agents.subagents, "subagent")) } "." }
        @if !agents.unpriced_models.is_empty() {
            p.problem { "+ without models whose price is not known: "
                (agents.unpriced_models.iter().map(|model| plain(model)).collect::<Vec<_>>().join(", ")) }
        }
        @if agents.rows.is_empty() { p.faint { "No request of a model was found." } }
        @else {
            (stacked(by, agents))
            div.scroll { table {
                thead { tr {
                    th { (title(by)) } th.n { "Cost" } th.n { "Requests" } th.n { "Input" } th.n { "Cache read" }
                    th.n { "Cache written" } th.n { "Output" } th { "Models" }
                } }
                tbody {
                    @for cost in agents.rows.iter().take(ROWS) { (agent_row(key(by, cost), cost)) }
                    (agent_row(html! { b { "In all" } }, &agents.total))
                }
            } }
        }
        @if agents.rows.len() > ROWS { p.faint { "The table has the first " (ROWS) " of " (agents.rows.len()) " rows; " code { "baton costs" } " has all." } }
        p.faint { (plain(&agents.note)) }
    }
}

/// The cost of tokens at list prices, with a mark if it is a lower bound.
pub(crate) fn list_price(cost: &AgentCost) -> String {
    let more = if cost.is_partial() { "+" } else { "" };
    cost.tokens.cost_usd.map_or_else(|| "not known".to_owned(), |amount| usd(amount) + more)
}

fn key(by: &str, cost: &AgentCost) -> Markup {
    let key = cost.key.as_str();
    match by {
        "session" => html! { a href=(format!("/session/{key}")) {
            @match &cost.title { Some(title) => (plain(title)), None => code { (key) } }
        } },
        "project" => super::project_link(Some(key)),
        "agent" => layout::agent(Some(key)),
        _ => html! { (plain(key)) },
    }
}

fn agent_row(key: Markup, cost: &AgentCost) -> Markup {
    let tokens = &cost.tokens;
    html! { tr {
        td.key { div { (key) } }
        td.n { (list_price(cost)) }
        td.n { (number(tokens.messages)) }
        td.n { (number(tokens.input_tokens)) }
        td.n { (number(tokens.cache_read_input_tokens)) }
        td.n { (number(tokens.cache_creation_input_tokens)) }
        td.n { (number(tokens.output_tokens)) @if tokens.output_is_lower_bound { "+" } }
        td.words {
            @for (index, model) in cost.models.iter().enumerate() {
                @if index > 0 { ", " }
                (plain(&model.model)) " "
                @match model.tokens.cost_usd { Some(amount) => span.faint { (usd(amount)) }, None => span.bad { "no price" } }
            }
        }
    } }
}

/// A bar for each row, stacked by model; the models that cost most have a colour of their own.
fn stacked(by: &str, agents: &AgentCosts) -> Markup {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let models = agents.total.models.iter().filter_map(|model| Some((model.model.as_str(), model.tokens.cost_usd?)));
    models.for_each(|(model, cost)| *sums.entry(model).or_default() += cost);
    let mut names: Vec<(&str, f64)> = sums.into_iter().filter(|(_, cost)| *cost > 0.0).collect();
    names.sort_by_key(|(_, cost)| Reverse((cost * 1e6) as u64));
    let own: Vec<&str> = names.iter().take(SERIES).map(|(name, _)| *name).collect();
    let mut series: Vec<String> = own.iter().map(|name| plain(name)).collect();
    if names.len() > SERIES {
        series.push("other models".to_owned());
    }
    let stack = |row: &AgentCost| {
        let mut values = vec![0.0; series.len()];
        for model in &row.models {
            let place = own.iter().position(|name| *name == model.model).unwrap_or(own.len());
            if let Some(value) = values.get_mut(place) {
                *value += model.tokens.cost_usd.unwrap_or_default();
            }
        }
        let label = match by {
            "project" => row.key.rsplit(['/', '\\']).next().unwrap_or(&row.key),
            "session" => row.title.as_deref().unwrap_or(&row.key),
            _ => &row.key,
        };
        Stack { label: plain(label), values }
    };
    let mut bars: Vec<Stack> = agents.rows.iter().take(BARS).map(stack).collect();
    if by == "day" {
        bars.reverse();
        bars = with_empty_days(bars);
    }
    html! {
        (picture::stacks("Cost at list prices, by model", &series, &bars, usd))
        @if agents.rows.len() > BARS { p.faint { "The picture shows the first " (BARS) " of " (agents.rows.len()) " rows." } }
    }
}

/// Adds the days without costs to bars by day, if they fit.
fn with_empty_days(bars: Vec<Stack>) -> Vec<Stack> {
    let number = |bar: &Stack| Timestamp::parse(&format!("{}T00:00:00Z", bar.label)).map(|at| at.0 / DAY_MS);
    let (Some(first), Some(last)) = (bars.first().and_then(number), bars.last().and_then(number)) else { return bars };
    if last - first >= DAYS {
        return bars;
    }
    let mut bars = bars.into_iter().peekable();
    let day = |day: i64| {
        let label: String = Timestamp(day * DAY_MS).to_string().chars().take(10).collect();
        bars.next_if(|bar| bar.label == label).unwrap_or(Stack { label, values: Vec::new() })
    };
    (first..=last).map(day).collect()
}

fn baton_costs(costs: &Costs) -> Markup {
    let bars: Vec<Bar> = costs
        .rows
        .iter()
        .rev()
        .map(|row| Bar { label: plain(&row.key), value: row.usd, shown: usd(row.usd) })
        .collect();
    html! {
        @if costs.spent_today_usd > 0.0 || costs.daily_budget_usd.is_some() {
            p { "Today " b { (usd(costs.spent_today_usd)) }
                @if let Some(budget) = costs.daily_budget_usd { " of " (usd(budget)) } ". Days are in UTC." }
        }
        @if costs.rows.is_empty() { p.faint { "No model was called." } }
        @else {
            (picture::bars("Cost", &bars))
            div.scroll { table {
                thead { tr { th { (title(&costs.by)) } th.n { "Cost" } th.n { "Calls" } th.n { "Input" } th.n { "Output" } th.n { "Calls of unknown cost" } } }
                tbody {
                    @for cost in &costs.rows { (row(html! { (plain(&cost.key)) }, cost)) }
                    (row(html! { b { "In all" } }, &costs.total))
                }
            } }
        }
    }
}

fn title(by: &str) -> &str {
    GROUPS.iter().find(|(name, _)| *name == by).map_or(by, |(_, title)| title)
}

fn row(key: Markup, cost: &Cost) -> Markup {
    html! { tr {
        td { (key) }
        td.n { (usd(cost.usd)) }
        td.n { (number(cost.calls)) }
        td.n { (number(cost.input_tokens)) }
        td.n { (number(cost.output_tokens)) }
        td.n { @if cost.unknown_calls > 0 { (number(cost.unknown_calls)) ", " (usd(cost.unknown_usd)) " at most" } }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_costs_have_their_place() {
        let bar = |label: &str| Stack { label: label.to_owned(), values: vec![1.0] };
        let days = |bars: Vec<Stack>| {
            let bars = with_empty_days(bars);
            bars.iter().map(|bar| format!("{} {}", bar.label, bar.values.len())).collect::<Vec<_>>()
        };
        let filled = days(vec![bar("2026-02-27"), bar("2026-03-01")]);
        assert_eq!(filled, ["2026-02-27 1", "2026-02-28 0", "2026-03-01 1"]);
        assert_eq!(days(vec![bar("2025-02-27"), bar("2026-03-01")]).len(), 2, "too far apart");
        assert_eq!(days(Vec::new()), [""; 0]);
    }
}
