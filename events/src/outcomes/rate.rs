//! How often runs succeed, and of which runs that can be said.

use super::TOO_FEW;
use crate::protocol::answer::Runs;
use crate::record::Timestamp;
use crate::schema::outcomes::Tally;

/// So many outcomes of runs that ended by themselves tell more than any number of those that did not.
const ENOUGH: u32 = 20;

/// A tally as it is answered. The rate is that of runs with an exit code of their own, if these are many or at least half
/// of all: what stands before a pipe seems to succeed whatever it does.
pub(super) fn runs(tally: &Tally) -> Runs {
    let own = tally.ok.saturating_add(tally.failed);
    let shared = tally.shared_ok.saturating_add(tally.shared_failed);
    let (ok, failed) = (tally.ok.saturating_add(tally.shared_ok), tally.failed.saturating_add(tally.shared_failed));
    let (good, of) = if own >= ENOUGH || (own >= TOO_FEW && own >= shared) {
        (tally.ok, own)
    } else {
        (ok, own.saturating_add(shared))
    };
    Runs {
        count: tally.all(),
        ok,
        failed,
        unknown: tally.unknown,
        denied: tally.denied,
        interrupted: tally.interrupted,
        success_rate: share(good, of),
        rate_of: if of >= TOO_FEW { of } else { 0 },
        shared,
    }
}

/// A share with three digits; none of fewer than [`TOO_FEW`].
pub(super) fn share(part: u32, of: u32) -> Option<f64> {
    (of >= TOO_FEW).then(|| (f64::from(part) / f64::from(of) * 1000.0).round() / 1000.0)
}

/// `85 %`.
pub(super) fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

/// `3 times`, `once`.
pub(super) fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// `3 sessions`, `1 session`.
pub(super) fn counted(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A stored time as it is answered.
pub(super) fn time(at: Option<i64>) -> Option<String> {
    at.map(|at| Timestamp(at).to_string())
}

/// How runs ended, in half a sentence.
pub(super) fn told(runs: &Runs) -> String {
    let mut parts = Vec::new();
    let known = runs.ok.saturating_add(runs.failed);
    if known > 0 {
        parts.push(format!("{} succeeded, {} failed", runs.ok, runs.failed));
    }
    for (count, how) in [(runs.unknown, "ended unknown"), (runs.denied, "refused"), (runs.interrupted, "interrupted")] {
        if count > 0 {
            parts.push(format!("{count} {how}"));
        }
    }
    let parts = parts.join(", ");
    match runs.success_rate {
        Some(rate) if runs.rate_of < known => {
            format!("{parts}; {} of the {} that ended by themselves", percent(rate), runs.rate_of)
        }
        Some(rate) if runs.shared > 0 => {
            format!(
                "{parts}; {}, but {} ran in a longer line or before a pipe, which may hide a failure",
                percent(rate),
                runs.shared
            )
        }
        Some(rate) => format!("{parts} ({})", percent(rate)),
        None => format!("{parts}; too few to say how often it succeeds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_what_is_known() {
        let check = |own: (u32, u32), shared: (u32, u32), rate: Option<f64>, of: u32| {
            let tally = Tally {
                ok: own.0,
                failed: own.1,
                shared_ok: shared.0,
                shared_failed: shared.1,
                unknown: 50,
                ..Tally::default()
            };
            let runs = runs(&tally);
            assert_eq!((runs.success_rate, runs.rate_of), (rate, of), "{own:?} {shared:?}");
        };
        check((0, 0), (0, 0), None, 0);
        check((2, 0), (0, 0), None, 0);
        check((1, 2), (0, 0), Some(0.333), 3);
        check((17, 3), (900, 0), Some(0.85), 20);
        check((1, 2), (3, 0), Some(0.333), 3);
        check((1, 2), (7, 0), Some(0.8), 10);
        check((0, 0), (2, 2), Some(0.5), 4);
    }
}
