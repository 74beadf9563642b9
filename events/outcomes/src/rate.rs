//! Success rates of runs, and which runs they cover.
//!
//! # Decisions
//!
//! - A rate covers `ok` and `failed`; all other runs count as unknown. `baton reindex` recomputes episodes made by
//!   older filters.

use super::TOO_FEW;
use baton_conversation::record::Timestamp;
use baton_events::schema::outcomes::Tally;
use baton_protocol::answer::Runs;

/// A pipe is taken to pass failures on from this number of failures before it …
const TELLING: u32 = 3;
/// … if they are at least one in so many of those runs. `tail` itself never fails, so the shell must have `pipefail`
/// set.
const ONE_IN: u32 = 10;

/// Returns true if pipes evidently pass failures on.
pub(super) fn passes_on(tally: &Tally) -> bool {
    let piped = tally.piped_ok.saturating_add(tally.piped_failed);
    tally.piped_failed >= TELLING && tally.piped_failed.saturating_mul(ONE_IN) >= piped
}

/// Converts a tally for an answer: the rate covers `ok` and `failed`, everything else is unknown.
///
/// Known results count whether the program ran alone or with others in a line; runs before a pipe count if the pipe
/// evidently passes failures on.
pub(super) fn runs(tally: &Tally) -> Runs {
    part_of_runs(tally, passes_on(tally))
}

/// Converts part of a program's tally with the verdict on pipes of the whole, so that the parts add up to the whole.
pub(super) fn part_of_runs(tally: &Tally, passes_on: bool) -> Runs {
    let mut ok = tally.ok.saturating_add(tally.shared_ok);
    let mut failed = tally.failed.saturating_add(tally.shared_failed);
    let mut hidden = 0;
    if passes_on {
        (ok, failed) = (ok.saturating_add(tally.piped_ok), failed.saturating_add(tally.piped_failed));
    } else {
        hidden = tally.piped_ok.saturating_add(tally.piped_failed);
    }
    let known = ok.saturating_add(failed);
    Runs {
        count: tally.all(),
        ok,
        failed,
        unknown: tally.unknown.saturating_add(hidden),
        denied: tally.denied,
        interrupted: tally.interrupted,
        success_rate: share(ok, known),
        rate_of: if known >= TOO_FEW { known } else { 0 },
        shared: hidden,
    }
}

/// Returns a share rounded to three digits; `None` if `of` is less than [`TOO_FEW`].
pub(super) fn share(part: u32, of: u32) -> Option<f64> {
    (of >= TOO_FEW).then(|| (f64::from(part) / f64::from(of) * 1000.0).round() / 1000.0)
}

/// `85%`. Not for a share that is rounded already.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// `3 times`, `once`.
pub(super) fn format_times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// `3 sessions`, `1 session`.
pub(super) fn format_count(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Formats a stored time for an answer.
pub(super) fn format_time(at: Option<i64>) -> Option<String> {
    at.map(|at| Timestamp(at).to_string())
}

/// Describes how runs ended.
pub(super) fn describe(runs: &Runs) -> String {
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
    let hidden = match runs.shared {
        0 => String::new(),
        shared => {
            format!("; {shared} of the unknown ran before a pipe, which hides how they ended")
        }
    };
    let rate = || percent(f64::from(runs.ok) / f64::from(known));
    match runs.success_rate {
        Some(_) if runs.shared == 0 => format!("{parts} ({} of {known})", rate()),
        Some(_) => format!("{parts}; {} of the {known} known{hidden}", rate()),
        None => format!("{parts}; too few to say how often it succeeds{hidden}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_what_is_known() {
        let check = |own: (u32, u32), shared: (u32, u32), piped: (u32, u32), rate: Option<f64>, known: (u32, u32)| {
            let tally = Tally {
                ok: own.0,
                failed: own.1,
                shared_ok: shared.0,
                shared_failed: shared.1,
                piped_ok: piped.0,
                piped_failed: piped.1,
                unknown: 50,
                ..Tally::default()
            };
            let runs = runs(&tally);
            let all = runs.ok + runs.failed + runs.unknown;
            assert_eq!(
                (runs.success_rate, runs.ok, runs.failed),
                (rate, known.0, known.1),
                "{own:?} {shared:?} {piped:?}"
            );
            assert_eq!((all, runs.shared + 50), (tally.all(), runs.unknown));
            assert_eq!(runs.rate_of, if rate.is_some() { known.0 + known.1 } else { 0 });
        };
        check((0, 0), (0, 0), (0, 0), None, (0, 0));
        check((2, 0), (0, 0), (0, 0), None, (2, 0));
        check((1, 2), (0, 0), (0, 0), Some(0.333), (1, 2));
        check((17, 3), (80, 0), (0, 0), Some(0.97), (97, 3));
        check((5, 0), (16, 0), (0, 0), Some(1.0), (21, 0));
        check((1, 1), (7, 0), (0, 0), Some(0.889), (8, 1));
        check((0, 0), (2, 2), (0, 0), Some(0.5), (2, 2));
        // Everything before a pipe seems to succeed.
        check((0, 4), (0, 0), (60, 0), Some(0.0), (0, 4));
        check((0, 0), (0, 0), (60, 2), None, (0, 0));
        check((0, 0), (0, 0), (85, 15), Some(0.85), (85, 15));
        check((0, 3), (0, 0), (97, 3), Some(0.0), (0, 3));
    }
}
