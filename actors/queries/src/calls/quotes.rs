//! Passages of a conversation that say most about a subject.

use baton_ask::recall::{Intent, QuoteReader, Quotes};
use baton_conversation::record::SessionId;
use baton_episode::digest::Show;
use baton_events::session::EpisodeRef;
use baton_store::conversation::for_each_item;
use baton_views::conversation::Conversations;

/// Most passages that are taken from a conversation.
const MOST: usize = 6;
/// A longer conversation is not read for them.
const MOST_ITEMS: u64 = 20_000;

/// Returns what a conversation says about a subject; nothing if it cannot be read. Blocks for disk reads.
pub(super) fn quotes(
    conversations: &Conversations,
    id: &SessionId,
    current: &EpisodeRef,
    show: &Show,
    asked: &Intent,
) -> Quotes {
    if current.items > MOST_ITEMS {
        return Quotes::default();
    }
    let read = conversations.read(id, current.clone(), |episode| {
        let mut reader = QuoteReader::new(asked);
        for_each_item(conversations.chunks(), id, episode, |item| {
            if show.keeps(&item.body) {
                reader.push(&item);
            }
        })?;
        Ok(reader.finish(MOST))
    });
    read.map(|(_, quotes)| quotes).unwrap_or_default()
}
