//! Arguments of what is asked of the memory as a whole.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `recall`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallParams {
    /// The question, in plain words or in the language of queries.
    pub query: String,
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many sessions to look into; at most 20.
    pub limit: u32,
    /// How many tokens the answer may have; at least 200, at most 20,000.
    pub budget_tokens: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Who asks.
    pub caller: Caller,
}

impl Default for RecallParams {
    fn default() -> Self {
        Self {
            query: String::new(),
            project: None,
            limit: RECALL_SESSIONS,
            budget_tokens: RECALL_TOKENS,
            wait: false,
            caller: Caller::default(),
        }
    }
}

/// Sessions that a recall looks into unless another number is asked for.
pub const RECALL_SESSIONS: u32 = 5;
/// Tokens of a recall's answer unless another number is asked for.
pub const RECALL_TOKENS: u32 = 1_200;

/// Arguments of `timeline`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimelineParams {
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions that were at work at or after this moment: a date, or `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How many; at most 100.
    pub limit: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Where to go on, as the answer before this one said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

impl Default for TimelineParams {
    fn default() -> Self {
        Self { project: None, since: None, limit: 20, wait: false, cursor: None, caller: Caller::default() }
    }
}
