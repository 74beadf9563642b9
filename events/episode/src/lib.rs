//! Turns items into an episode, and an episode into the handoff for the next agent.
//!
//! Deterministic and offline.

#[cfg(test)]
#[path = "../../conversation/tests/items/any.rs"]
mod any_items;

pub mod digest;
pub mod handoff;
mod lexicon;
mod memo;
pub mod shortened;

/// The words of all rules that structure decides, see [`baton_words`]; those of sentences are in the lexicon.
const WORDS: &str = include_str!("words.txt");
