//! The only connection to a model: an endpoint with OpenAI's API, local or remote. Without a configured endpoint
//! nothing here is used and nothing is connected to.
//!
//! A call is one request with a deadline. Only the breaker decides whether and when a request may follow a failure, so
//! an endpoint that is down costs neither waiting nor a flood of requests. The key is read from the daemon's
//! environment or from its file for each request, and is kept in no value, file, message or log line.
//!
//! # Decisions
//!
//! - Vectors are off unless address and model are both configured.

mod breaker;
mod chat;
mod client;
mod embedding;
mod failure;
mod key;
mod public_file;
mod transport;

pub use breaker::Down;
pub use chat::{ChatRequest, Message, Reply, Role, Tokens};
pub use client::{Client, WhenPaused};
pub use embedding::Embedded;
pub use failure::{Failure, Kind};
pub use key::key_problem;
pub use public_file::fetch;

#[cfg(test)]
mod tests;
