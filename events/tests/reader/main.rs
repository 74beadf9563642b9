//! The reader on transcripts of every kind, whole and broken: generated ones, ones with a gap, a cut or a flipped bit,
//! and fuzzed ones.
//!
//! `FUZZ_SECONDS=1800 cargo test --release -p baton-events --test reader fuzz -- --nocapture` sets the duration;
//! `FUZZ_SEED=n` sets the seed. Without them a few thousand inputs are tried.

#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod dice;
mod fuzz;
mod isolation;
mod mutation;
mod oddities;
mod pieces;
mod read;
mod recipe;
mod record;
