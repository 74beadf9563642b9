//! Which sessions have a job or a collection under way. Shared, because jobs outlive an indexer that is restarted: chunks
//! that a job has written and no event names yet must not be collected by its successor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use baton_events::hash::ContentHash;
use baton_events::record::SessionId;
use baton_events::session::EffectId;

#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay(Arc<Mutex<Sessions>>);

#[derive(Debug, Default)]
struct Sessions {
    busy: BTreeSet<SessionId>,
    /// Conversations that jobs have stored and of which it is not known whether an event names them.
    unanswered: BTreeMap<SessionId, (EffectId, ContentHash)>,
}

impl UnderWay {
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        self.lock().busy.contains(session)
    }

    pub(super) fn begin(&self, session: &SessionId) {
        self.lock().busy.insert(session.clone());
    }

    /// A job or a collection has ended; a job says what it stored.
    pub(super) fn end(&self, session: &SessionId, stored: Option<(EffectId, ContentHash)>) {
        let mut all = self.lock();
        all.busy.remove(session);
        if let Some(stored) = stored {
            all.unanswered.insert(session.clone(), stored);
        }
    }

    /// No event will name what this job has stored. What a later one has stored is not meant.
    pub(super) fn disown(&self, session: &SessionId, effect: EffectId) {
        let mut all = self.lock();
        if all.unanswered.get(session).is_some_and(|(stored_by, _)| *stored_by == effect) {
            all.unanswered.remove(session);
        }
    }

    /// Begins to collect a session's chunks, unless a job is under way or what one has stored is not named yet.
    pub(super) fn begin_collecting(&self, session: &SessionId, named: &[ContentHash]) -> bool {
        let mut all = self.lock();
        if all.unanswered.get(session).is_some_and(|(_, manifest)| named.contains(manifest)) {
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
        let effect = |start| EffectId { generation: 1, start };
        under_way.begin(&session);
        assert!(!under_way.begin_collecting(&session, &[old]), "a job is under way");
        under_way.end(&session, Some((effect(1), new)));
        assert!(!under_way.begin_collecting(&session, &[old]), "its event is not recorded");
        assert!(under_way.begin_collecting(&session, &[new]));
        assert!(!under_way.begin_collecting(&session, &[new]), "one at a time");
        under_way.end(&session, None);
        assert!(!under_way.holds(&session));
    }

    #[test]
    fn what_no_event_will_name_is_collected() {
        let (under_way, session) = (UnderWay::default(), SessionId::new("a").unwrap());
        let (old, new) = (ContentHash([1; 32]), ContentHash([2; 32]));
        let effect = |start| EffectId { generation: 1, start };
        under_way.begin(&session);
        under_way.end(&session, Some((effect(2), new)));
        under_way.disown(&session, effect(1));
        assert!(!under_way.begin_collecting(&session, &[old]), "a later job has stored it");
        under_way.disown(&session, effect(2));
        assert!(under_way.begin_collecting(&session, &[old]));
    }
}
