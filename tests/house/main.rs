//! The whole house in one process, on a log of the test's choice: what happens when actors fail, when the log refuses, and
//! when everything happens at once. The real actors, real files, the real socket; only the log lies in memory, and the clock
//! stands until it is moved.
//!
//! Nothing here sleeps and hopes: a fact is awaited, with a deadline.

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
