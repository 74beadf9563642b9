//! Token usage and cost of a session: its own, the part copied from other sessions, and its subagents'.

use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_conversation::usage;
use baton_conversation::usage::Requests;
use baton_events::prices::Prices;
use baton_events::projection::table::SessionTable;
use baton_protocol::answer::{ModelUsage, SubagentUsage, Tokens, Usage, UsagePart};
use baton_redaction::redact;

use super::conversation_summary::CHILDREN_MAX;
use super::related_sessions::RelatedSessions;
use baton_views::conversation::Conversations;

/// Most older sessions whose requests are compared with those of a fork, the nearest first.
const ELDERS_MAX: usize = 8;
/// Most parts of a session's course.
const COURSE: usize = 24;
/// Most models that are named as unpriced.
pub(super) const UNPRICED_MAX: usize = 16;

const NOTE: &str = "tokens as the transcript tells them, each request once; costs are estimates by llm.prices and built-in \
                    list prices of November 2026";

/// The usage of a session with the requests `own`, and `inside` of subagents in its own transcript. Blocks for reads of
/// the conversations of older sessions and of subagents.
pub(super) fn session_usage(
    conversations: &Conversations,
    prices: &Prices,
    table: &SessionTable,
    family: Option<&RelatedSessions>,
    own: &Requests,
    inside: Requests,
) -> Usage {
    let mut elders = Requests::default();
    let mut children = inside;
    let mut subagents = SubagentUsage::default();
    if let Some(family) = family {
        if !own.is_empty() {
            for elder in family.elders(table).iter().take(ELDERS_MAX) {
                if let Some(requests) = read_requests(conversations, table, elder, Requests::note) {
                    elders.join(requests);
                }
            }
        }
        subagents.sessions = family.children.len() as u64;
        for child in family.children.iter().take(CHILDREN_MAX) {
            match read_requests(conversations, table, child, Requests::note) {
                Some(requests) => children.join(requests),
                None => subagents.not_counted += 1,
            }
        }
    }
    let (models, children_by_model) = (own.by_model(), children.by_model());
    let total = sum(&models, prices);
    subagents.models = children_by_model.iter().map(|model| priced_usage(model, prices)).collect();
    subagents.total = sum(&children_by_model, prices);
    subagents.cost_usd = subagents.total.cost_usd;
    let mut unpriced: Vec<String> = models.iter().chain(&children_by_model).map(|usage| usage.model.clone()).collect();
    unpriced.retain(|model| prices.price(model).is_none());
    unpriced.sort();
    unpriced.dedup();
    unpriced.truncate(UNPRICED_MAX);
    let mut note = NOTE.to_owned();
    if !unpriced.is_empty() {
        note += "; a model without a price is in no cost: name it in llm.prices";
    }
    if models.iter().chain(&children_by_model).any(|usage| usage.output_is_lower_bound) {
        note += "; this version of the agent noted output too early, so output and cost are lower bounds";
    }
    Usage {
        cost_usd: total.cost_usd,
        total,
        course: own
            .in_parts(COURSE)
            .into_iter()
            .map(|(at, models)| UsagePart { at: at.to_string(), tokens: sum(&models, prices) })
            .collect(),
        copied: sum(&own.shared_with(&elders).by_model(), prices),
        models: models.iter().map(|model| priced_usage(model, prices)).collect(),
        subagents,
        unpriced_models: unpriced.iter().map(|model| redact(model).into_owned()).collect(),
        note,
    }
}

pub(super) fn read_requests(
    conversations: &Conversations,
    table: &SessionTable,
    id: &SessionId,
    take: fn(&mut Requests, &Item),
) -> Option<Requests> {
    let episode = table.get(id)?.state.episode.clone()?;
    let read = conversations.read(id, episode, |episode| {
        let mut requests = Requests::default();
        baton_store::conversation::for_each_item(conversations.chunks(), id, episode, |item| {
            take(&mut requests, &item);
        })?;
        Ok(requests)
    });
    match read {
        Ok((_, requests)) => Some(requests),
        Err(error) => {
            tracing::debug!(session = %id, %error, "usage not counted");
            None
        }
    }
}

pub(super) fn priced_usage(usage: &usage::ModelUsage, prices: &Prices) -> ModelUsage {
    let cost_usd = prices.price(&usage.model).map(|price| price.cost(usage));
    ModelUsage { model: redact(&usage.model).into_owned(), tokens: tokens(usage, cost_usd) }
}

/// The sum over all models; the cost covers the priced ones.
pub(super) fn sum(models: &[usage::ModelUsage], prices: &Prices) -> Tokens {
    let mut all = usage::ModelUsage::default();
    models.iter().for_each(|model| all.add(model));
    let costs: Vec<f64> = models.iter().filter_map(|model| Some(prices.price(&model.model)?.cost(model))).collect();
    let known = !costs.is_empty() || models.is_empty();
    tokens(&all, known.then(|| dollars(&costs)))
}

/// The rounded sum of costs. Never `-0.0`, which is the sum of none.
fn dollars(costs: &[f64]) -> f64 {
    let sum = costs.iter().fold(0.0, |sum, cost| sum + cost);
    (sum * 1e6).round() / 1e6
}

fn tokens(usage: &usage::ModelUsage, cost_usd: Option<f64>) -> Tokens {
    Tokens {
        messages: usage.messages,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_input_tokens: usage.cache_read,
        cache_creation_input_tokens: usage.cache_creation,
        cache_creation_1h_input_tokens: usage.cache_creation_1h,
        output_is_lower_bound: usage.output_is_lower_bound,
        cost_usd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_costs_nothing() {
        for (costs, expected) in [(&[][..], "0.0"), (&[0.0], "0.0"), (&[0.000_000_4, 0.25], "0.25")] {
            assert_eq!(format!("{:?}", dollars(costs)), expected);
        }
    }
}
