//! Number of messages of a conversation: typed prompts, and messages of the agent that contain text.
//!
//! # Decisions
//!
//! - `message_count` is exact as soon as anything follows a withdrawn prompt: the next message makes up for what was
//!   counted too much.

use std::collections::BTreeSet;

use crate::hash::Mark;
use crate::item::{Body, Item};
use crate::queued_prompts::Withdrawn;

/// Counts messages item by item, with 8 bytes each. Withdrawn prompts must not be added.
#[derive(Debug, Default)]
pub struct MessageCount {
    replies: BTreeSet<Mark>,
    prompted: Option<u64>,
    count: u64,
}

impl MessageCount {
    /// Adds the next item.
    pub fn note(&mut self, item: &Item) {
        match &item.body {
            // All items of one record are one prompt: text, a picture, or both.
            Body::Prompt { .. } | Body::Media { .. } if !item.sidechain => {
                self.count += u64::from(self.prompted.replace(item.line) != Some(item.line));
            }
            Body::Reply { .. } if !item.sidechain => match item.message.as_deref() {
                Some(id) => self.count += u64::from(self.replies.insert(Mark::digest(id.as_bytes()))),
                None => self.count += 1,
            },
            _ => {}
        }
    }

    /// Number of messages so far.
    pub fn get(&self) -> u64 {
        self.count
    }
}

/// Number of messages of a whole conversation, without withdrawn prompts. Linear.
pub fn message_count(items: &[Item]) -> u64 {
    let withdrawn = Withdrawn::from_items(items);
    let mut count = MessageCount::default();
    items.iter().filter(|item| !withdrawn.is_withdrawn(item)).for_each(|item| count.note(item));
    count.get()
}
