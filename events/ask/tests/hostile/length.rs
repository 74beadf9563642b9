//! Texts made to be slow: whatever is repeated in a prompt, a reply or a tool's output, four times as much of it takes
//! about four times as long, from the transcript to the search document.
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::time::{Duration, Instant};

use super::{remember, transcript};

const SMALL_BYTES: usize = 25_000;
const LARGE_BYTES: usize = 4 * SMALL_BYTES;
/// Above the factor four of linear cost plus noise, far below the sixteen of quadratic cost.
const RATIO_MAX: f64 = 6.0;
/// Shorter times are not judged, as noise is larger.
const NOISE: Duration = Duration::from_millis(30);
const ATTEMPTS: usize = 4;

const TRIGGERS: &[&str] = &[
    "://",
    "https://a:",
    "https://a.org/,",
    "http",
    "<",
    "<a ",
    "</",
    "<ide_selection>",
    "<ide_selection ",
    "<command-name>",
    "<command-name>a</command-name>",
    "<task-notification>",
    "<system-reminder></system-reminder>",
    "</system-reminder>",
    "<private>",
    "</private>",
    "<baton-recall",
    "</baton-recall>",
    "[Request interrupted by user]",
    "\"",
    "\\\"",
    "'",
    "`",
    "```\n",
    "~~~\n```\n",
    "/a/b",
    "/a/b ",
    "../",
    "a.rs:1:",
    "#1",
    "#1 ",
    "AB-1 ",
    "Error:",
    "Error: a\n",
    "](",
    "[a](b)",
    "**",
    "- ",
    "- a\n",
    "1. ",
    "? ",
    "a? B",
    "! ",
    ". ",
    "e.g. ",
    ": ",
    "::",
    "=",
    "a=b ",
    "&&",
    "a && ",
    "| ",
    "$(",
    "<<EOF\n",
    "@",
    "a@b ",
    "\u{1b}[",
    " ",
    "\n",
    "a\n\n",
    "é",
    "語。",
    "I decided to use a instead of b because c. ",
    "Next: do a. ",
];

/// Returns the CPU time of this thread for it; wall-clock time where the system does not report that.
fn cost(transcript: &[u8]) -> Duration {
    let (began, worked) = (Instant::now(), worked());
    remember(transcript);
    worked.and_then(|before| self::worked()?.checked_sub(before)).unwrap_or_else(|| began.elapsed())
}

/// Returns the CPU time of this thread so far.
fn worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(told.split(' ').next()?.parse().ok()?))
}

#[test]
fn repetition_costs_what_its_length_costs() {
    let mut slow = Vec::new();
    for trigger in TRIGGERS {
        let of = |bytes: usize| transcript(&trigger.repeat(bytes / trigger.len()));
        let (small, large) = (of(SMALL_BYTES), of(LARGE_BYTES));
        let ratio = |_| {
            let large = cost(&large);
            if large < NOISE { 0.0 } else { large.as_secs_f64() / cost(&small).as_secs_f64() }
        };
        let least = (0..ATTEMPTS).map(ratio).find(|ratio| *ratio < RATIO_MAX);
        if least.is_none() {
            slow.push(*trigger);
        }
    }
    assert!(slow.is_empty(), "these cost more than their length: {slow:?}");
}
