//! Checks what the reader must keep and what must not affect the hash, for all transcripts of the fixtures and for
//! generated ones, with a second reader that is too simple to share the first one's mistakes.
//!
//! `BATON_TRANSCRIPTS=DIR cargo test -p baton-conversation --test proofs -- --ignored --nocapture` checks other
//! transcripts.

#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]
#![expect(clippy::disallowed_methods, reason = "the fixtures are files; the core itself opens none")]

mod files;
mod kept;
mod queue;
mod sameness;
mod spoken;
mod writer;
