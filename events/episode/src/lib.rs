//! Items become an episode, and an episode becomes what the next agent is told.
//!
//! Deterministic and offline.

#[cfg(test)]
#[path = "../../conversation/tests/items/any.rs"]
mod any_items;

pub mod digest;
pub mod handoff;
