//! Turns items into an episode, and an episode into the handoff for the next agent.
//!
//! Deterministic and offline.

#[cfg(test)]
#[path = "../../conversation/tests/items/any.rs"]
mod any_items;

pub mod digest;
pub mod handoff;
mod lexicon;
