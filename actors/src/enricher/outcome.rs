//! Who wants a session enriched, and what became of it.

use std::sync::Arc;

use super::budget_reservation::Allowance;

/// Who wants it.
#[derive(Clone)]
pub(crate) enum By {
    /// It is due.
    Itself,
    /// A person who names the session: over budget it stays owed.
    One(Option<Arc<Allowance>>),
    /// A person who wants all: over budget nothing is owed.
    All(Option<Arc<Allowance>>),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A model has made its episode.
    Enriched,
    /// It had before, and nothing more is to be told to one.
    Unchanged,
    /// There is nothing that a model could be told.
    Nothing {
        /// Why.
        why: &'static str,
    },
    /// A budget is spent.
    OverBudget {
        /// Which, and how it stands.
        why: String,
        /// What helps.
        next_step: &'static str,
        /// Whether it is the session's own, which no other call has a part in.
        is_of_session: bool,
    },
    /// The model's answers are of no use; the episode stays.
    GivenUp {
        /// Why.
        why: String,
    },
    /// It did not come about, and will be tried again.
    Failed {
        /// Why, and what to do.
        why: String,
        /// Whether it is the endpoint, so that others would fail alike.
        is_of_endpoint: bool,
    },
}

/// What became of it, and what that took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) calls: u64,
    /// Of these, those of unknown cost.
    pub(crate) unknown: u64,
    /// In thousandths of a millionth of a US dollar; of unknown cost at the estimate.
    pub(crate) nanos: u64,
    /// Claims that were dropped from the answer, and from those that it was joined of.
    pub(crate) dropped: u64,
}

impl Done {
    /// Without a call.
    pub(crate) fn none(outcome: Outcome) -> Self {
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
