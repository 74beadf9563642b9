//! Conversations that the memory cannot index, because they make it panic or cannot be read. They are left out of
//! searches and named in `status`, so that one does not block all others. A new episode of the session is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::schema::item::ITEM_VERSION;
use baton_events::session::EpisodeRef;
use tokio::sync::watch;

use super::Handle;
use baton_store::chunks::{ChunkStore, Header, ManifestId};

/// Panics caused by one conversation before it is left out. Errors do not count: they come from the disk and pass.
const TRIES: u32 = 2;

impl Handle {
    /// Sessions whose conversation is left out because it makes the memory panic.
    pub fn left_out(&self) -> Vec<SessionId> {
        self.left_out.sessions()
    }

    /// Sessions whose stored conversation could not be read, with the reason.
    pub fn unreadable(&self) -> Vec<(SessionId, String)> {
        self.left_out.all_unreadable()
    }

    /// Sessions whose transcripts have lines that the reader could not handle, with the first of these.
    pub fn unread(&self) -> BTreeMap<SessionId, Vec<u64>> {
        self.left_out.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Sessions whose conversation an earlier version stored, without what the tools report.
    pub fn untyped(&self) -> watch::Receiver<BTreeSet<SessionId>> {
        self.left_out.untyped.subscribe()
    }

    /// Sessions that are searchable, but some of whose parts could not be made.
    pub fn partly_indexed(&self) -> BTreeMap<SessionId, Vec<&'static str>> {
        self.left_out.parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// The parts of an entry that could not be made.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<&'static str>);

impl Parts {
    /// Runs a pure step on a conversation. Returns the default if it panics; the memory is untouched, so the rest of
    /// the conversation can be taken in.
    pub(super) fn make<T: Default>(&mut self, part: &'static str, step: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| {
            self.0.push(part);
            T::default()
        })
    }
}

/// Kept across incarnations of the memory's thread.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The manifest tried last, and how often it ended in a panic.
    tried: Mutex<BTreeMap<SessionId, (ContentHash, u32)>>,
    /// Sessions whose stored conversation cannot be read, with the reason.
    unreadable: Mutex<BTreeMap<SessionId, String>>,
    /// The first lines of each transcript that the reader could not handle; the rest of the session is searchable.
    lines: Mutex<BTreeMap<SessionId, Vec<u64>>>,
    /// Sessions of an earlier version; see [`Handle::untyped`].
    untyped: watch::Sender<BTreeSet<SessionId>>,
    /// Parts that could not be made of a searchable conversation.
    parts: Mutex<BTreeMap<SessionId, Vec<&'static str>>>,
}

/// Limit of sessions listed; if there are more, the disk is at fault.
const NAMED: usize = 1_000;

impl LeftOut {
    /// True if this conversation is left out.
    pub(super) fn holds(&self, session: &SessionId, episode: &EpisodeRef) -> bool {
        self.lock().get(session).is_some_and(|(manifest, tries)| *manifest == episode.manifest && *tries >= TRIES)
    }

    /// Counts an attempt before it is made.
    pub(super) fn suspect(&self, session: &SessionId, episode: &EpisodeRef) {
        let mut all = self.lock();
        let entry = all.entry(session.clone()).or_insert((episode.manifest, 0));
        if entry.0 != episode.manifest {
            *entry = (episode.manifest, 0);
        }
        entry.1 += 1;
    }

    /// Records that an attempt ended without a panic and the conversation was readable.
    pub(super) fn clear(&self, session: &SessionId) {
        self.readable(session);
        self.lock().remove(session);
    }

    /// The sessions that are left out.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.lock().iter().filter(|(_, (_, tries))| *tries >= TRIES).map(|(session, _)| session.clone()).collect()
    }

    /// Records that a stored conversation cannot be read. Returns true if that is new.
    pub(super) fn unreadable(&self, session: &SessionId, why: String) -> bool {
        let mut all = self.unread();
        let is_known = all.contains_key(session);
        if is_known || all.len() < NAMED {
            all.insert(session.clone(), why);
        }
        !is_known && all.len() <= NAMED
    }

    /// Records that a stored conversation can be read.
    pub(super) fn readable(&self, session: &SessionId) {
        self.unread().remove(session);
    }

    /// The sessions whose stored conversation cannot be read, with the reason.
    pub(super) fn all_unreadable(&self) -> Vec<(SessionId, String)> {
        self.unread().iter().map(|(session, why)| (session.clone(), why.clone())).collect()
    }

    /// Records from the manifest of the session's stored conversation which transcript lines it lacks, and whether its
    /// items are of an earlier version.
    pub(super) fn look_at(&self, chunks: &ChunkStore, session: &SessionId, current: Option<&ManifestId>) {
        let header = current.and_then(|current| chunks.manifest(session, current).ok()).map(|manifest| manifest.header);
        // Reading a shortened one again would store nothing.
        let is_old = |header: &Header| header.item_version < ITEM_VERSION && !header.shortened;
        let is_untyped = header.as_ref().is_some_and(is_old);
        self.untyped.send_if_modified(|all| match is_untyped {
            true => all.insert(session.clone()),
            false => all.remove(session),
        });
        let lines = header.map(|header| header.unread).unwrap_or_default();
        let mut all = self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if lines.is_empty() {
            all.remove(session);
        } else if all.contains_key(session) || all.len() < NAMED {
            all.insert(session.clone(), lines);
        }
    }

    /// Records the parts of a session that could not be made, replacing earlier ones.
    pub(super) fn set_parts(&self, session: &SessionId, Parts(parts): Parts) {
        if !parts.is_empty() {
            tracing::error!(%session, left_out = %parts.join(", "), "a conversation is only partly in the memory");
        }
        let mut all = self.parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if parts.is_empty() {
            all.remove(session);
        } else if all.contains_key(session) || all.len() < NAMED {
            all.insert(session.clone(), parts);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, (ContentHash, u32)>> {
        self.tried.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn unread(&self) -> MutexGuard<'_, BTreeMap<SessionId, String>> {
        self.unreadable.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::record::Timestamp;
    use baton_events::session::Tier;

    fn episode(content: u8) -> EpisodeRef {
        let hash = ContentHash([content; 32]);
        EpisodeRef {
            uuid: uuid::Uuid::nil(),
            tier: Tier::Extractive,
            hash,
            filter_version: 1,
            generation: 1,
            to: 0,
            manifest: hash,
            items: 0,
            at: Timestamp(0),
        }
    }

    #[test]
    fn a_conversation_that_keeps_panicking_is_left_out_until_it_changes() {
        let (left_out, session) = (LeftOut::default(), SessionId::new("a").unwrap());
        for _ in 0..TRIES {
            assert!(!left_out.holds(&session, &episode(1)));
            left_out.suspect(&session, &episode(1));
        }
        assert!(left_out.holds(&session, &episode(1)));
        assert_eq!(left_out.sessions(), std::slice::from_ref(&session));
        assert!(!left_out.holds(&session, &episode(2)), "its next episode is another one");
        left_out.suspect(&session, &episode(2));
        left_out.clear(&session);
        assert!(left_out.sessions().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named_until_it_can() {
        let (left_out, session) = (LeftOut::default(), SessionId::new("a").unwrap());
        assert!(left_out.unreadable(&session, "damaged".to_owned()));
        assert!(!left_out.unreadable(&session, "gone".to_owned()), "named already");
        assert_eq!(left_out.all_unreadable(), [(session.clone(), "gone".to_owned())]);
        for number in 0..2 * NAMED {
            left_out.unreadable(&SessionId::new(&format!("s{number}")).unwrap(), String::new());
        }
        assert_eq!(left_out.all_unreadable().len(), NAMED);
        left_out.readable(&session);
        assert!(left_out.all_unreadable().iter().all(|(named, _)| *named != session));
        assert!(left_out.sessions().is_empty(), "that is another matter");
    }

    #[test]
    fn what_breaks_is_left_out_alone() {
        let mut parts = Parts::default();
        let made: (u32, u32) = (parts.make("its digest", || 7), parts.make("its facts", || panic!("of a test")));
        assert_eq!((made, &parts.0[..]), ((7, 0), &["its facts"][..]));
        let (all, session) = (LeftOut::default(), SessionId::new("a").unwrap());
        all.set_parts(&session, parts);
        assert!(all.parts.lock().unwrap().contains_key(&session));
        all.set_parts(&session, Parts::default());
        assert!(all.parts.lock().unwrap().is_empty());
    }
}
