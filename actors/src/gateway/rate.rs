//! Rate limit of one client: generous, and beyond it calls are delayed.

use std::time::{Duration, Instant};

use baton_base::limits;

/// A token bucket: full at first, and refilled at a steady rate.
#[derive(Debug)]
pub(super) struct Rate {
    /// When the bucket will be full again.
    full_at: Instant,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one token, and returns how long the call must wait for it.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        self.full_at = self.full_at.max(now) + limits::CALL_EVERY;
        let full_in = self.full_at.saturating_duration_since(now);
        full_in.saturating_sub(limits::CALL_EVERY * limits::CALLS_AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_what_follows_comes_at_the_steady_rate() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        for call in 0..limits::CALLS_AT_ONCE {
            assert_eq!(rate.take(start), Duration::ZERO, "call {call}");
        }
        assert_eq!(rate.take(start), limits::CALL_EVERY);
        assert_eq!(rate.take(start), limits::CALL_EVERY * 2);
        // A client that waits as told gets one each time.
        let later = start + limits::CALL_EVERY * 2;
        assert_eq!(rate.take(later), limits::CALL_EVERY);
        // After any pause there is one full burst.
        let much_later = start + Duration::from_secs(3600);
        for _ in 0..limits::CALLS_AT_ONCE {
            assert_eq!(rate.take(much_later), Duration::ZERO);
        }
        assert_eq!(rate.take(much_later), limits::CALL_EVERY);
    }
}
