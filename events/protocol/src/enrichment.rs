//! What a person asks of a model: to enrich what is stored, and what that has cost.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `enrich`: one session, or all that are not enriched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnrichParams {
    /// An id or a unique prefix of one; none, without `all`: the caller's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// All sessions that have an episode and are not enriched.
    pub all: bool,
    /// Most US dollars for this run, instead of the daily budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_usd: Option<f64>,
    /// Who asks.
    pub caller: Caller,
}

/// Arguments of `costs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CostsParams {
    /// Only calls of so many days, today included; 0 and none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// `session`, `project`, `model` or `day`; none: day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
