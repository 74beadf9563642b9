//! `costs`: the cost of model calls, summed up.

use baton_enrichment::ledger;
use baton_enrichment::ledger::{By, Spent};
use baton_protocol::{CostsParams, answer, code};
use baton_redaction::redact;

use super::QueryError;
use crate::client::failure;
use baton_base::clock::Clock;
use baton_tracking::enricher::Enricher;
use baton_views::catalog::Catalog;
use baton_views::visibility;

/// Most rows of an answer; the total includes all.
const ROWS: usize = 1_000;

pub(crate) async fn costs(
    asked: CostsParams,
    catalog: &Catalog,
    enricher: &Enricher,
    clock: &dyn Clock,
) -> Result<answer::Costs, QueryError> {
    let by = match asked.by.as_deref() {
        None => By::Day,
        Some(name) => By::parse(name).ok_or_else(|| {
            let known = By::names();
            failure(code::INVALID_PARAMS, format!("cannot group by {name:?}; there are {known}"))
        })?,
    };
    let (table, now) = (catalog.table.now(), clock.now());
    let days = asked.days.filter(|days| *days > 0);
    let from = days.map_or(i64::MIN, |days| ledger::day(now) - i64::from(days) + 1);
    let sessions =
        table.iter().map(|(id, row)| (id, &row.state)).filter(|(_, state)| visibility::is_by(state, asked.agent));
    let costs = ledger::costs(sessions, by, from);
    let rows = costs.lines.iter().take(ROWS).map(|(key, spent)| row(key, spent)).collect();
    let llm = catalog.settings.now().llm.clone();
    Ok(answer::Costs {
        by: by.as_str().to_owned(),
        days,
        rows,
        total: row("", &costs.total),
        spent_today_usd: super::enrichment::dollars(enricher.shown().spent_today_nanos),
        daily_budget_usd: llm.and_then(|llm| llm.daily_budget_usd),
    })
}

fn row(key: &str, spent: &Spent) -> answer::Cost {
    answer::Cost {
        key: redact(key).into_owned(),
        calls: spent.calls,
        input_tokens: spent.tokens_in,
        cached_tokens: spent.tokens_cached,
        output_tokens: spent.tokens_out,
        usd: super::enrichment::dollars(spent.nanos),
        unknown_calls: spent.unknown,
        running_calls: spent.running,
        unknown_usd: super::enrichment::dollars(spent.unknown_nanos),
    }
}
