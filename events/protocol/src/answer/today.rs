//! The result of `today`.

use serde::{Deserialize, Serialize};

use super::{AgentCost, Freshness, Quote, TimelineSession};
use crate::is_zero;

/// Result of `today`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Today {
    /// The day in the caller's zone: `2026-03-14`.
    pub day: String,
    /// Sessions that have not ended, the one with the latest activity first.
    pub running: Vec<TimelineSession>,
    /// Further ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_running: u32,
    /// Sessions that have ended and were last active on that day, the latest first.
    pub finished: Vec<TimelineSession>,
    /// Further ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_finished: u32,
    /// Open work of the latest session of each project that was active within 30 days, the latest project first.
    pub open: Vec<ProjectOpen>,
    /// True if further projects have open work, or were not looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more_projects: bool,
    /// What the agents' models took, at list prices. Absent while that cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// US dollars that Baton's own calls of models have cost since midnight in UTC.
    pub own_calls_usd: f64,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// Open work of a project's latest session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectOpen {
    /// Its directory.
    pub project: String,
    /// What was left open.
    pub items: Vec<Quote>,
    /// Further items.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// What was spent on a day, and in the seven days that end with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// On the day.
    pub today: AgentCost,
    /// In seven days.
    pub week: AgentCost,
    /// What the figures of the week are, and what they leave out.
    pub note: String,
}
