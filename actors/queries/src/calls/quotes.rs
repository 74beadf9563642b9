//! The passages of a conversation most relevant to a subject.

use baton_ask::recall::{Intent, QuoteReader, Quotes};
use baton_conversation::record::SessionId;
use baton_episode::digest::{Episode, Show};
use baton_events::session::EpisodeRef;
use baton_store::conversation::for_each_item;
use baton_views::conversation::Conversations;

/// Most passages that are taken from a conversation.
const MOST: usize = 6;
/// Most items of all conversations that are read for one answer.
const MOST_ITEMS: u64 = 15_000;

/// Reads passages for one answer, from conversations until [`MOST_ITEMS`] is used up.
pub(super) struct Quoting<'a> {
    conversations: &'a Conversations,
    show: &'a Show,
    asked: &'a Intent,
    items: u64,
}

impl<'a> Quoting<'a> {
    pub(super) fn new(conversations: &'a Conversations, show: &'a Show, asked: &'a Intent) -> Self {
        Self { conversations, show, asked, items: 0 }
    }

    /// Returns what a conversation says about the subject; nothing if it cannot be read or is too long. Blocks for disk
    /// reads.
    pub(super) fn read(&mut self, id: &SessionId, current: &EpisodeRef) -> Quotes {
        if !self.has_room(current) {
            return Quotes::default();
        }
        let read = self.conversations.read(id, current.clone(), |episode| {
            let mut reader = QuoteReader::new(self.asked);
            for_each_item(self.conversations.chunks(), id, episode, |item| {
                if self.show.keeps(&item.body) {
                    reader.push(&item);
                }
            })?;
            Ok(reader.finish(MOST))
        });
        read.map(|(_, quotes)| quotes).unwrap_or_default()
    }

    /// The same with the digest of the conversation, which is read once for both. `None` if there is no digest.
    pub(super) fn read_with_digest(&mut self, id: &SessionId, current: EpisodeRef) -> Option<(Episode, Quotes)> {
        if self.has_room(&current) {
            let reader = || QuoteReader::new(self.asked);
            let read = self.conversations.digest_reading(id, current.clone(), self.show, reader, QuoteReader::push);
            if let Ok((_, episode, reader)) = read {
                return Some((episode, reader.finish(MOST)));
            }
        }
        let (_, episode) = self.conversations.digest(id, current, self.show).ok()?;
        Some((episode, Quotes::default()))
    }

    /// Counts the items of a conversation, unless they are too many.
    fn has_room(&mut self, current: &EpisodeRef) -> bool {
        let items = self.items.saturating_add(current.items);
        let has_room = items <= MOST_ITEMS;
        self.items = if has_room { items } else { self.items };
        has_room
    }
}
