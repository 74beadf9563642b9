//! What a model was asked for, what came of it, and what it cost.

use serde::{Deserialize, Serialize};

use super::is_zero;

/// What `status` says of enrichment: whether a model makes more of episodes, and what keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enrichment {
    /// `off`: no model is switched on; `ready`: nothing is owed; `working`: sessions are being enriched; `waiting`: sessions
    /// are owed and none is worked on now: they are not quiet yet, or `problem` says why.
    pub state: String,
    /// The model, as the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Where its key is found: the name of a variable, or the path of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Sessions whose episode is enriched.
    pub enriched: u64,
    /// Sessions that are owed it.
    pub owed: u64,
    /// Of these: what is worked on now.
    pub under_way: u64,
    /// Of these: what waits because a budget is spent.
    pub over_budget: u64,
    /// Sessions of which the model's answers were of no use; their extractive episode stays.
    pub given_up: u64,
    /// Calls that were begun and of whose end nothing is known: each may have cost what was estimated.
    pub unknown_calls: u64,
    /// What was spent today (UTC), in US dollars, calls of unknown end at their estimate.
    pub spent_today_usd: f64,
    /// Most that may be spent in a day; none: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_budget_usd: Option<f64>,
    /// Most that may be spent on a session; none: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_budget_usd: Option<f64>,
    /// Why nothing is sent now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do about it.
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
    /// Sessions that were enriched.
    pub enriched: u64,
    /// Sessions that are enriched already, as they are now.
    pub unchanged: u64,
    /// Sessions that wait because a budget is spent.
    pub over_budget: u64,
    /// Sessions that could not be enriched.
    pub failures: u64,
    /// The first of them, each with its reason.
    pub failed: Vec<EnrichFailure>,
    /// Claims of models that were dropped: the lines that they name are not there.
    pub dropped_claims: u64,
    /// Messages, calls and results of very long sessions that no model was sent: `llm.context_tokens` is too small for them.
    pub unseen: u64,
    /// Of these, those that no model is ever sent: there is a bound to what is held of a conversation.
    pub not_held: u64,
    /// Calls that were made, one included that a daemon before had made for the same wish and did not see answered.
    pub calls: u64,
    /// Of these, those of which it is not known what they cost.
    pub unknown_calls: u64,
    /// What they cost in US dollars; those of unknown cost at their estimate.
    pub usd: f64,
    /// All that in a sentence, with what to do.
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
    /// What the rows are by: `session`, `project`, `model` or `day`.
    pub by: String,
    /// Of how many days, today included; none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Days: the newest first; the others: the dearest first.
    pub rows: Vec<Cost>,
    /// All of them together.
    pub total: Cost,
    /// What was spent today (UTC), calls of unknown end at their estimate.
    pub spent_today_usd: f64,
    /// Most that may be spent in a day; none: no bound, or no model is switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_budget_usd: Option<f64>,
}

/// What some calls took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// The session, project, model or day; empty for all together.
    pub key: String,
    /// Calls, whatever came of them.
    pub calls: u64,
    /// Tokens sent, as the endpoint counted them.
    pub input_tokens: u64,
    /// Of these, what it had in its cache.
    pub cached_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// What that cost in US dollars.
    pub usd: f64,
    /// Of the calls, those of which it is not known what they cost: they were cut off, or nothing was reported.
    pub unknown_calls: u64,
    /// Of the calls, those that are under way.
    pub running_calls: u64,
    /// What the unknown ones and those under way were estimated at: they cost that at most.
    pub unknown_usd: f64,
}

/// How the enrichment of one session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionEnrichment {
    /// `enriched`; `owed`: a model is to be asked; `over_budget`: when a budget allows it; `given_up`: the model's answers were
    /// of no use, and the extractive episode stays.
    pub state: String,
    /// The model that has made the episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Claims of the model that were dropped: the lines that they name are not there.
    #[serde(skip_serializing_if = "is_none")]
    pub dropped_claims: u32,
    /// Messages, calls and results in the middle of a very long session that the model was not sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub unseen: u64,
    /// Of an enriched one of which the model was not sent all, and about which one is asked again: how that stands, as
    /// `owed`, `over_budget` or `given_up`; its episode stays until there is another answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why it is not, or not asked again: how the last call ended, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What helps, where something does: against what was not sent, or against why it is not enriched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// When the model is asked again, after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
