//! Model usage of a session. Costs are estimates in US dollars, by configured and built-in prices.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Model usage of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Per model.
    pub models: Vec<ModelUsage>,
    /// Total over all models.
    pub total: Tokens,
    /// The cost of models with known prices; `null` if no price is known.
    pub cost_usd: Option<f64>,
    /// Its course: requests with a time, in at most 24 parts of about the same number. Without subagents'.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<UsagePart>,
    /// The part of the total copied from the session that it is a fork of, which counts it already.
    pub copied: Tokens,
    /// The usage of its subagents, not included above.
    pub subagents: SubagentUsage,
    /// Models without a known price. No cost includes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// What the figures are, and what they leave out.
    pub note: String,
}

/// Some requests, one after another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsagePart {
    /// Time of the first one, RFC 3339 UTC.
    pub at: String,
    /// Their usage.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// Tokens and their cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Messages written by models.
    pub messages: u64,
    /// Input tokens that were not read from a cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Of these, the tokens cached for one hour.
    pub cache_creation_1h_input_tokens: u64,
    /// True if the real number of output tokens is higher: older versions of the agent recorded it too early.
    pub output_is_lower_bound: bool,
    /// The cost of models with known prices; `null` if no price is known.
    pub cost_usd: Option<f64>,
}

/// Usage of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUsage {
    /// Its name, as the transcript writes it.
    pub model: String,
    /// Its usage.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// Usage of a session's subagents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubagentUsage {
    /// Number of subagents' sessions.
    pub sessions: u64,
    /// Of these, sessions not counted: not indexed yet, unreadable, or beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_counted: u64,
    /// Per model.
    pub models: Vec<ModelUsage>,
    /// Total over all models.
    pub total: Tokens,
    /// What they cost, as far as prices are known; `null` when none is.
    pub cost_usd: Option<f64>,
}
