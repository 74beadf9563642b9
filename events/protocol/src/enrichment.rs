//! Arguments of the calls that enrich sessions by a model, and that report its costs.

use serde::{Deserialize, Serialize};

use super::{Agent, Caller};

/// Arguments of `enrich`: one session, or all that are not enriched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnrichParams {
    /// A session id or a unique prefix of one. Without it and `all`, the caller's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// True for all sessions that have an episode and are not enriched.
    pub all: bool,
    /// Most US dollars for this run, instead of the daily budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_usd: Option<f64>,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `costs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CostsParams {
    /// Only this many days, today included; 0 or absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Only from the day of this time on: a date, or `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only the days before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only sessions of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// `session`, `project`, `agent`, `model` or `day`; absent for day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only sessions of this project: a directory or a name that fits one project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller, whose zone decides about the days of the agents' part.
    pub caller: Caller,
}
