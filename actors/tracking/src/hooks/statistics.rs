//! Counts of hooks, their latencies, and their results.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use baton_conversation::record::Timestamp;
use baton_protocol::HookTook;
use baton_protocol::answer::{HookEventStats, HookStats};
use baton_redaction::redact;
use serde::{Deserialize, Serialize};

use baton_base::durable;

/// Limit of latencies kept per event.
const TIMES: usize = 1_000;
/// Limit of distinct events; an agent has some thirty.
const EVENTS: usize = 64;
/// Longest name of an event.
const NAME_BYTES: usize = 40;
/// The file in the home; losing it does no harm.
const FILE: &str = "hook_stats.json";
/// Limit of bytes read from it.
const FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Shortest interval between two writes.
const KEEP: Duration = Duration::from_secs(10);
/// Known reasons why a signal was left in the spool.
const WHY: [&str; 5] = [ABSENT, "timeout", "refused", "garbled", "other_version"];
/// No daemon was running.
const ABSENT: &str = "absent";
/// Key for all further events and reasons.
const OTHERS: &str = "other";

/// The counts; see the module documentation.
pub(super) struct Statistics(Mutex<Counted>);

struct Counted {
    since: Timestamp,
    events: BTreeMap<String, Event>,
    ignored: BTreeMap<String, u64>,
    unreadable: u64,
    dropped: u64,
    /// True if something was counted since the last save, and when that was.
    is_new: bool,
    kept_at: Option<Instant>,
}

#[derive(Default)]
struct Event {
    calls: u64,
    failures: BTreeMap<String, u64>,
    times_us: VecDeque<u64>,
    last_at: Option<Timestamp>,
}

/// The stored form: the answer, and the latencies that it is computed from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Saved {
    #[serde(flatten)]
    shown: HookStats,
    times_us: BTreeMap<String, VecDeque<u64>>,
}

impl Event {
    fn took(&mut self, us: u64) {
        if self.times_us.len() >= TIMES {
            self.times_us.pop_front();
        }
        self.times_us.push_back(us);
    }
}

impl Statistics {
    /// Reads the saved counts, as far as possible. Blocks for a short read.
    pub(super) fn open(home: &Path, now: Timestamp) -> Self {
        let mut text = Vec::new();
        let read = baton_base::transcript_file::open(&home.join(FILE))
            .and_then(|file| file.take(FILE_BYTES).read_to_end(&mut text));
        let kept: Option<Saved> = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
        Self(Mutex::new(Counted::of(kept.unwrap_or_default(), now)))
    }

    /// Counts a hook.
    pub(super) fn count_call(&self, event: &str, at: i64) {
        let mut counted = self.lock();
        let event = counted.event(event);
        event.calls += 1;
        event.last_at = event.last_at.max(Some(Timestamp(at)));
    }

    /// Counts a hook from the spool with the reason why it was left there and how long it had waited. Without a daemon
    /// it did not wait.
    pub(super) fn count_spooled(&self, event: &str, why: &str, took_us: u64) {
        let why = if WHY.contains(&why) { why } else { OTHERS };
        let mut counted = self.lock();
        let event = counted.event(event);
        *event.failures.entry(why.to_owned()).or_default() += 1;
        if why != ABSENT {
            event.took(took_us);
        }
    }

    /// Counts an ignored hook.
    pub(super) fn count_ignored(&self, why: &str) {
        let mut counted = self.lock();
        counted.is_new = true;
        *counted.ignored.entry(why.to_owned()).or_default() += 1;
    }

    /// Counts files of the spool that were put aside.
    pub(super) fn count_unreadable(&self, files: u64) {
        let mut counted = self.lock();
        counted.is_new |= files > 0;
        counted.unreadable += files;
    }

    /// Counts dropped signals.
    pub(super) fn count_dropped(&self, signals: u64) {
        let mut counted = self.lock();
        counted.is_new |= signals > 0;
        counted.dropped += signals;
    }

    /// Records how long a hook took.
    pub(super) fn record_duration(&self, took: &HookTook) {
        self.lock().event(&took.event).took(took.us);
    }

    /// Returns what is to be saved, if anything was counted: at most once per [`KEEP`], or `now`.
    pub(super) fn take_unsaved(&self, now: bool) -> Option<Saved> {
        {
            let mut counted = self.lock();
            let is_due = now || counted.kept_at.is_none_or(|at| at.elapsed() >= KEEP);
            if !counted.is_new || !is_due {
                return None;
            }
            (counted.is_new, counted.kept_at) = (false, Some(Instant::now()));
        }
        let times = self.lock().events.iter().map(|(name, event)| (name.clone(), event.times_us.clone())).collect();
        Some(Saved { shown: self.to_answer(), times_us: times })
    }

    /// Returns the counts as answered, without what lies in the spool.
    pub(super) fn to_answer(&self) -> HookStats {
        let counted = self.lock();
        let event = |event: &Event| {
            let mut times: Vec<u64> = event.times_us.iter().copied().collect();
            times.sort_unstable();
            let [p50_us, p95_us, p99_us] = [50, 95, 99].map(|percent| percentile(&times, percent));
            let last_at = event.last_at.map(|at| at.to_string());
            HookEventStats { calls: event.calls, failures: event.failures.clone(), p50_us, p95_us, p99_us, last_at }
        };
        HookStats {
            events: counted.events.iter().map(|(name, counted)| (name.clone(), event(counted))).collect(),
            ignored: counted.ignored.clone(),
            unreadable: counted.unreadable,
            dropped: counted.dropped,
            since: counted.since.to_string(),
            ..HookStats::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Saves the counts. Blocks for a short write.
pub(super) fn save(home: &Path, kept: &Saved) {
    let written = serde_json::to_vec(kept).map_err(std::io::Error::other);
    if let Err(error) = written.and_then(|text| durable::write_file(&home.join(FILE), &text)) {
        tracing::debug!(%error, "statistics of hooks not kept");
    }
}

impl Counted {
    fn of(kept: Saved, now: Timestamp) -> Self {
        let Saved { shown, mut times_us } = kept;
        let mut counted = Self {
            since: Timestamp::parse(&shown.since).unwrap_or(now),
            events: BTreeMap::new(),
            ignored: shown.ignored,
            unreadable: shown.unreadable,
            dropped: shown.dropped,
            is_new: false,
            kept_at: None,
        };
        for (name, was) in shown.events.into_iter().take(EVENTS) {
            if matches!(redact(&name), Cow::Owned(_)) {
                // Drop names that an earlier version accepted unchecked.
                counted.is_new = true;
                continue;
            }
            let mut times = times_us.remove(&name).unwrap_or_default();
            times.truncate(TIMES);
            let last_at = was.last_at.as_deref().and_then(Timestamp::parse);
            counted.events.insert(name, Event { calls: was.calls, failures: was.failures, times_us: times, last_at });
        }
        counted
    }

    /// Returns the counts of an event. Names that are odd or too many share one entry.
    fn event(&mut self, name: &str) -> &mut Event {
        self.is_new = true;
        let is_name = name.len() <= NAME_BYTES
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && matches!(redact(name), Cow::Borrowed(_));
        let known = match self.events.contains_key(name) || (is_name && !name.is_empty() && self.events.len() < EVENTS)
        {
            true => name,
            false => OTHERS,
        };
        self.events.entry(known.to_owned()).or_default()
    }
}

/// Returns the smallest value that `percent` of the sorted values do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_survives_a_restart_and_what_cannot_be_read_is_no_loss() {
        let home = tempfile::tempdir().unwrap();
        let statistics = Statistics::open(home.path(), Timestamp(1_000));
        assert!(statistics.take_unsaved(true).is_none(), "nothing was counted");
        statistics.count_call("Stop", 2_000);
        statistics.count_call("Stop", 1_500);
        statistics.count_spooled("Stop", "timeout", 1);
        statistics.count_spooled("Stop", "whatever\u{1b}", 1);
        statistics.count_ignored("own");
        statistics.count_unreadable(2);
        statistics.count_dropped(3);
        for us in 1..=TIMES as u64 + 100 {
            statistics.record_duration(&HookTook { event: "Stop".to_owned(), us });
        }
        save(home.path(), &statistics.take_unsaved(false).unwrap());
        statistics.count_ignored("own");
        assert!(statistics.take_unsaved(false).is_none(), "kept a moment ago");
        let again = Statistics::open(home.path(), Timestamp(9_000)).to_answer();
        let stop = &again.events["Stop"];
        assert_eq!((stop.calls, stop.last_at.as_deref()), (2, Some("1970-01-01T00:00:02.000Z")));
        assert_eq!((stop.p50_us, stop.p95_us, stop.p99_us), (Some(600), Some(1_050), Some(1_090)));
        assert_eq!(stop.failures, BTreeMap::from([("timeout".to_owned(), 1), ("other".to_owned(), 1)]));
        assert_eq!((again.unreadable, again.dropped, again.ignored["own"]), (2, 3, 1));
        assert_eq!(again.since, "1970-01-01T00:00:01.000Z");
        std::fs::write(home.path().join(FILE), "{\"events\": 7").unwrap();
        assert_eq!(Statistics::open(home.path(), Timestamp(9_000)).to_answer().since, "1970-01-01T00:00:09.000Z");
    }

    #[test]
    fn whoever_gave_up_counts_among_the_slow_ones() {
        let home = tempfile::tempdir().unwrap();
        let statistics = Statistics::open(home.path(), Timestamp(0));
        statistics.record_duration(&HookTook { event: "Stop".to_owned(), us: 3_000 });
        statistics.count_spooled("Stop", "timeout", 60_000);
        statistics.count_spooled("Stop", "absent", 1_000);
        let stop = &statistics.to_answer().events["Stop"];
        assert_eq!((stop.p50_us, stop.p99_us), (Some(3_000), Some(60_000)));
    }

    #[test]
    fn whatever_an_event_is_called_there_are_few() {
        let home = tempfile::tempdir().unwrap();
        let statistics = Statistics::open(home.path(), Timestamp(0));
        for number in 0..10 * EVENTS {
            statistics.count_call(&format!("Event{number}"), 0);
        }
        statistics.count_call("with a prompt in it", 0);
        statistics.count_call("", 0);
        let shown = statistics.to_answer();
        assert_eq!(shown.events.len(), EVENTS + 1);
        assert_eq!(shown.events["other"].calls as usize, 9 * EVENTS + 2);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        for (values, expected) in [(&[][..], [None; 3]), (&[7], [Some(7); 3]), (&[1, 2], [Some(1), Some(2), Some(2)])] {
            assert_eq!([50, 95, 99].map(|percent| percentile(values, percent)), expected, "{values:?}");
        }
    }
}
