//! What an index job needs to continue a stored conversation, cached for sessions in use, so that the cost of an append
//! does not depend on the conversation's length. Without it the job goes through the stored items.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use baton_conversation::hash::{ContentHash, ContentHasher};
use baton_conversation::item::Item;
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{OpenCalls, is_unread};
use baton_store::chunks::ManifestId;

/// Limit of lines listed as unreadable.
const UNREAD_NAMED: usize = 100;
/// Sessions whose append state is kept, the last used: more than anyone works in at once.
const KEPT: usize = 64;
/// Largest append state that is kept, by the texts of its queued prompts.
const KEPT_BYTES: usize = 64 * 1024;

/// The items of a conversation, as far as a job needs them.
#[derive(Clone, Debug, Default)]
pub(super) struct AppendState {
    /// Hash of all items, including withdrawn ones.
    hasher: ContentHasher,
    /// Hash of all items except withdrawn ones, once it is known and unless none is withdrawn.
    settled: Option<ContentHasher>,
    pub(super) withdrawn: Withdrawn,
    /// The calls without a result. The reader of the items tracks them already, so [`Self::note`] does not change them.
    pub(super) open: OpenCalls,
    /// Number of items.
    pub(super) count: u64,
    /// The first lines that could not be read.
    pub(super) unread: Vec<u64>,
}

impl AppendState {
    /// Adds the next item.
    pub(super) fn note(&mut self, item: &Item) {
        let before = self.withdrawn.count();
        self.withdrawn.note(item);
        if self.withdrawn.count() != before {
            // An item that was hashed is withdrawn.
            self.settled = None;
        } else if let Some(settled) = self.settled.as_mut().filter(|_| !self.withdrawn.is_withdrawn(item)) {
            settled.item(item);
        }
        self.hasher.item(item);
        self.count += 1;
        if is_unread(item) && self.unread.len() < UNREAD_NAMED {
            self.unread.push(item.line);
        }
    }

    /// Hash of all items except withdrawn ones; `None` if they have to be gone through for it.
    pub(super) fn hash(&self) -> Option<ContentHash> {
        let hasher = if self.withdrawn.is_empty() { Some(&self.hasher) } else { self.settled.as_ref() };
        hasher.map(|hasher| hasher.clone().finish())
    }

    /// Keeps the hash of all items except withdrawn ones.
    pub(super) fn settle(&mut self, hasher: ContentHasher) {
        self.settled = Some(hasher);
    }
}

/// The append states of the sessions that were indexed last, each with the manifest that it belongs to.
#[derive(Debug, Default)]
pub(super) struct AppendStates(Mutex<VecDeque<(SessionId, ManifestId, AppendState)>>);

impl AppendStates {
    /// The append state of a stored conversation.
    pub(super) fn get(&self, session: &SessionId, manifest: &ManifestId) -> Option<AppendState> {
        let kept = self.lock();
        let found = kept.iter().find(|(id, of, _)| id == session && of == manifest);
        found.map(|(.., append_state)| append_state.clone())
    }

    /// Keeps the append state of a conversation that was just stored, in place of the session's former one.
    pub(super) fn put(&self, session: SessionId, manifest: ManifestId, append_state: AppendState) {
        self.remove(&session);
        let mut kept = self.lock();
        if append_state.withdrawn.weight() > KEPT_BYTES {
            return;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((session, manifest, append_state));
    }

    pub(super) fn remove(&self, session: &SessionId) {
        self.lock().retain(|(id, ..)| id != session);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(SessionId, ManifestId, AppendState)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::{Body, Meta};

    use super::*;

    #[test]
    fn the_last_used_are_kept_each_for_its_own_manifest() {
        let (append_states, id) =
            (AppendStates::default(), |number: usize| SessionId::new(&format!("s-{number}")).unwrap());
        let (old, new) = (ContentHash([1; 32]), ContentHash([2; 32]));
        let counted = |count| AppendState { count, ..AppendState::default() };
        append_states.put(id(0), old, counted(1));
        append_states.put(id(0), new, counted(2));
        assert!(append_states.get(&id(0), &old).is_none());
        assert_eq!(append_states.get(&id(0), &new).map(|append_state| append_state.count), Some(2));
        (1..=KEPT).for_each(|number| append_states.put(id(number), old, counted(0)));
        assert!(append_states.get(&id(0), &new).is_none() && append_states.get(&id(1), &old).is_some());
        let mut heavy = AppendState::default();
        let body = Body::Prompt { text: "x".repeat(KEPT_BYTES + 1) };
        heavy.note(&Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body });
        append_states.put(id(1), new, heavy);
        assert!(append_states.get(&id(1), &new).is_none() && append_states.get(&id(1), &old).is_none());
        append_states.remove(&id(2));
        assert!(append_states.get(&id(2), &old).is_none());
    }

    #[test]
    fn the_hash_goes_on_until_something_is_withdrawn() {
        let item = |line, body| Item { line, at: None, uuid: None, message: None, sidechain: false, body };
        let said = |line: u64| item(line, Body::Prompt { text: format!("prompt {line}") });
        let withdrawn = |line, of| item(line, Body::Meta(Meta::Withdrawn(of)));
        let mut items = vec![said(1), said(2)];
        let mut append_state = AppendState::default();
        items.iter().for_each(|item| append_state.note(item));
        assert_eq!(append_state.hash(), Some(ContentHash::digest(&items)));
        items.push(withdrawn(3, 1));
        append_state.note(&items[2]);
        assert_eq!(append_state.hash(), None, "what was hashed is withdrawn");
        let mut hasher = ContentHasher::default();
        hasher.item(&items[1]);
        append_state.settle(hasher);
        items.push(said(4));
        append_state.note(&items[3]);
        assert_eq!(append_state.hash(), Some(ContentHash::digest(&items)));
        append_state.note(&withdrawn(5, 4));
        assert_eq!(append_state.hash(), None);
    }
}
