//! Adversarial texts: four times as many repetitions must take about four times as long.
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::time::{Duration, Instant};

use super::*;
use crate::announcement::{CALLS, FUNCTIONS, WORDS};
use crate::language::NAMES;
use crate::prefixes::KEYS;

const SMALL_BYTES: usize = 8_000;
const LARGE_BYTES: usize = 4 * SMALL_BYTES;
/// Above the four of linear time with noise, below the sixteen of quadratic time.
const RATIO_MAX: u32 = 8;
/// Shorter times are not judged: they are mostly noise.
const NOISE: Duration = Duration::from_millis(40);
const ATTEMPTS: usize = 4;

/// What is repeated, and what is at the end. Each once took, or could take, quadratic time.
const SHAPES: &[(&str, &str)] = &[
    ("sk-ab-cd-", ""),
    ("SG.a", ""),
    ("eyJ-", ""),
    ("eyJ-ghp_a1B2c3D4e5F6g7H8a1B2-", ""),
    ("eyJhbGciOi.", ""),
    ("A3-", "a"),
    ("AKIAIOSFODNN7EXAMPLQ/", ""),
    ("x-api-key=kW8xyzq7Lm2p", ""),
    ("password==a1B2c3D4e5F6g7H8i9J0.", ""),
    ("$aaaaaaaaaaaaaaaaaaaa", ""),
    ("$6$a", ""),
    ("cookie=a=b;", ""),
    ("pat-na1-", ""),
    ("=a:a", ""),
    ("cookie: a=", ""),
    ("set-cookie: a=abcdefghi; ", ""),
    ("cGFzc3dvcmRzIGFuZCBvdGhlciB3b3JkcyBvZiBhIHRleHQgdGhhdCBpcyBsb25nZXIg\n", ""),
    ("cGFzc3dvcmRzIGFuZCBvdGhlciB3b3JkcyBvZiBhIHRleHQgdGhhdCBpcyBsb25nZXI//\n", ""),
    ("cGFzc3dvcmRzIGFuZCBvdGhlciB3b3Jkcw/", ""),
    ("password=", ""),
    ("password=(", ""),
    ("password: \"", ""),
    ("key=", ""),
    ("code=", ""),
    ("token:", ""),
    ("token=错误", ""),
    ("\"key\":\"\\", ""),
    ("----", ""),
    ("<private", ""),
    ("<private>", ""),
    ("<private>a</private>", ""),
    ("\\u003cprivate", ""),
    ("://a:", ""),
    ("://a@", ""),
    ("a:a@", ""),
    ("--password a", ""),
    ("login a password ", ""),
    ("mysql -p", ""),
    ("-u a:", ""),
    ("a.b.c.", ""),
    ("%3A", ""),
    ("%3D", ""),
    ("authorization: bearer ", ""),
    ("user,password\n", ""),
    ("|password|", ""),
    ("\n---\nkind: Secret\ndata:\n  a: b\n", ""),
    ("\u{1b}[3", ""),
    ("\\\n", ""),
];

/// CPU time of this thread so far, where the system reports it per thread.
fn cpu_time() -> Option<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(schedstat.split(' ').next()?.parse().ok()?))
}

fn cost(text: &str) -> Duration {
    let (began, before) = (Instant::now(), cpu_time());
    assert!(redact(text).len() <= text.len() * 12);
    before.and_then(|before| cpu_time()?.checked_sub(before)).unwrap_or_else(|| began.elapsed())
}

/// True if four times as many repetitions take far more than four times as long.
fn is_slow(piece: &str, end: &str) -> bool {
    let repeated = |bytes: usize| piece.repeat(bytes / piece.len()) + end;
    let (small, large) = (repeated(SMALL_BYTES), repeated(LARGE_BYTES));
    let is_slow_now = || {
        let large = cost(&large);
        large >= NOISE && large >= cost(&small).max(NOISE / RATIO_MAX) * RATIO_MAX
    };
    (0..ATTEMPTS).all(|_| is_slow_now())
}

#[test]
fn repetition_costs_what_its_length_costs() {
    let slow: Vec<_> = SHAPES.iter().filter(|(piece, end)| is_slow(piece, end)).collect();
    assert!(slow.is_empty(), "these cost more than their length: {slow:?}");
}

#[test]
fn every_cue_costs_what_its_length_costs() {
    let words = [WORDS, CALLS, FUNCTIONS].into_iter().flatten().map(|(word, _)| *word);
    let cues = words.chain(NAMES.iter().copied()).flat_map(|cue| [format!("{cue}=a"), format!("{cue} a1B2c3D4, \"")]);
    let keys = KEYS.iter().map(|key| key.prefix.to_owned());
    let slow: Vec<_> = cues.chain(keys).filter(|piece| is_slow(piece, "")).collect();
    assert!(slow.is_empty(), "these cost more than their length: {slow:?}");
}
