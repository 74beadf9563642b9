//! What a session took of its models. Costs are estimates in US dollars, by the configured and the built-in prices.

use serde::{Deserialize, Serialize};

use super::is_zero;

/// What a session took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Per model.
    pub models: Vec<ModelUsage>,
    /// Total over all models.
    pub total: Tokens,
    /// The cost of models with known prices; `null` if no price is known.
    pub cost_usd: Option<f64>,
    /// What of the total the session has copied from the one that it is a fork of: counted there already.
    pub copied: Tokens,
    /// What its subagents took beside.
    pub subagents: SubagentUsage,
    /// Models whose price is not known: nothing of them is in any cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// What the numbers are, and what they leave out.
    pub note: String,
}

/// Tokens and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Messages that models wrote.
    pub messages: u64,
    /// Tokens read that no cache held.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Those of them that it keeps for an hour.
    pub cache_creation_1h_input_tokens: u64,
    /// Whether more was written than `output_tokens` says: older versions of the agent noted it too early.
    pub output_is_lower_bound: bool,
    /// The cost of models with known prices; `null` if no price is known.
    pub cost_usd: Option<f64>,
}

/// What was used of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUsage {
    /// Its name, as the transcript writes it.
    pub model: String,
    /// How much.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// What the subagents of a session took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubagentUsage {
    /// How many sessions of subagents it has.
    pub sessions: u64,
    /// Those of them that are not counted: not indexed yet, not readable, or beyond the bound.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_counted: u64,
    /// Per model.
    pub models: Vec<ModelUsage>,
    /// Total over all models.
    pub total: Tokens,
    /// What they cost, as far as prices are known; `null` when none is.
    pub cost_usd: Option<f64>,
}
