//! Costs: what calls of models by Baton itself cost.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_protocol::answer::{Cost, Costs};
use baton_protocol::{CostsParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::optional;
use crate::ask::Failed;
use crate::layout::{self, number, usd};
use crate::picture::{self, Bar};
use crate::server::Site;

/// Ways to group the costs: name on the wire, name on the page.
const GROUPS: &[(&str, &str)] =
    &[("day", "Day"), ("model", "Model"), ("project", "Project"), ("agent", "Agent"), ("session", "Session")];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    by: String,
    days: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Asked>) -> Result<Html<String>, Failed> {
    let params = CostsParams { days: asked.days.parse().ok(), by: optional(&asked.by), ..CostsParams::default() };
    let costs: Costs = site.ask(method::COSTS, &params).await?;
    Ok(layout::page("/costs", "Costs", &body(&asked, &costs)))
}

fn body(asked: &Asked, costs: &Costs) -> Markup {
    let bars: Vec<Bar> = costs
        .rows
        .iter()
        .rev()
        .map(|row| Bar { label: plain(&row.key), value: row.usd, shown: usd(row.usd) })
        .collect();
    html! {
        h1 { "Costs" }
        form.filters {
            label for="by" { "By" }
            select #by name="by" {
                @for (name, title) in GROUPS { option value=(name) selected[*name == costs.by] { (title) } }
            }
            label for="days" { "Days" }
            input #days name="days" type="number" min="1" max="36500" value=(asked.days) placeholder="all";
            button { "Show" }
        }
        section #costs data-live {
            p { "Calls of models by Baton: today " b { (usd(costs.spent_today_usd)) }
                @if let Some(budget) = costs.daily_budget_usd { " of " (usd(budget)) } "." }
            @if costs.rows.is_empty() { p.faint { "No model was called." } }
            @else {
                (picture::bars("Cost", &bars))
                div.scroll { table {
                    thead { tr { th { (title(&costs.by)) } th.n { "Cost" } th.n { "Calls" } th.n { "Input" } th.n { "Output" } th.n { "Unknown" } } }
                    tbody {
                        @for cost in &costs.rows { (row(html! { (plain(&cost.key)) }, cost)) }
                        (row(html! { b { "In all" } }, &costs.total))
                    }
                } }
            }
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
