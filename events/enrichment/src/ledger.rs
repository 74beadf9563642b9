//! What models have cost: a projection of what each session has kept of its calls.

use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Cost, DAY_MS, State};

/// By what costs are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By session.
    Session,
    /// By the project that a session works in.
    Project,
    /// By model.
    Model,
    /// By day (UTC).
    Day,
}

impl By {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::Session, Self::Project, Self::Model, Self::Day];

    /// The name in commands and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::Model => "model",
            Self::Day => "day",
        }
    }

    /// The value of a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == text)
    }
}

/// What calls took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls, those of which nothing is known and those under way included.
    pub calls: u64,
    /// Those of them of which it is not known what they cost: they were cut off.
    pub unknown: u64,
    /// Those of them that are under way.
    pub running: u64,
    /// Tokens read, as reported.
    pub tokens_in: u64,
    /// Tokens written, as reported.
    pub tokens_out: u64,
    /// Tokens read from a cache, as reported.
    pub tokens_cached: u64,
    /// What is known to be spent, in thousandths of a millionth of a US dollar.
    pub nanos: u64,
    /// What the unknown ones, and those under way, are taken to cost at most.
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

    /// What counts against a budget.
    pub fn counted_nanos(&self) -> u64 {
        self.nanos.saturating_add(self.unknown_nanos)
    }
}

/// What was spent, told apart by one thing; see [`costs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// What each took: sessions, projects and models by what they cost, most first; days in their order, newest first.
    pub lines: Vec<(String, Spent)>,
    /// All of it.
    pub total: Spent,
}

/// What was spent on days from `from_day` on, counted from 1970 as [`day`] does. A session of no project is told by `-`.
pub fn costs<'a>(sessions: impl Iterator<Item = (&'a SessionId, &'a State)>, by: By, from_day: i64) -> Costs {
    let mut lines: BTreeMap<String, Spent> = BTreeMap::new();
    let mut total = Spent::default();
    for (session, state) in sessions {
        for (cost, running) in of(state).filter(|(cost, _)| cost.day >= from_day) {
            let key = match by {
                By::Session => session.to_string(),
                By::Project => state.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.project.clone()),
                By::Model => cost.model.clone(),
                By::Day => day_name(cost.day),
            };
            lines.entry(key).or_default().add(&cost, running);
            total.add(&cost, running);
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    match by {
        By::Day => lines.reverse(),
        _ => lines.sort_by_key(|(_, spent)| std::cmp::Reverse((spent.counted_nanos(), spent.calls))),
    }
    Costs { lines, total }
}

/// What counts against the budget of a day.
pub fn spent_on<'a>(states: impl Iterator<Item = &'a State>, day: i64) -> u64 {
    let of_day = states.flat_map(of).filter(|(cost, _)| cost.day == day);
    of_day.fold(0, |sum, (cost, _)| sum.saturating_add(cost.nanos).saturating_add(cost.unknown_nanos))
}

/// The day of a moment, in days since 1970 (UTC).
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// A day as it is written: `2026-03-14`.
pub fn day_name(day: i64) -> String {
    Timestamp(day.saturating_mul(DAY_MS)).to_string().chars().take(10).collect()
}

/// What a session keeps of its calls, the one under way at its estimate; and how many are under way.
fn of(state: &State) -> impl Iterator<Item = (Cost, u64)> {
    let known = state.enrichment();
    let ended = known.map(|known| known.costs.as_slice()).unwrap_or_default().iter().map(|cost| (cost.clone(), 0));
    let running = known.and_then(|known| known.call.as_ref()).map(|call| {
        let cost = Cost { calls: 1, unknown_nanos: call.nanos, ..Cost::new(day(call.at), &call.model) };
        (cost, 1)
    });
    ended.chain(running)
}
