//! Conversations that jobs have just stored, kept until the memory takes them in, to save reading them back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use tokio::sync::Notify;

use baton_base::limits;

/// The items of one conversation.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) items: Arc<Vec<Item>>,
    /// Total size by [`Item::weight`].
    pub(super) weight: usize,
}

#[derive(Default)]
pub(super) struct FreshConversations {
    kept: Mutex<VecDeque<(ContentHash, Held)>>,
    /// Notified when one was taken out.
    taken: Notify,
}

impl FreshConversations {
    /// Keeps a conversation under its manifest's hash. The oldest are dropped beyond [`limits::FRESH_BYTES`].
    pub(super) fn put(&self, manifest: ContentHash, held: Held) {
        let mut kept = self.lock();
        kept.push_back((manifest, held));
        while kept.iter().map(|(_, held)| held.weight).sum::<usize>() > limits::FRESH_BYTES {
            kept.pop_front();
        }
    }

    /// Takes a conversation out.
    pub(super) fn take(&self, manifest: &ContentHash) -> Option<Arc<Vec<Item>>> {
        let mut kept = self.lock();
        let index = kept.iter().position(|(name, _)| name == manifest)?;
        let items = kept.remove(index).map(|(_, held)| held.items);
        // Conversations are taken roughly in order, so those far before this one were superseded and will not be asked
        // for.
        kept.drain(..index.saturating_sub(limits::MEMORY_BEHIND / 2));
        drop(kept);
        self.taken.notify_waiters();
        items
    }

    /// Drops all conversations.
    pub(super) fn clear(&self) {
        self.lock().clear();
        self.taken.notify_waiters();
    }

    /// Resolves when fewer than `count` conversations are kept, that is, when the memory has caught up so far.
    pub(super) async fn below(&self, count: usize) {
        loop {
            // Register before checking, so that no notification is missed.
            let taken = self.taken.notified();
            if self.lock().len() < count {
                return;
            }
            taken.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(ContentHash, Held)>> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::item::{Body, Meta};

    #[test]
    fn a_conversation_is_taken_once_and_the_oldest_make_room() {
        let item = Item {
            line: 1,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Meta(Meta::Branch("main".to_owned())),
        };
        let (a, b) = (ContentHash([1; 32]), ContentHash([2; 32]));
        let held = |weight| Held { items: Arc::new(vec![item.clone()]), weight };
        let fresh = FreshConversations::default();
        fresh.put(a, held(limits::FRESH_BYTES));
        assert_eq!(fresh.take(&a).map(|items| items.len()), Some(1));
        assert!(fresh.take(&a).is_none());
        fresh.put(a, held(limits::FRESH_BYTES));
        fresh.put(b, held(1));
        assert!(fresh.take(&a).is_none() && fresh.take(&b).is_some());
    }
}
