//! Costs of model calls: a projection of what each session records of its calls.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Cost, DAY_MS, State};

baton_protocol::named! {
    /// Grouping of costs.
    By {
        /// By session.
        Session = "session",
        /// By project of the session.
        Project = "project",
        /// By agent of the session.
        Agent = "agent",
        /// By model.
        Model = "model",
        /// By day (UTC).
        Day = "day",
        /// By week, named by its Monday (UTC).
        Week = "week",
    }
}

/// Totals of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Number of calls, including running ones and those with unknown cost.
    pub calls: u64,
    /// Number of calls whose cost is unknown because they were cut off.
    pub unknown: u64,
    /// Number of running calls.
    pub running: u64,
    /// Input tokens, as reported.
    pub tokens_in: u64,
    /// Output tokens, as reported.
    pub tokens_out: u64,
    /// Cached input tokens, as reported.
    pub tokens_cached: u64,
    /// Known cost, in nano-dollars.
    pub nanos: u64,
    /// Maximum cost of the calls with unknown cost and the running ones, in nano-dollars.
    pub unknown_nanos: u64,
}

impl Spent {
    fn add(&mut self, cost: &Cost, running: u64) {
        self.calls = self.calls.saturating_add(cost.calls);
        self.unknown = self.unknown.saturating_add(cost.unknown);
        self.running = self.running.saturating_add(running);
        self.tokens_in = self.tokens_in.saturating_add(cost.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(cost.tokens_out);
        self.tokens_cached = self.tokens_cached.saturating_add(cost.tokens_cached);
        self.nanos = self.nanos.saturating_add(cost.nanos);
        self.unknown_nanos = self.unknown_nanos.saturating_add(cost.unknown_nanos);
    }

    /// Returns what counts against a budget, in nano-dollars.
    pub fn counted_nanos(&self) -> u64 {
        self.nanos.saturating_add(self.unknown_nanos)
    }
}

/// Costs by group; see [`costs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Totals of each group: sessions, projects and models by cost, highest first; days and weeks newest first.
    pub lines: Vec<(String, Spent)>,
    /// Totals of all groups.
    pub total: Spent,
}

/// Sums the costs from `from_day` on, a day number as returned by [`day`]. Sessions without a project are in the group
/// `-`.
pub fn costs<'a>(
    sessions: impl Iterator<Item = (&'a SessionId, &'a State)>,
    by: By,
    days: &RangeInclusive<i64>,
) -> Costs {
    let mut lines: BTreeMap<String, Spent> = BTreeMap::new();
    let mut total = Spent::default();
    for (session, state) in sessions {
        for (cost, running) in costs_of(state).filter(|(cost, _)| days.contains(&cost.day)) {
            let key = match by {
                By::Session => session.to_string(),
                By::Project => state.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.project.clone()),
                By::Agent => state.transcript.as_ref().map_or("-", |transcript| transcript.agent.as_str()).to_owned(),
                By::Model => cost.model.clone(),
                By::Day => day_name(cost.day),
                By::Week => day_name(monday(cost.day)),
            };
            lines.entry(key).or_default().add(&cost, running);
            total.add(&cost, running);
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    match by {
        By::Day | By::Week => lines.reverse(),
        _ => lines.sort_by_key(|(_, spent)| std::cmp::Reverse((spent.counted_nanos(), spent.calls))),
    }
    Costs { lines, total }
}

/// Returns what counts against the budget of a day, in nano-dollars.
pub fn spent_on<'a>(states: impl Iterator<Item = &'a State>, day: i64) -> u64 {
    let of_day = states.flat_map(costs_of).filter(|(cost, _)| cost.day == day);
    of_day.fold(0, |sum, (cost, _)| sum.saturating_add(cost.nanos).saturating_add(cost.unknown_nanos))
}

/// Returns the day of a time, in days since 1970 (UTC).
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// Returns the Monday of a day's week.
pub fn monday(day: i64) -> i64 {
    // The first day, 0, was a Thursday.
    day.saturating_sub(day.saturating_add(3).rem_euclid(7))
}

/// Formats a day: `2026-03-14`.
pub fn day_name(day: i64) -> String {
    Timestamp(day.saturating_mul(DAY_MS)).to_string().chars().take(10).collect()
}

/// Returns the recorded costs of a session, with 0, and its running call at its estimate, with 1.
fn costs_of(state: &State) -> impl Iterator<Item = (Cost, u64)> {
    let known = state.enrichment();
    let ended = known.map(|known| known.costs.as_slice()).unwrap_or_default().iter().map(|cost| (cost.clone(), 0));
    let running = known.and_then(|known| known.call.as_ref()).map(|call| {
        let cost = Cost { calls: 1, unknown_nanos: call.nanos, ..Cost::new(day(call.at), &call.model) };
        (cost, 1)
    });
    ended.chain(running)
}
