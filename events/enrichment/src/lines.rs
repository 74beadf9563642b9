//! The transcript lines that a model is shown, with their times: what a claim may refer to.

use std::collections::BTreeMap;

use baton_conversation::item::{Body, Item};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::Timestamp;
use baton_episode::digest::Show;

/// See the module. Eight bytes and a time per line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines(BTreeMap<u64, Option<Timestamp>>);

impl Lines {
    /// Collects the lines of a conversation that a model is shown. O(n log n).
    pub fn new<'a>(items: impl IntoIterator<Item = &'a Item> + Clone, show: &Show) -> Self {
        let withdrawn = Withdrawn::from_items(items.clone());
        let mut lines = Self::default();
        let is_told = |item: &&Item| !withdrawn.is_withdrawn(item) && show.keeps(&item.body);
        items.into_iter().filter(is_told).for_each(|item| lines.note(item));
        lines
    }

    /// Adds the line of an item, which must not be withdrawn.
    pub fn note(&mut self, item: &Item) {
        if says_something(&item.body) {
            self.0.entry(item.line).or_insert(item.at);
        }
    }

    /// Returns true if the transcript has the line and the model was shown it.
    pub fn contains(&self, line: u64) -> bool {
        self.0.contains_key(&line)
    }

    /// Returns the time of a line, if known.
    pub fn at(&self, line: u64) -> Option<Timestamp> {
        self.0.get(&line).copied().flatten()
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns true for what a model is shown: not thinking, which is no result, nor the harness's summary, which repeats,
/// nor metadata.
pub(super) fn says_something(body: &Body) -> bool {
    match body {
        Body::Prompt { .. } | Body::Answer { .. } | Body::Reply { .. } | Body::Call(_) | Body::Result(_) => true,
        Body::Notice { .. } => true,
        Body::Media { .. } | Body::Thinking { .. } | Body::Summary { .. } | Body::Meta(_) => false,
    }
}
