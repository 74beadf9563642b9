//! The only clock. Everything that depends on time takes it as an argument, so tests can control it.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// Tells the time, and how long the machine slept.
pub trait Clock: Send + Sync {
    /// Wall-clock time.
    fn now(&self) -> Timestamp;

    /// The rule of the time zone for days in answers whose caller names none, as [`Zone::parse`] reads it; `None` for
    /// UTC.
    fn zone_rule(&self) -> Option<String> {
        None
    }

    /// That time zone.
    fn zone(&self) -> Zone {
        self.zone_rule().as_deref().and_then(Zone::parse).unwrap_or(Zone::UTC)
    }

    /// Milliseconds since `since` during which the machine slept, as far as this process has observed.
    fn asleep_ms(&self, since: Timestamp) -> i64;

    /// Completes at `at`, or earlier when the caller should check again.
    fn sleep_until(&self, at: Timestamp) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clock.
#[derive(Debug, Default)]
pub struct SystemClock {
    naps: Mutex<Naps>,
    zone: Option<String>,
}

impl SystemClock {
    /// The machine's clock with the rule of its time zone.
    pub fn with_zone(zone: Option<String>) -> Self {
        Self { zone, ..Self::default() }
    }
}

/// Periods of sleep, found by comparing a clock that stops during sleep with one that does not.
#[derive(Debug, Default)]
struct Naps {
    slept_ms: Option<i64>,
    /// When each was noticed, and its length; newest last. The last hundred are enough for any timeout.
    found: Vec<(Timestamp, i64)>,
}

/// Shorter differences are noise from reading two clocks.
const NAP_MIN_MS: i64 = 2_000;
const NAPS_MAX: usize = 100;

impl Naps {
    fn look(&mut self, now: Timestamp, slept_ms: Option<i64>) {
        let (Some(before), Some(after)) = (self.slept_ms, slept_ms) else {
            self.slept_ms = slept_ms;
            return;
        };
        if after - before >= NAP_MIN_MS {
            self.found.push((now, after - before));
            if self.found.len() > NAPS_MAX {
                self.found.remove(0);
            }
            self.slept_ms = slept_ms;
        }
    }

    fn since(&self, since: Timestamp, now: Timestamp) -> i64 {
        let slept: i64 = self.found.iter().filter(|(at, _)| *at > since).map(|(_, ms)| ms).sum();
        slept.min(now.since_ms(since)).max(0)
    }
}

/// How long the machine has slept since boot. Known only on Linux; elsewhere no sleep is subtracted.
#[cfg(target_os = "linux")]
fn slept_since_boot_ms() -> Option<i64> {
    use rustix::time::{ClockId, clock_gettime};
    let ms = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    };
    Some(ms(ClockId::Boottime) - ms(ClockId::Monotonic))
}

#[cfg(not(target_os = "linux"))]
fn slept_since_boot_ms() -> Option<i64> {
    None
}

impl Clock for SystemClock {
    fn zone_rule(&self) -> Option<String> {
        self.zone.clone()
    }

    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn asleep_ms(&self, since: Timestamp) -> i64 {
        let now = self.now();
        let mut naps = self.naps.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        naps.look(now, slept_since_boot_ms());
        naps.since(since, now)
    }

    fn sleep_until(&self, at: Timestamp) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // Compares the two clocks often enough to notice a sleep about when it happened.
        self.asleep_ms(at);
        let wait = Duration::from_millis(u64::try_from(at.since_ms(self.now())).unwrap_or(0));
        Box::pin(tokio::time::sleep(wait.clamp(crate::limits::TIMER_MIN, crate::limits::TIMER)))
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    now: tokio::sync::watch::Sender<Timestamp>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        Self { now: tokio::sync::watch::Sender::new(now) }
    }

    /// Moves the clock forward and wakes sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.now.send_modify(|now| *now = now.plus_ms(ms));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    fn asleep_ms(&self, _since: Timestamp) -> i64 {
        0
    }

    fn sleep_until(&self, at: Timestamp) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut moved = self.now.subscribe();
        Box::pin(async move {
            // The sender lives as long as the clock, so this ends only when the time has come.
            let _ = moved.wait_for(|now| *now >= at).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_asleep_is_told_from_time_awake() {
        let mut naps = Naps::default();
        naps.look(Timestamp(0), Some(500));
        naps.look(Timestamp(1_000), Some(900));
        naps.look(Timestamp(100_000), Some(60_500));
        assert_eq!(naps.since(Timestamp(50_000), Timestamp(100_000)), 50_000, "never more than has passed");
        assert_eq!(naps.since(Timestamp(0), Timestamp(100_000)), 60_000);
        assert_eq!(naps.since(Timestamp(100_000), Timestamp(200_000)), 0);
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_those_whose_time_has_come() {
        let clock = std::sync::Arc::new(ManualClock::new(Timestamp(0)));
        let sleeper = {
            let clock = clock.clone();
            crate::task::spawn(async move { clock.sleep_until(Timestamp(60_000)).await })
        };
        clock.advance(Duration::from_secs(60));
        sleeper.await.unwrap();
        assert_eq!(clock.now(), Timestamp(60_000));
    }
}
