//! What the agents' own models took, added up over sessions. Costs are estimates by list prices.

use serde::{Deserialize, Serialize};

use super::{ModelUsage, Tokens};
use crate::is_zero;

/// Part of the result of `costs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCosts {
    /// Days newest first, in the caller's zone; other keys most expensive first. At most 1,000.
    pub rows: Vec<AgentCost>,
    /// The total of all rows, also of those that are not listed.
    pub total: AgentCost,
    /// Models without a known price. No cost includes them.
    pub unpriced_models: Vec<String>,
    /// Number of sessions that are counted, without subagents, which belong to the session that started them.
    pub sessions: u64,
    /// Subagents that are counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub subagents: u64,
    /// Sessions that are not counted: not read yet, or not readable.
    pub not_counted: u64,
    /// Sessions whose transcripts tell of no tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub without_tokens: u64,
    /// What the figures are, and what they leave out.
    pub note: String,
}

/// What some requests took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCost {
    /// The session, project, agent, model or day; empty in the total.
    pub key: String,
    /// The session's title, if rows are sessions and it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The sum over all models. Its cost covers models with known prices.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Per model, most expensive first.
    pub models: Vec<ModelUsage>,
}

impl AgentCost {
    /// True if a model without a known price is part of it, so that the cost is too low.
    pub fn is_partial(&self) -> bool {
        self.models.iter().any(|model| model.tokens.cost_usd.is_none())
    }
}
