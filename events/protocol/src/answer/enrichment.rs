//! Results about enrichment by a model: its state, its outcomes and its costs.

use serde::{Deserialize, Serialize};

use super::AgentCosts;
use crate::is_zero;

/// The state of enrichment in `status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enrichment {
    /// `off`: no model is switched on. `ready`: nothing is owed. `working`: sessions are being enriched. `waiting`:
    /// sessions are owed but none is worked on, because they are not quiet yet, or for the reason in `problem`.
    pub state: String,
    /// The configured name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its base URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The source of its key: the name of a variable, or the path of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Sessions with an enriched episode.
    pub enriched: u64,
    /// Sessions still to be enriched.
    pub owed: u64,
    /// Of these, the ones in progress.
    pub under_way: u64,
    /// Of these, the ones that wait because a budget is spent.
    pub over_budget: u64,
    /// Sessions for which the model's answers were unusable. They keep their extractive episodes.
    pub given_up: u64,
    /// Calls that were started and whose outcome is unknown. Each may have cost its estimate.
    pub unknown_calls: u64,
    /// US dollars spent today (UTC), with calls of unknown outcome at their estimates.
    pub spent_today_usd: f64,
    /// Daily limit in US dollars; absent if unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_budget_usd: Option<f64>,
    /// Limit per session in US dollars; absent if unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_budget_usd: Option<f64>,
    /// Why nothing is sent now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl Default for Enrichment {
    fn default() -> Self {
        Self {
            state: "off".to_owned(),
            model: None,
            base_url: None,
            api_key: None,
            enriched: 0,
            owed: 0,
            under_way: 0,
            over_budget: 0,
            given_up: 0,
            unknown_calls: 0,
            spent_today_usd: 0.0,
            daily_budget_usd: None,
            session_budget_usd: None,
            problem: None,
            next_step: None,
        }
    }
}

/// Result of `enrich`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enrich {
    /// `success`, or `error` if any failed.
    pub status: String,
    /// Sessions examined.
    pub sessions: u64,
    /// Sessions enriched.
    pub enriched: u64,
    /// Sessions already enriched in their current form.
    pub unchanged: u64,
    /// Sessions that wait because a budget is spent.
    pub over_budget: u64,
    /// Sessions that could not be enriched.
    pub failures: u64,
    /// The first of them, each with the reason.
    pub failed: Vec<EnrichFailure>,
    /// Claims of models that were dropped because the lines they cite do not exist.
    pub dropped_claims: u64,
    /// Messages, calls and results of very long sessions that were not sent to a model, because `llm.context_tokens` is
    /// too small.
    pub unseen: u64,
    /// Of these, those that are never sent, because only a limited part of a conversation is held in memory.
    pub not_held: u64,
    /// Calls made, including one that an earlier daemon made for the same request without seeing its answer.
    pub calls: u64,
    /// Of these, calls of unknown cost.
    pub unknown_calls: u64,
    /// Their cost in US dollars, with calls of unknown cost at their estimates.
    pub usd: f64,
    /// A summary, with what to do.
    pub message: String,
}

/// A session that could not be enriched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnrichFailure {
    /// The session.
    pub session_id: String,
    /// The reason.
    pub why: String,
}

/// Result of `costs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Costs {
    /// The key of the rows: `session`, `project`, `model` or `day`.
    pub by: String,
    /// Number of days covered, today included; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Days newest first; other keys most expensive first.
    pub rows: Vec<Cost>,
    /// The total.
    pub total: Cost,
    /// US dollars spent today (UTC), with calls of unknown outcome at their estimates.
    pub spent_today_usd: f64,
    /// Daily limit in US dollars. Absent if unlimited, or if no model is switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_budget_usd: Option<f64>,
    /// What the agents' own models took; absent if the memory is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentCosts>,
}

/// The cost of some calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// The session, project, model or day; empty in the total.
    pub key: String,
    /// Number of calls, whatever their outcome.
    pub calls: u64,
    /// Tokens sent, as counted by the endpoint.
    pub input_tokens: u64,
    /// Of these, tokens read from the endpoint's cache.
    pub cached_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Their cost in US dollars.
    pub usd: f64,
    /// Of the calls, those of unknown cost: they were cut off, or no usage was reported.
    pub unknown_calls: u64,
    /// Of the calls, those in progress.
    pub running_calls: u64,
    /// Estimated cost of calls of unknown cost and in progress; an upper bound.
    pub unknown_usd: f64,
}

/// State of the enrichment of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionEnrichment {
    /// `enriched`; `owed`: a model is to be asked; `over_budget`: to be asked once a budget allows; `given_up`: the
    /// model's answers were unusable, and the extractive episode stays.
    pub state: String,
    /// The model that made the episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Claims of the model that were dropped because the lines they cite do not exist.
    #[serde(skip_serializing_if = "is_none")]
    pub dropped_claims: u32,
    /// Messages, calls and results in the middle of a very long session that were not sent to the model.
    #[serde(skip_serializing_if = "is_zero")]
    pub unseen: u64,
    /// For an enriched session that was sent in part and is asked about again: `owed`, `over_budget` or `given_up`. Its
    /// episode stays until there is another answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why it is not enriched, or not asked about again: how the last call ended, or why there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The remedy for what was not sent, or for why it is not enriched, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// When the model is asked again after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
