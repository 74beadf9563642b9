//! Durations of repeated measurements.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Percentiles of durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Number of durations.
    pub n: u64,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile; with fewer than 100 durations the longest.
    pub p99_ms: f64,
}

impl Spread {
    pub(super) fn text(&self) -> String {
        format!("p50 {:.1} ms, p99 {:.1} ms (n = {})", self.p50_ms, self.p99_ms, self.n)
    }
}

/// Durations as they are taken.
#[derive(Debug, Default)]
pub(super) struct Sample(Vec<Duration>);

impl Sample {
    pub(super) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Runs `work` and adds its duration, unless it fails.
    pub(super) fn time<T, E>(&mut self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let since = Instant::now();
        let done = work()?;
        self.add(since.elapsed());
        Ok(done)
    }

    pub(super) fn spread(mut self) -> Spread {
        self.0.sort_unstable();
        Spread { n: self.0.len() as u64, p50_ms: self.percentile(50), p99_ms: self.percentile(99) }
    }

    /// The smallest duration that `percent` percent do not exceed. Needs sorted durations.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(ms: impl IntoIterator<Item = u64>) -> Spread {
        let mut sample = Sample::default();
        ms.into_iter().map(Duration::from_millis).for_each(|time| sample.add(time));
        sample.spread()
    }

    #[test]
    fn percentiles_are_times_that_were_taken() {
        assert_eq!(spread([]), Spread { n: 0, p50_ms: 0.0, p99_ms: 0.0 });
        assert_eq!(spread([7]), Spread { n: 1, p50_ms: 7.0, p99_ms: 7.0 });
        assert_eq!(spread([4, 1, 3, 2]), Spread { n: 4, p50_ms: 2.0, p99_ms: 4.0 });
        assert_eq!(spread((1..=200).rev()), Spread { n: 200, p50_ms: 100.0, p99_ms: 198.0 });
    }
}
