//! Limits how often a child may fail; pure, with time as an argument.
//!
//! A child may fail a few times within a window. Then it is paused: first for one window, and each time it fails again
//! soon after a pause, for twice as long. A child that runs for a whole window after its pause starts over.

use std::collections::{BTreeMap, VecDeque};

use baton_conversation::record::Timestamp;

/// Failures per child.
#[derive(Debug)]
pub struct RestartBudget<K> {
    allowed: usize,
    window_ms: i64,
    children: BTreeMap<K, Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// Within the window, oldest first.
    failures: VecDeque<Timestamp>,
    given_up: Option<GivenUp>,
}

#[derive(Clone, Copy, Debug)]
struct GivenUp {
    at: Timestamp,
    /// Consecutive earlier pauses.
    rounds: u32,
    /// True once [`RestartBudget::take_due`] has returned it.
    tried: bool,
}

/// What to do with a failed child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start it again.
    Restart,
    /// It keeps failing: leave it stopped and report it.
    GiveUp,
}

/// Children whose failures are remembered; beyond that the one without a failure for longest is dropped.
const CHILDREN_MAX: usize = 1_000;

/// How often the pause is doubled at most: one minute becomes about an hour.
const DOUBLINGS: u32 = 6;

impl<K: Ord + Clone> RestartBudget<K> {
    /// Allows `allowed` failures within `window_ms`.
    pub fn new(allowed: usize, window_ms: i64) -> Self {
        Self { allowed, window_ms, children: BTreeMap::new() }
    }

    /// Records a failure of `child` at `now` and decides what to do.
    pub fn failed(&mut self, child: &K, now: Timestamp) -> Verdict {
        let (window_ms, allowed) = (self.window_ms, self.allowed);
        let record = self.record(child, now);
        if record.given_up.is_some() {
            record.give_up(window_ms, now);
            return Verdict::GiveUp;
        }
        record.failures.push_back(now);
        while record.failures.front().is_some_and(|at| !lies_within(*at, window_ms, now)) {
            record.failures.pop_front();
        }
        if record.failures.len() > allowed {
            record.give_up(window_ms, now);
            return Verdict::GiveUp;
        }
        Verdict::Restart
    }

    /// Pauses a child at once, because another try now would fail in the same way.
    pub fn give_up(&mut self, child: &K, now: Timestamp) {
        let window_ms = self.window_ms;
        self.record(child, now).give_up(window_ms, now);
    }

    /// Clears a child's failures: it has done its work although it was paused.
    pub fn clear(&mut self, child: &K) {
        self.children.remove(child);
    }

    /// When a paused child is tried again; `None` if it is not paused.
    pub fn given_up_until(&self, child: &K, now: Timestamp) -> Option<Timestamp> {
        self.children.get(child)?.paused_until(self.window_ms, now)
    }

    /// The paused children, each with the time of its next try.
    pub fn all_given_up(&self, now: Timestamp) -> Vec<(&K, Timestamp)> {
        let paused = |(child, record): (_, &Record)| Some((child, record.paused_until(self.window_ms, now)?));
        self.children.iter().filter_map(paused).collect()
    }

    /// Children whose pause has ended; each is returned once per pause.
    pub fn take_due(&mut self, now: Timestamp) -> Vec<K> {
        let window_ms = self.window_ms;
        let mut due = Vec::new();
        for (child, record) in &mut self.children {
            if record.paused_until(window_ms, now).is_none()
                && let Some(given_up) = &mut record.given_up
                && !std::mem::replace(&mut given_up.tried, true)
            {
                due.push(child.clone());
            }
        }
        due
    }

    /// When the next pause ends.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        self.children.values().filter_map(|record| record.paused_until(self.window_ms, now)).min()
    }

    fn record(&mut self, child: &K, now: Timestamp) -> &mut Record {
        let window_ms = self.window_ms;
        if self.children.len() >= CHILDREN_MAX && !self.children.contains_key(child) {
            self.children.retain(|_, record| !record.is_over(window_ms, now));
            let quietest = self.children.iter().min_by_key(|(_, record)| record.last());
            if self.children.len() >= CHILDREN_MAX
                && let Some(quietest) = quietest.map(|(child, _)| child.clone())
            {
                self.children.remove(&quietest);
            }
        }
        let record = self.children.entry(child.clone()).or_default();
        if record.is_over(window_ms, now) {
            *record = Record::default();
        }
        record
    }
}

impl Record {
    /// A failure during a pause (a person asked for a try) does not lengthen it.
    fn give_up(&mut self, window_ms: i64, now: Timestamp) {
        if self.paused_until(window_ms, now).is_none() {
            let rounds = self.given_up.map_or(0, |given_up| given_up.rounds + 1);
            self.given_up = Some(GivenUp { at: now, rounds, tried: false });
            self.failures.clear();
        }
    }

    fn paused_until(&self, window_ms: i64, now: Timestamp) -> Option<Timestamp> {
        let given_up = self.given_up?;
        let pause_ms = given_up.pause_ms(window_ms);
        lies_within(given_up.at, pause_ms, now).then(|| given_up.at.plus_ms(pause_ms))
    }

    /// True if none of its failures count any more.
    fn is_over(&self, window_ms: i64, now: Timestamp) -> bool {
        match self.given_up {
            Some(given_up) => {
                given_up.tried && !lies_within(given_up.at, given_up.pause_ms(window_ms).saturating_add(window_ms), now)
            }
            None => !self.failures.back().is_some_and(|at| lies_within(*at, window_ms, now)),
        }
    }

    fn last(&self) -> Option<Timestamp> {
        self.given_up.map(|given_up| given_up.at).max(self.failures.back().copied())
    }
}

impl GivenUp {
    fn pause_ms(&self, window_ms: i64) -> i64 {
        window_ms.saturating_mul(1 << self.rounds.min(DOUBLINGS))
    }
}

/// True if `at` is less than `ms` ago. False if it lies in the future, so setting the clock back lengthens nothing.
fn lies_within(at: Timestamp, ms: i64, now: Timestamp) -> bool {
    (0..ms).contains(&now.since_ms(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{GiveUp, Restart};

    fn second(second: i64) -> Timestamp {
        Timestamp(second * 1000)
    }

    #[test]
    fn a_child_may_fail_a_few_times_and_again_after_a_while() {
        let mut budget = RestartBudget::new(2, 60_000);
        let mut at = |child: &'static str, at: i64| budget.failed(&child, second(at));
        assert_eq!([at("a", 0), at("a", 1), at("a", 62)], [Restart, Restart, Restart], "the window has moved on");
        assert_eq!([at("a", 63), at("b", 63), at("a", 64)], [Restart, Restart, GiveUp], "each has its own budget");
    }

    #[test]
    fn who_fails_again_after_the_pause_is_left_alone_for_twice_as_long() {
        let mut budget = RestartBudget::new(0, 60_000);
        let mut now = 0;
        assert_eq!(budget.failed(&"a", second(now)), GiveUp);
        for pause in [60, 120, 240, 480, 960, 1920, 3840, 3840] {
            let until = second(now + pause);
            assert_eq!(budget.all_given_up(Timestamp(until.0 - 1)), [(&"a", until)]);
            assert_eq!(budget.next_due(second(now)), Some(until));
            assert!(budget.take_due(Timestamp(until.0 - 1)).is_empty());
            assert_eq!(budget.failed(&"a", second(now + 1)), GiveUp, "a person's try");
            assert_eq!(budget.given_up_until(&"a", second(now + 1)), Some(until), "makes the pause no longer");
            now += pause;
            assert_eq!((budget.take_due(second(now)), budget.take_due(second(now))), (vec!["a"], vec![]));
            assert_eq!(budget.failed(&"a", second(now)), GiveUp);
        }
    }

    #[test]
    fn who_stands_begins_anew() {
        let given_up = || {
            let mut budget = RestartBudget::new(1, 60_000);
            assert_eq!([0, 0].map(|at| budget.failed(&"a", second(at))), [Restart, GiveUp]);
            budget
        };
        // Failures after a pause of 60 s that [`RestartBudget::take_due`] has returned.
        for (at, verdict) in [(60, GiveUp), (119, GiveUp), (120, Restart)] {
            let mut budget = given_up();
            assert_eq!(budget.take_due(second(60)), ["a"]);
            assert_eq!(budget.failed(&"a", second(at)), verdict, "at {at}");
        }
        let mut budget = given_up();
        budget.clear(&"a");
        assert_eq!(budget.failed(&"a", second(1)), Restart);
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_nobody_away() {
        let mut budget = RestartBudget::new(0, 60_000);
        budget.give_up(&"a", second(10_000));
        assert_eq!(budget.given_up_until(&"a", second(5_000)), None);
        assert_eq!(budget.take_due(second(5_000)), ["a"]);
    }

    #[test]
    fn it_remembers_a_bounded_number() {
        let mut budget = RestartBudget::new(0, 60_000);
        for child in 0..CHILDREN_MAX + 10 {
            budget.failed(&child, Timestamp(i64::try_from(child).unwrap()));
        }
        assert_eq!(budget.children.len(), CHILDREN_MAX);
        assert!(budget.given_up_until(&0, second(2)).is_none(), "the longest quiet is forgotten");
    }
}
