//! What the agent said around a tool call that has the words of a question: why it made the call, and what came of it.

use std::collections::BTreeMap;

use baton_conversation::item::Body;
use baton_conversation::record::SessionId;
use baton_episode::digest::Pointed;
use baton_events::session::EpisodeRef;
use baton_store::conversation::for_each_item;
use baton_views::conversation::Conversations;

/// A longer conversation is not read for this.
const MOST_ITEMS: u64 = 20_000;

/// For each of the lines, the agent's last message before it and the first one after it, within the same exchange. Empty
/// if the conversation cannot be read. Blocks.
pub(super) fn around(
    conversations: &Conversations,
    id: &SessionId,
    current: &EpisodeRef,
    lines: &[u64],
) -> BTreeMap<u64, Vec<Pointed>> {
    if lines.is_empty() || current.items > MOST_ITEMS {
        return BTreeMap::new();
    }
    let read = conversations.read(id, current.clone(), |episode| {
        let mut found: BTreeMap<u64, Vec<Pointed>> = BTreeMap::new();
        let (mut last, mut waiting) = (None::<Pointed>, Vec::new());
        for_each_item(conversations.chunks(), id, episode, |item| {
            match &item.body {
                _ if item.sidechain => return,
                Body::Prompt { .. } => (last, waiting) = (None, Vec::new()),
                Body::Reply { text } => {
                    let said = Pointed { text: text.clone(), line: item.line, at: item.at };
                    for line in waiting.drain(..) {
                        found.entry(line).or_default().push(said.clone());
                    }
                    last = Some(said);
                }
                _ => {}
            }
            if lines.contains(&item.line) && !found.contains_key(&item.line) {
                found.insert(item.line, last.take().into_iter().collect());
                waiting.push(item.line);
            }
        })?;
        Ok(found)
    });
    read.map(|(_, found)| found).unwrap_or_default()
}
