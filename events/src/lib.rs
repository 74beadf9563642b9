//! The core of Baton: what happened in a coding agent's session, and what it means.
//!
//! Pure, synchronous and deterministic: no I/O, no async, no clock, no randomness.

pub mod conversation;
pub mod digest;
pub mod hash;
pub mod projection;
pub mod protocol;
pub mod filter;
pub mod hash;
pub mod envelope;
pub mod record;
pub mod schema;
pub mod session;
pub mod redact;
pub mod schema;
pub mod transcript;
pub mod turns;
