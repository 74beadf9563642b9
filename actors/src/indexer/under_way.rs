//! Which sessions have a job or a collection under way. Shared, because jobs outlive an indexer that is restarted: chunks
//! that a job has written and no event names yet must not be collected by its successor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use baton_events::hash::ContentHash;
use baton_events::record::SessionId;

#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay(Arc<Mutex<Sessions>>);

#[derive(Debug, Default)]
struct Sessions {
    busy: BTreeSet<SessionId>,
    /// Conversations that jobs have stored and of which it is not known whether an event names them.
    unanswered: BTreeMap<SessionId, ContentHash>,
}

impl UnderWay {
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        self.lock().busy.contains(session)
    }

    pub(super) fn begin(&self, session: &SessionId) {
        self.lock().busy.insert(session.clone());
    }

    /// A job or a collection has ended; a job says what it stored.
    pub(super) fn end(&self, session: &SessionId, stored: Option<ContentHash>) {
        let mut all = self.lock();
        all.busy.remove(session);
        if let Some(manifest) = stored {
            all.unanswered.insert(session.clone(), manifest);
        }
    }

    /// Begins to collect a session's chunks, unless a job is under way or what one has stored is not named yet.
    pub(super) fn begin_collecting(&self, session: &SessionId, named: &[ContentHash]) -> bool {
        let mut all = self.lock();
        if all.unanswered.get(session).is_some_and(|manifest| named.contains(manifest)) {
            all.unanswered.remove(session);
        }
        !all.unanswered.contains_key(session) && all.busy.insert(session.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_collected_between_a_jobs_end_and_its_event() {
        let (under_way, session) = (UnderWay::default(), SessionId::new("a").unwrap());
        let (old, new) = (ContentHash([1; 32]), ContentHash([2; 32]));
        under_way.begin(&session);
        assert!(!under_way.begin_collecting(&session, &[old]), "a job is under way");
        under_way.end(&session, Some(new));
        assert!(!under_way.begin_collecting(&session, &[old]), "its event is not recorded");
        assert!(under_way.begin_collecting(&session, &[new]));
        assert!(!under_way.begin_collecting(&session, &[new]), "one at a time");
        under_way.end(&session, None);
        assert!(!under_way.holds(&session));
    }
}
