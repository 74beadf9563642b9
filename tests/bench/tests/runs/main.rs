//! Whole runs of `baton-bench` with the `baton` beside it: their output and what they leave behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod answers;
mod kills;
mod measure;
mod power;
mod world;
