//! The one door to a model: an endpoint that speaks OpenAI's API, on this machine or elsewhere. Nothing here is used, and
//! nothing is connected to, unless somebody configures an endpoint.
//!
//! A call is one request with a deadline. Whether and when the next one may follow a failure is for the breaker alone to
//! say, so that an endpoint that is down costs neither waiting nor a flood of requests. A key is read from the daemon's
//! environment or its file for each request, and stands in no value, file, message or line of the log.
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
mod transport;

pub use breaker::Down;
pub use chat::{Reply, Said, Speaker, Talk, Tokens};
pub use client::{Client, Turn};
pub use embedding::Embedded;
pub use failure::{Failure, Kind};
pub use key::key_problem;

#[cfg(test)]
mod tests;
