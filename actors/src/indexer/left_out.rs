//! Conversations that the memory cannot take in: left out of searches and named in `status`, so that one of them does not
//! hold up all others. A new episode of the session is tried anew.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use baton_events::hash::ContentHash;
use baton_events::record::SessionId;
use baton_events::session::EpisodeRef;

/// Panics over one conversation after which it is left out. Errors do not count: they are the disk's, and pass.
const TRIES: u32 = 2;

/// Outlives the memory's thread.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Mutex<BTreeMap<SessionId, (ContentHash, u32)>>);

impl LeftOut {
    /// Whether this conversation is left out.
    pub(super) fn holds(&self, session: &SessionId, episode: &EpisodeRef) -> bool {
        self.lock().get(session).is_some_and(|(manifest, tries)| *manifest == episode.manifest && *tries >= TRIES)
    }

    /// Counts a try before it is made.
    pub(super) fn suspect(&self, session: &SessionId, episode: &EpisodeRef) {
        let mut all = self.lock();
        let entry = all.entry(session.clone()).or_insert((episode.manifest, 0));
        if entry.0 != episode.manifest {
            *entry = (episode.manifest, 0);
        }
        entry.1 += 1;
    }

    /// The try has ended without a panic.
    pub(super) fn clear(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// The sessions that searches do not find.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.lock().iter().filter(|(_, (_, tries))| *tries >= TRIES).map(|(session, _)| session.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, (ContentHash, u32)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_events::record::Timestamp;
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
}
