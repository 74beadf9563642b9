//! Arguments of the queries on the memory as a whole.

use serde::{Deserialize, Serialize};

use super::{Agent, Caller};

/// Arguments of `recall`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallParams {
    /// The question, in plain words or in the query language.
    pub query: String,
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most sessions to search; at most 20.
    pub limit: u32,
    /// Most tokens of the answer; from 200 to 20,000.
    pub budget_tokens: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
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

/// Default number of sessions that a recall searches.
pub const RECALL_SESSIONS: u32 = 5;
/// Default number of tokens of a recall's answer.
pub const RECALL_TOKENS: u32 = 1_200;

/// Arguments of `timeline`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimelineParams {
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions active at or after this time: a date, or `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only sessions that were last active before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only sessions of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Most sessions; at most 100.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The `next_cursor` of the previous answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The caller.
    pub caller: Caller,
}

impl Default for TimelineParams {
    fn default() -> Self {
        Self {
            project: None,
            since: None,
            until: None,
            agent: None,
            limit: 20,
            wait: false,
            cursor: None,
            caller: Caller::default(),
        }
    }
}
