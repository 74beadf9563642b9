//! `costs`: the cost of the agents' models and of Baton's own model calls.

use baton_ask::query::AskedAt;
use baton_config::settings::Settings;
use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::ledger;
use baton_enrichment::ledger::{By, Spent};
use baton_events::projection::table::SessionTable;
use baton_memory::Searcher;
use baton_protocol::{CostsParams, answer, code};
use baton_redaction::redact;

use super::QueryError;
use super::timeline::moment;
use crate::agent_usage::{AgentUsage, UsageQuery, local_day};
use crate::answers::redact_plain;
use crate::client::{ClientRef, failure};
use crate::resolve;
use baton_tracking::enricher::Enricher;
use baton_views::conversation::title;
use baton_views::visibility;

/// Most rows of an answer; the total includes all.
const ROWS: usize = 1_000;

pub(crate) async fn costs(
    asked: CostsParams,
    agents: AgentUsage<'_>,
    enricher: &Enricher,
    client: &ClientRef,
) -> Result<answer::Costs, QueryError> {
    let by = match asked.by.as_deref() {
        None => By::Day,
        Some(name) => By::parse(name).ok_or_else(|| {
            let known = By::names();
            failure(code::INVALID_PARAMS, format!("cannot group by {name:?}; there are {known}"))
        })?,
    };
    let (now, zone) = (agents.memory.coverage.clock.now(), asked.caller.zone());
    let days = asked.days.filter(|days| *days > 0);
    let bound = |text: &Option<String>| text.as_deref().map(|text| moment(text, AskedAt { now, zone })).transpose();
    let (since, until) = (bound(&asked.since)?, bound(&asked.until)?);
    // Whole days, each part on its own calendar.
    let span = |day: &dyn Fn(Timestamp) -> i64| {
        let latest = days.map_or(i64::MIN, |days| day(now) - i64::from(days) + 1);
        let first = since.map_or(i64::MIN, day).max(latest);
        first..=until.map_or(i64::MAX, |until| day(until.plus_ms(-1)))
    };
    let whose = UsageQuery { project: asked.project.clone(), agent: asked.agent, wait: asked.wait };
    let found = match agents.collect(&whose, &asked.caller, client).await {
        Ok(found) => Some(found),
        // Baton's own calls are in the log.
        Err(QueryError::Failure(failure)) if failure.code == code::INTERNAL => None,
        Err(error) => return Err(error),
    };
    let (table, settings) = agents.memory.catalog().now();
    let project = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name)).transpose()?;
    let groups: Vec<String> = project.into_iter().collect();
    let sessions = table
        .iter()
        .map(|(id, row)| (id, &row.state))
        .filter(|(_, state)| visibility::is_from_agent(state, asked.agent) && visibility::is_in_any(state, &groups));
    let costs = ledger::costs(sessions, by, &span(&ledger::day));
    let rows = costs.lines.iter().take(ROWS).map(|(key, spent)| row(key, spent)).collect();
    let agents = found.map(|(usages, searcher)| {
        let agents = usages.add_up(by, zone, &span(&|at| local_day(at, zone)));
        if by == By::Session { titled(agents, &searcher, &table, &settings) } else { agents }
    });
    Ok(answer::Costs {
        by: by.as_str().to_owned(),
        days,
        rows,
        total: row("", &costs.total),
        spent_today_usd: super::enrichment::dollars(enricher.state().spent_today_nanos),
        daily_budget_usd: settings.llm.as_ref().and_then(|llm| llm.daily_budget_usd),
        agents,
    })
}

/// Adds the titles if rows are sessions.
fn titled(
    mut agents: answer::AgentCosts,
    searcher: &Searcher,
    table: &SessionTable,
    settings: &Settings,
) -> answer::AgentCosts {
    for row in &mut agents.rows {
        let title = SessionId::new(&row.key).and_then(|id| title(searcher, table, settings, &id));
        row.title = title.as_deref().map(redact_plain);
    }
    agents
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
