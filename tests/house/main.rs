//! The whole daemon in one process, on a log of the test's choice: what happens when actors fail, when the log refuses
//! writes, and when everything happens at once. Actors, files and socket are real; only the log is in memory, and the
//! clock stands still until the test moves it.
//!
//! No test relies on a sleep: a fact is awaited, with a deadline.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod client;
mod faults;
mod held;
mod outage;
mod seed;
mod signals;
mod sim;
mod story;
mod supervision;
mod world;
