//! How often a child may fail: a pure function with a memory of its own.

use std::collections::{BTreeMap, VecDeque};

use baton_events::record::Timestamp;

/// Failures per child within a window.
#[derive(Debug)]
pub struct RestartBudget {
    allowed: usize,
    window_ms: i64,
    failures: BTreeMap<String, VecDeque<Timestamp>>,
}

/// What to do with a child that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start it again.
    Restart,
    /// It keeps failing: leave it alone and say so.
    GiveUp,
}

/// Children whose failures are remembered; the longest quiet is forgotten first.
const CHILDREN_MAX: usize = 1_000;

impl RestartBudget {
    /// `allowed` failures within `window_ms`.
    pub fn new(allowed: usize, window_ms: i64) -> Self {
        Self { allowed, window_ms, failures: BTreeMap::new() }
    }

    /// Counts a failure of `child` at `now` and says what to do.
    pub fn failed(&mut self, child: &str, now: Timestamp) -> Verdict {
        let (window_ms, allowed) = (self.window_ms, self.allowed);
        if self.failures.len() >= CHILDREN_MAX {
            self.failures.retain(|_, times| times.back().is_some_and(|at| now.since_ms(*at) < window_ms));
        }
        let times = self.failures.entry(child.to_owned()).or_default();
        times.push_back(now);
        while times.front().is_some_and(|at| now.since_ms(*at) >= window_ms) {
            times.pop_front();
        }
        if times.len() > allowed { Verdict::GiveUp } else { Verdict::Restart }
    }

    /// Whether the child has used up its budget and its window has not passed.
    pub fn given_up(&self, child: &str, now: Timestamp) -> bool {
        self.failures.get(child).is_some_and(|times| {
            times.len() > self.allowed && times.back().is_some_and(|at| now.since_ms(*at) < self.window_ms)
        })
    }

    /// Children that are left alone now.
    pub fn all_given_up(&self, now: Timestamp) -> Vec<&str> {
        self.failures.keys().map(String::as_str).filter(|child| self.given_up(child, now)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_may_fail_a_few_times_and_again_after_a_while() {
        let mut budget = RestartBudget::new(2, 60_000);
        let mut at = |child: &str, second: i64| budget.failed(child, Timestamp(second * 1000));
        assert_eq!([at("a", 0), at("a", 1), at("a", 2)], [Verdict::Restart, Verdict::Restart, Verdict::GiveUp]);
        assert_eq!(at("b", 2), Verdict::Restart, "another child has its own budget");
        assert_eq!(at("a", 61), Verdict::Restart, "the window has moved on");
        assert!(!budget.given_up("a", Timestamp(62_000)));
    }

    #[test]
    fn who_was_given_up_is_named_until_the_window_has_passed() {
        let mut budget = RestartBudget::new(0, 60_000);
        assert_eq!(budget.failed("a", Timestamp(0)), Verdict::GiveUp);
        assert_eq!(budget.all_given_up(Timestamp(59_999)), ["a"]);
        assert!(budget.all_given_up(Timestamp(60_000)).is_empty());
    }
}
