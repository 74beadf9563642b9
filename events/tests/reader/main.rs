//! The reader under transcripts of every kind, whole and broken: generated ones, ones with a hole, a cut or a flipped bit,
//! and those that nobody thought of.
//!
//! `FUZZ_SECONDS=1800 cargo test --release -p baton-events --test reader fuzz -- --nocapture` looks for trouble as long as
//! told; `FUZZ_SEED=n` begins elsewhere. Without them a few thousand inputs are tried.

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
