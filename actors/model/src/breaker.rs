//! Decides when an endpoint is paused after failures, and for how long; pure, with time as an argument.
//!
//! ```text
//!              failure                     time is up: one is let through
//!   closed ───────────────► open(until) ───────────────────────────────► trying
//!     ▲                          ▲                 failure, longer           │
//!     │                          └───────────────────────────────────────────┤
//!     └──────────────────────────────────────────────────────────────────────┘ success
//! ```

use std::time::{Duration, Instant};

use super::failure::{Failure, Kind};

/// First and longest pause after a failure that may be over soon: bounds how late a started server is noticed.
const SOON: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5 * 60));
/// The same after a failure that a person has to fix.
const LATE: (Duration, Duration) = (Duration::from_secs(30), LONGEST);
/// Longest pause, whatever an endpoint asks for.
pub(super) const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Consecutive timeouts of calls with a short deadline that open the breaker: a single one says little.
const SHORT_IN_A_ROW: u32 = 3;
/// Consecutive failures of single requests after which the endpoint is at fault. Halving a batch of 64 down to the
/// faulty text takes seven.
const REQUESTS_IN_A_ROW: u32 = 10;
/// How soon to ask again while another request is the trial.
const TRYING: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    /// Makes its pauses differ from those of other processes.
    seed: u64,
    shorts: u32,
    of_requests: u32,
}

#[derive(Debug)]
enum State {
    Closed,
    Open { until: Instant, tries: u32, why: Failure },
    Trying { tries: u32, why: Failure },
}

/// Why an endpoint is paused, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// The last failure.
    pub failure: Failure,
    /// Time until it is tried again.
    pub again_in: Duration,
}

impl Breaker {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: State::Closed, seed, shorts: 0, of_requests: 0 }
    }

    /// Admits a request, or returns why not. The outcome of an admitted request must be reported.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Down> {
        if let Some(down) = self.down(now).filter(|down| !down.again_in.is_zero()) {
            return Err(down);
        }
        if let State::Open { tries, why, .. } = &self.state {
            self.state = State::Trying { tries: *tries, why: why.clone() };
        }
        Ok(())
    }

    /// The reason for a pause, if there is one. With `again_in` zero the next request is admitted.
    pub(super) fn down(&self, now: Instant) -> Option<Down> {
        let (failure, again_in) = match &self.state {
            State::Closed => return None,
            State::Open { until, why, .. } => (why, until.saturating_duration_since(now)),
            State::Trying { why, .. } => (why, TRYING),
        };
        Some(Down { failure: failure.clone(), again_in })
    }

    /// Closes the breaker; returns true if it was not closed.
    pub(super) fn succeeded(&mut self) -> bool {
        (self.shorts, self.of_requests) = (0, 0);
        !matches!(std::mem::replace(&mut self.state, State::Closed), State::Closed)
    }

    /// Records a failure and returns it. A failure of the request itself is returned as the endpoint's if it is one of
    /// many in a row. `is_short`: the call had a short deadline.
    pub(super) fn failed(&mut self, now: Instant, failure: Failure, is_short: bool) -> Failure {
        let tries = match &self.state {
            State::Closed => 0,
            State::Trying { tries, .. } => tries + 1,
            // It was sent before the breaker opened; what opened it is newer.
            State::Open { .. } => return failure,
        };
        let failure = if failure.is_of_request() {
            self.of_requests += 1;
            if self.of_requests < REQUESTS_IN_A_ROW {
                // The endpoint has answered, so it works.
                self.state = State::Closed;
                return failure;
            }
            failure.of_endpoint()
        } else {
            failure
        };
        if is_short && failure.kind() == Kind::TimedOut && matches!(self.state, State::Closed) {
            self.shorts += 1;
            if self.shorts < SHORT_IN_A_ROW {
                return failure;
            }
        }
        self.state = State::Open { until: now + pause(failure.kind(), tries, self.seed), tries, why: failure.clone() };
        failure
    }

    /// An admitted request was cancelled by its caller.
    pub(super) fn cancelled(&mut self, now: Instant) {
        if let State::Trying { tries, why } = &self.state {
            self.state = State::Open { until: now, tries: *tries, why: why.clone() };
        }
    }
}

/// The pause after a failure that `tries` others preceded.
fn pause(kind: Kind, tries: u32, seed: u64) -> Duration {
    let (first, longest) = match kind {
        Kind::Unreachable | Kind::TimedOut | Kind::ServerError | Kind::RateLimited { .. } => SOON,
        Kind::NotUnderstood | Kind::Page | Kind::TooLong => SOON,
        _ => LATE,
    };
    let doubled = first.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(longest);
    let wanted = match kind {
        Kind::RateLimited { retry_after } => doubled.max(retry_after.unwrap_or_default()),
        _ => doubled,
    };
    // Up to a quarter more, so that clients that failed together do not return together.
    let more = wanted.mul_f64(fraction(seed.wrapping_add(tries.into())) / 4.0);
    (wanted + more).min(LONGEST)
}

/// Maps numbers evenly to 0..1 (the finaliser of SplitMix64).
fn fraction(number: u64) -> f64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps are `ok`, `cut` (given up), or a kind of failure; `-` only advances time. Each is followed by the pause in
    /// whole seconds, or `on`.
    fn check(name: &str, steps: &[(u64, &str, &str)]) {
        let begin = Instant::now();
        let (mut breaker, mut now) = (Breaker::new(7), begin);
        for (at, what, expected) in steps {
            now = now.max(begin + Duration::from_secs(*at));
            let retry_after = what.strip_prefix("429 ").and_then(|s| s.parse().ok()).map(Duration::from_secs);
            let kind = match *what {
                "refused" => Kind::Unreachable,
                "late" | "impatient" => Kind::TimedOut,
                "401" => Kind::Unauthorised,
                "500" => Kind::ServerError,
                "poison" => Kind::Unusable,
                _ => Kind::RateLimited { retry_after },
            };
            let admitted = breaker.admit(now).is_ok();
            match *what {
                "-" => {}
                "ok" if admitted => drop(breaker.succeeded()),
                "cut" if admitted => breaker.cancelled(now),
                _ if admitted => drop(breaker.failed(now, Failure::new(kind, *what), *what == "impatient")),
                _ => panic!("{name}: {what} at {at} is not let through"),
            }
            let told = breaker.down(now).map_or("on".to_owned(), |down| match &breaker.state {
                State::Trying { .. } => "trying".to_owned(),
                _ => format!("{}", down.again_in.as_secs_f64().round()),
            });
            assert_eq!(&told, expected, "{name}: {what} at {at}");
        }
    }

    #[test]
    fn an_endpoint_is_left_alone_the_longer_the_longer_it_fails() {
        check("well", &[(0, "ok", "on"), (1, "ok", "on")]);
        check("one failure shuts it", &[(0, "refused", "1"), (2, "ok", "on"), (3, "refused", "1")]);
        check(
            "longer and longer, up to a bound",
            &[
                (0, "refused", "1"),
                (10, "late", "2"),
                (20, "500", "5"),
                (30, "500", "8"),
                (50, "500", "17"),
                (100, "500", "37"),
                (200, "500", "76"),
                (300, "500", "141"),
                (1000, "500", "290"),
                (2000, "500", "328"),
                (9000, "500", "338"),
            ],
        );
        check("what somebody has to mend", &[(0, "401", "33"), (100, "401", "69"), (900, "401", "140")]);
        check("a wish is granted", &[(0, "429 40", "44"), (100, "429 0", "2")]);
        check("not beyond a bound", &[(0, "429 3600", "900"), (901, "429 999999999", "900")]);
        check("one at a time", &[(0, "500", "1"), (2, "-", "trying")]);
        check("one that is given up makes room", &[(0, "500", "1"), (2, "cut", "0"), (2, "ok", "on")]);
        let impatient = (0, "impatient", "on");
        check("little patience says little", &[impatient, impatient, (0, "ok", "on"), impatient, impatient]);
        check("and three times says much", &[impatient, impatient, (0, "impatient", "1"), (9, "impatient", "2")]);
        let poison = (0, "poison", "on");
        check("a request may fail for its own sake", &[poison; 9]);
        let mut steps = vec![poison; 9];
        steps.extend([(0, "poison", "33"), (100, "poison", "69"), (200, "ok", "on"), poison]);
        check("but not all of them", &steps);
        check("an answer of any kind says that it is there", &[(0, "500", "1"), (3, "poison", "on")]);
    }

    #[test]
    fn while_one_tries_others_are_told_why_they_wait() {
        let (mut breaker, now) = (Breaker::new(1), Instant::now());
        breaker.failed(now, Failure::new(Kind::ServerError, "first"), false);
        let down = breaker.admit(now).unwrap_err();
        assert!(down.again_in >= SOON.0 && down.failure.describe() == "first", "{down:?}");
        let later = now + Duration::from_secs(5);
        breaker.admit(later).unwrap();
        assert_eq!(breaker.admit(later).unwrap_err().again_in, TRYING);
        // A request sent before changes nothing for the worse.
        let (mut breaker, other) = (Breaker::new(1), Failure::new(Kind::Unauthorised, "other"));
        breaker.failed(now, Failure::new(Kind::ServerError, "first"), false);
        breaker.failed(now, other, false);
        assert_eq!(breaker.down(now).unwrap().failure.describe(), "first");
    }

    #[test]
    fn pauses_are_spread() {
        let mut pauses: Vec<Duration> = (0..50).map(|seed| pause(Kind::ServerError, 5, seed)).collect();
        pauses.sort_unstable();
        pauses.dedup();
        assert!(pauses.len() > 45, "{pauses:?}");
        assert!(
            pauses[0] >= Duration::from_secs(32) && pauses[pauses.len() - 1] <= Duration::from_secs(40),
            "{pauses:?}"
        );
        assert!(pause(Kind::NoKey, u32::MAX, 3) <= LONGEST);
    }
}
