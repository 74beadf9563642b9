//! How often hooks come, how fast they are answered, and what becomes of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use baton_events::protocol::Took;
use baton_events::protocol::answer::{HookEventStats, HookStats};
use baton_events::record::Timestamp;
use serde::{Deserialize, Serialize};

/// Times of an event that are kept.
const TIMES: usize = 1_000;
/// Events that are told apart; an agent has some thirty.
const EVENTS: usize = 64;
/// Longest name of an event that is one.
const NAME_BYTES: usize = 40;
/// Where further events are counted.
const OTHERS: &str = "other";

/// See the module.
pub struct Statistics(Mutex<Kept>);

/// What is counted, as it lies in the home.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    since: i64,
    events: BTreeMap<String, Event>,
    ignored: BTreeMap<String, u64>,
    unreadable: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Event {
    calls: u64,
    failures: BTreeMap<String, u64>,
    times_us: VecDeque<u64>,
    last_at: Option<i64>,
}

impl Statistics {
    /// Nothing counted yet.
    pub(super) fn new(since: Timestamp) -> Self {
        Self(Mutex::new(Kept { since: since.0, ..Kept::default() }))
    }

    pub(super) fn called(&self, event: &str, at: i64) {
        let mut kept = self.lock();
        let event = kept.event(event);
        event.calls += 1;
        event.last_at = event.last_at.max(Some(at));
    }

    pub(super) fn ignored(&self, why: &str) {
        *self.lock().ignored.entry(why.to_owned()).or_default() += 1;
    }

    /// How long a hook took.
    pub fn took(&self, took: &Took) {
        let mut kept = self.lock();
        let times = &mut kept.event(&took.event).times_us;
        if times.len() >= TIMES {
            times.pop_front();
        }
        times.push_back(took.us);
    }

    /// As it is answered.
    pub fn shown(&self) -> HookStats {
        let kept = self.lock();
        let event = |event: &Event| {
            let mut times: Vec<u64> = event.times_us.iter().copied().collect();
            times.sort_unstable();
            let [p50_us, p95_us, p99_us] = [50, 95, 99].map(|percent| percentile(&times, percent));
            let last_at = event.last_at.map(|at| Timestamp(at).to_string());
            HookEventStats { calls: event.calls, failures: event.failures.clone(), p50_us, p95_us, p99_us, last_at }
        };
        HookStats {
            events: kept.events.iter().map(|(name, counted)| (name.clone(), event(counted))).collect(),
            ignored: kept.ignored.clone(),
            unreadable: kept.unreadable,
            since: Timestamp(kept.since).to_string(),
            ..HookStats::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Kept {
    /// An event's counts. Whatever is written there, there are few of them.
    fn event(&mut self, name: &str) -> &mut Event {
        let is_name =
            name.len() <= NAME_BYTES && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let known = match self.events.contains_key(name) || (is_name && !name.is_empty() && self.events.len() < EVENTS)
        {
            true => name,
            false => OTHERS,
        };
        self.events.entry(known.to_owned()).or_default()
    }
}

/// The least of sorted values that so many in a hundred do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}
