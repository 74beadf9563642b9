//! The lines of a transcript that a model is told, with their times: what a claim may point to.

use std::collections::BTreeMap;

use baton_conversation::item::{Body, Item};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::Timestamp;
use baton_episode::digest::Show;

/// See the module. Eight bytes and a time for each line that says something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines(BTreeMap<u64, Option<Timestamp>>);

impl Lines {
    /// Of a conversation, as far as a model is told of it. Linear, but for a logarithm.
    pub fn of<'a>(items: impl IntoIterator<Item = &'a Item> + Clone, show: &Show) -> Self {
        let withdrawn = Withdrawn::from_items(items.clone());
        let mut lines = Self::default();
        let is_told = |item: &&Item| !withdrawn.holds(item) && show.keeps(&item.body);
        items.into_iter().filter(is_told).for_each(|item| lines.note(item));
        lines
    }

    /// Takes note of the next item, unless it is withdrawn.
    pub fn note(&mut self, item: &Item) {
        if says_something(&item.body) {
            self.0.entry(item.line).or_insert(item.at);
        }
    }

    /// Whether the transcript has the line, and says something in it.
    pub fn has(&self, line: u64) -> bool {
        self.0.contains_key(&line)
    }

    /// When a line was written, where that is known.
    pub fn at(&self, line: u64) -> Option<Timestamp> {
        self.0.get(&line).copied().flatten()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What is told to a model: neither thinking, which is no result, nor the harness' summary, which repeats, nor what only
/// says something of the session.
pub(super) fn says_something(body: &Body) -> bool {
    match body {
        Body::Prompt { .. } | Body::Answer { .. } | Body::Reply { .. } | Body::Call(_) | Body::Result(_) => true,
        Body::Notice { .. } => true,
        Body::Media { .. } | Body::Thinking { .. } | Body::Summary { .. } | Body::Meta(_) => false,
    }
}
