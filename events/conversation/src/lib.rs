//! A transcript becomes a conversation: records are read, filtered, redacted and hashed.
//!
//! Pure and synchronous: bytes in, items out.

#[cfg(test)]
extern crate self as baton_conversation;

#[cfg(test)]
#[path = "../tests/items/any.rs"]
mod any_items;

pub mod abandoned_branches;
pub mod filter;
pub mod hash;
pub mod hex;
pub mod item;
pub mod messages;
pub mod printable;
pub mod queued_prompts;
pub mod quoted_text;
pub mod record;
pub mod record_identity;
pub mod tokens;
pub mod transcript;
pub mod turns;
pub mod usage;

/// The words and phrases of all rules, see [`baton_words`].
const WORDS: &str = include_str!("words.txt");
