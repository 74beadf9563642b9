//! The requester of an enrichment, and its result.

use std::sync::Arc;

use super::budget_reservation::Allowance;

/// The requester of an enrichment.
#[derive(Clone)]
pub enum By {
    /// The background loop: it is due.
    Itself,
    /// A person who names the session: over budget it stays owed.
    One(Option<Arc<Allowance>>),
    /// A person who wants all sessions: over budget nothing is owed.
    All(Option<Arc<Allowance>>),
}

/// The result of an enrichment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The episode was made by a model.
    Enriched,
    /// It had been before, and there is nothing more to ask.
    Unchanged,
    /// There is nothing that may be sent to a model.
    Nothing {
        /// The reason.
        why: &'static str,
    },
    /// A budget is spent.
    OverBudget {
        /// The budget and its state.
        why: String,
        /// The remedy.
        next_step: &'static str,
        /// True for the session's own budget, which does not affect other sessions.
        is_of_session: bool,
    },
    /// The model's answers are unusable; the episode stays.
    GivenUp {
        /// The reason.
        why: String,
    },
    /// It failed and will be tried again.
    Failed {
        /// The reason, and what to do.
        why: String,
        /// True if the endpoint failed, so that other sessions would fail alike.
        is_of_endpoint: bool,
    },
}

/// The result with the calls that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The result.
    pub outcome: Outcome,
    /// Number of calls.
    pub calls: u64,
    /// Number of these with unknown cost.
    pub unknown: u64,
    /// Cost in nanodollars; the estimate where it is unknown.
    pub nanos: u64,
    /// Claims dropped from the answer, including its parts.
    pub dropped: u64,
}

impl Done {
    /// A result without calls.
    pub fn none(outcome: Outcome) -> Self {
        Self { outcome, calls: 0, unknown: 0, nanos: 0, dropped: 0 }
    }
}

impl By {
    pub(super) fn allowance(&self) -> Option<&Arc<Allowance>> {
        match self {
            Self::Itself => None,
            Self::One(allowance) | Self::All(allowance) => allowance.as_ref(),
        }
    }

    pub(super) fn is_person(&self) -> bool {
        !matches!(self, Self::Itself)
    }
}

impl Outcome {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), is_of_endpoint: false }
    }
}
