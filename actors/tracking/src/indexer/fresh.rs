//! Items that jobs have just stored, kept until the memory takes them in, to save reading them back.

use std::collections::VecDeque;
use std::sync::Mutex;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use tokio::sync::Notify;

use baton_base::limits;

/// The new items of one conversation.
#[derive(Debug)]
pub(super) struct Held {
    /// The conversation that they continue; `None` if they are all of it.
    pub(super) after: Option<ContentHash>,
    pub(super) items: Vec<Item>,
    /// Total size by [`Item::weight`].
    pub(super) weight: usize,
}

impl Held {
    fn followed_by(mut self, items: Vec<Item>, weight: usize) -> Self {
        self.items.extend(items);
        Self { weight: self.weight + weight, ..self }
    }
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

    /// Takes out the new items of a conversation, together with those of the ones that it continues.
    pub(super) fn take(&self, manifest: &ContentHash) -> Option<Held> {
        let mut kept = self.lock();
        let mut index = kept.iter().position(|(name, _)| name == manifest)?;
        let mut held = kept.remove(index).map(|(_, held)| held);
        while let Some(held) = &mut held
            && let Some(after) = held.after
            && let Some(before) = kept.iter().position(|(name, _)| *name == after)
            && let Some((_, before)) = kept.remove(before)
        {
            *held = before.followed_by(std::mem::take(&mut held.items), held.weight);
            index = index.saturating_sub(1);
        }
        // Conversations are taken roughly in order, so those far before this one were superseded and will not be asked
        // for.
        kept.drain(..index.saturating_sub(limits::MEMORY_BEHIND / 2));
        drop(kept);
        self.taken.notify_waiters();
        held
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
        let held = |weight| Held { after: None, items: vec![item.clone()], weight };
        let fresh = FreshConversations::default();
        fresh.put(a, held(limits::FRESH_BYTES));
        assert_eq!(fresh.take(&a).map(|held| held.items.len()), Some(1));
        assert!(fresh.take(&a).is_none());
        fresh.put(a, held(limits::FRESH_BYTES));
        fresh.put(b, held(1));
        assert!(fresh.take(&a).is_none() && fresh.take(&b).is_some());
        // Those that continue another one come with its items.
        let c = ContentHash([3; 32]);
        fresh.put(a, held(1));
        fresh.put(b, Held { after: Some(a), ..held(2) });
        fresh.put(c, Held { after: Some(b), ..held(3) });
        let all = fresh.take(&c).unwrap();
        assert_eq!((all.after, all.items.len(), all.weight), (None, 3, 6));
        assert!(fresh.take(&a).is_none() && fresh.take(&b).is_none());
    }
}
