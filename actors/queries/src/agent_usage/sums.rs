//! Adds up usage by day, model, project, agent or session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::usage::{HALF_HOUR_MS, ModelUsage};
use baton_enrichment::ledger::{By, day_name, monday};
use baton_events::session::DAY_MS;
use baton_protocol::{Zone, answer};
use baton_redaction::redact;

use super::Usages;
use crate::usage;

/// Most rows of an answer; the total includes all.
const ROWS: usize = 1_000;

const NOTE: &str = "These are estimates at list prices of November 2026 (`llm.prices` changes them: `baton help \
                    configuration`), not what a plan or a discount made you pay.";

/// The day of a time on a person's calendar.
pub(crate) fn local_day(at: Timestamp, zone: Zone) -> i64 {
    zone.wall(at.0).div_euclid(DAY_MS)
}

pub(super) fn add_up(usages: &Usages, by: By, zone: Zone, days: &RangeInclusive<i64>) -> answer::AgentCosts {
    let mut sums: BTreeMap<String, BTreeMap<&str, ModelUsage>> = BTreeMap::new();
    let mut all: BTreeMap<&str, ModelUsage> = BTreeMap::new();
    let mut sessions: BTreeSet<&SessionId> = BTreeSet::new();
    let mut subagents: BTreeSet<&SessionId> = BTreeSet::new();
    let mut left_out = 0_u64;
    for counted in &usages.counted {
        left_out = left_out.saturating_add(counted.course.left_out);
        for part in &counted.course.parts {
            let at = part.at.map_or(counted.last, |at| Timestamp(at.saturating_mul(HALF_HOUR_MS)));
            let day = local_day(at, zone);
            if !days.contains(&day) {
                continue;
            }
            subagents.extend(&counted.subagent);
            if !counted.is_root_subagent {
                sessions.insert(&counted.root);
            }
            let model = part.usage.model.as_str();
            let key = match by {
                By::Session => counted.root.to_string(),
                By::Project => counted.project.clone(),
                By::Agent => counted.agent.to_owned(),
                By::Model => model.to_owned(),
                By::Day => day_name(day),
                By::Week => day_name(monday(day)),
            };
            for sum in [sums.entry(key).or_default(), &mut all] {
                let named = || ModelUsage { model: model.to_owned(), ..ModelUsage::default() };
                sum.entry(model).or_insert_with(named).add(&part.usage);
            }
        }
    }
    let row = |key: &str, models: &BTreeMap<&str, ModelUsage>| row(usages, key, models);
    let mut rows: Vec<answer::AgentCost> = sums.iter().map(|(key, models)| row(key, models)).collect();
    match by {
        By::Day | By::Week => rows.reverse(),
        _ => rows.sort_by_key(|row| Reverse((millionths(&row.tokens), row.tokens.messages))),
    }
    rows.truncate(ROWS);
    let unpriced = all.keys().filter(|model| usages.prices.price(model).is_none());
    let in_span = |last: &&Timestamp| days.contains(&local_day(**last, zone));
    let mut costs = answer::AgentCosts {
        rows,
        total: row("", &all),
        unpriced_models: unpriced.take(usage::UNPRICED_MAX).map(|model| redact(model).into_owned()).collect(),
        sessions: sessions.len() as u64,
        subagents: subagents.len() as u64,
        not_counted: usages.not_counted.iter().filter(in_span).count() as u64,
        without_tokens: usages.without.iter().filter(in_span).count() as u64,
        note: NOTE.to_owned(),
    };
    costs.note += &remarks(&costs, left_out);
    costs
}

/// A sentence on what the figures leave out; empty if they are complete.
fn remarks(costs: &answer::AgentCosts, left_out: u64) -> String {
    let counted = |count: u64, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {what}{plural}"))
    };
    let missing = [
        (!costs.unpriced_models.is_empty()).then(|| "models without a price".to_owned()),
        costs.total.tokens.output_is_lower_bound.then(|| "output that an agent counted too early".to_owned()),
        counted(costs.not_counted, "unread session"),
        counted(costs.without_tokens, "session").map(|sessions| format!("{sessions} whose transcript has no tokens")),
        counted(left_out, "request").map(|requests| format!("{requests} of very long sessions")),
    ];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    if missing.is_empty() {
        String::new()
    } else {
        format!(" The real use is higher; missing are: {}.", missing.join(", "))
    }
}

fn row(usages: &Usages, key: &str, models: &BTreeMap<&str, ModelUsage>) -> answer::AgentCost {
    let models: Vec<ModelUsage> = models.values().cloned().collect();
    let tokens = usage::sum(&models, &usages.prices);
    let mut models: Vec<_> = models.iter().map(|model| usage::priced_usage(model, &usages.prices)).collect();
    models.sort_by_key(|model| Reverse((millionths(&model.tokens), model.tokens.messages)));
    answer::AgentCost { key: redact(key).into_owned(), title: None, tokens, models }
}

/// Millionths of a dollar, to sort by; 0 if nothing is known.
fn millionths(tokens: &answer::Tokens) -> u64 {
    // Float casts saturate.
    (tokens.cost_usd.unwrap_or_default() * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_conversation::usage::{Course, Part};
    use baton_events::prices::Prices;

    use super::super::Counted;
    use super::*;

    const OPUS: &str = "claude-opus-4-6";
    const ALL: RangeInclusive<i64> = i64::MIN..=i64::MAX;

    /// A session's usage: half hours since the epoch, model, and million tokens of output.
    fn counted(root: &str, project: &str, parts: &[(Option<i64>, &str, u64)]) -> Counted {
        let part = |(at, model, output): &(Option<i64>, &str, u64)| {
            let model = (*model).to_owned();
            let usage = ModelUsage { model, messages: 1, output: output * 1_000_000, ..ModelUsage::default() };
            Part { at: *at, usage }
        };
        let parts = parts.iter().map(part).collect();
        Counted {
            root: SessionId::new(root).unwrap(),
            is_root_subagent: root == "lost",
            subagent: (root == "lost").then(|| SessionId::new(root).unwrap()),
            project: project.to_owned(),
            agent: "codex",
            last: Timestamp(10 * DAY_MS),
            course: Arc::new(Course { parts, ..Course::default() }),
        }
    }

    fn usages() -> Usages {
        Usages {
            counted: vec![
                counted("a", "/one", &[(Some(0), OPUS, 1), (Some(48), OPUS, 2), (Some(49), "own", 3)]),
                counted("a", "/two", &[(Some(95), OPUS, 4)]),
                counted("b", "/two", &[(None, OPUS, 8)]),
            ],
            not_counted: vec![Timestamp(0), Timestamp(DAY_MS)],
            without: vec![Timestamp(0)],
            prices: Prices::default(),
        }
    }

    fn described(costs: &answer::AgentCosts) -> String {
        let rows = costs.rows.iter().map(|row| {
            let partial = if row.is_partial() { "+" } else { "" };
            format!("{} {}{partial}", row.key, row.tokens.cost_usd.map_or("?".to_owned(), |cost| cost.to_string()))
        });
        rows.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn usage_is_added_up_by_each_key_and_what_has_no_price_is_named() {
        for (by, expected) in [
            (By::Day, "1970-01-11 200, 1970-01-02 150+, 1970-01-01 25"),
            (By::Week, "1970-01-05 200, 1969-12-29 175+"),
            (By::Model, "claude-opus-4-6 375, own ?+"),
            (By::Project, "/two 300, /one 75+"),
            (By::Agent, "codex 375+"),
            (By::Session, "b 200, a 175+"),
        ] {
            let costs = add_up(&usages(), by, Zone::UTC, &ALL);
            assert_eq!(described(&costs), expected);
            assert_eq!((costs.total.tokens.cost_usd, costs.sessions), (Some(375.0), 2));
            assert_eq!(
                (costs.unpriced_models, costs.not_counted, costs.without_tokens),
                (vec!["own".to_owned()], 2, 1)
            );
            assert!(
                costs.note.contains("llm.prices") && costs.note.ends_with(
                    "missing are: models without a price, 2 unread sessions, 1 session whose transcript has no tokens."
                ),
                "{}",
                costs.note
            );
        }
    }

    #[test]
    fn subagents_are_counted_apart_and_whole_figures_lack_nothing() {
        let whole = Usages {
            counted: vec![counted("a", "/one", &[(Some(0), OPUS, 1)]), counted("lost", "/one", &[(Some(0), OPUS, 1)])],
            not_counted: Vec::new(),
            without: Vec::new(),
            prices: Prices::default(),
        };
        let costs = add_up(&whole, By::Day, Zone::UTC, &ALL);
        assert_eq!((costs.sessions, costs.subagents, costs.note.as_str()), (1, 1, NOTE));
    }

    #[test]
    fn days_are_those_of_the_persons_calendar() {
        let zone = Zone::parse("XXX-1").unwrap();
        let costs = add_up(&usages(), By::Day, zone, &(1..=2));
        assert_eq!(described(&costs), "1970-01-03 100, 1970-01-02 50+");
        assert_eq!((costs.sessions, costs.not_counted, costs.without_tokens), (1, 1, 0));
        let zone = Zone::parse("XXX1").unwrap();
        let costs = add_up(&usages(), By::Day, zone, &ALL);
        assert_eq!(described(&costs), "1970-01-10 200, 1970-01-02 100, 1970-01-01 50+, 1969-12-31 25");
    }
}
