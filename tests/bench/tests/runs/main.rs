//! Whole runs of `baton-bench` over the `baton` beside it: what it prints and what it leaves behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod kills;
mod measure;
mod power;
mod world;
