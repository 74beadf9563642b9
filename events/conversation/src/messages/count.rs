//! How many messages a conversation has: typed prompts, and messages of the agent that carry text.
//!
//! # Decisions
//!
//! - `message_count` is exact as soon as anything follows a withdrawn prompt: what was counted is made up for
//!   by the next message.

use std::collections::BTreeSet;

use crate::hash::Mark;
use crate::item::{Body, Item};
use crate::queued_prompts::Withdrawn;

/// Counts messages item by item; holds 8 bytes of each. Withdrawn prompts are not given to it.
#[derive(Debug, Default)]
pub struct MessageCount {
    replies: BTreeSet<Mark>,
    prompted: Option<u64>,
    count: u64,
}

impl MessageCount {
    /// Takes note of the next item.
    pub fn note(&mut self, item: &Item) {
        match &item.body {
            // All of one record is one prompt, of words, of a picture or of both.
            Body::Prompt { .. } | Body::Media { .. } if !item.sidechain => {
                self.count += u64::from(self.prompted.replace(item.line) != Some(item.line));
            }
            Body::Reply { .. } if !item.sidechain => match item.message.as_deref() {
                Some(id) => self.count += u64::from(self.replies.insert(Mark::of(id.as_bytes()))),
                None => self.count += 1,
            },
            _ => {}
        }
    }

    /// How many there are so far.
    pub fn get(&self) -> u64 {
        self.count
    }
}

/// How many messages a whole conversation has, without withdrawn prompts; linear.
pub fn message_count(items: &[Item]) -> u64 {
    let withdrawn = Withdrawn::of(items);
    let mut count = MessageCount::default();
    items.iter().filter(|item| !withdrawn.holds(item)).for_each(|item| count.note(item));
    count.get()
}
