//! What the reader must keep and what the hash must not see, proved over every transcript of the fixtures and over generated
//! ones, by a second reader that is too simple to share the first one's mistakes.
//!
//! `BATON_TRANSCRIPTS=DIR cargo test -p baton-events --test proofs -- --ignored --nocapture` does the same with transcripts of
//! one's own.

#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]
#![expect(clippy::disallowed_methods, reason = "the fixtures are files; the core itself opens none")]

mod files;
mod kept;
mod queue;
mod sameness;
mod spoken;
mod writer;
