//! Recently taken hooks: a hook may arrive by both socket and spool, and only some activity is recorded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard};

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::Place;

/// Limit of remembered hook ids, larger than a spool. Sessions know the ids of recorded signals for longer.
const IDS: usize = 8_192;
/// Limit of sessions whose last activity and place are remembered. A dropped activity is recorded once more, and a
/// dropped place is found in the transcript.
const SESSIONS: usize = 4_096;

#[derive(Default)]
pub(super) struct RecentHooks(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    ids: BTreeSet<Box<str>>,
    order: VecDeque<Box<str>>,
    active: BTreeMap<SessionId, Timestamp>,
    places: BTreeMap<SessionId, Place>,
}

impl RecentHooks {
    /// True if a hook was taken in.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.lock().ids.contains(id)
    }

    /// Remembers a hook.
    pub(super) fn insert(&self, id: &str) {
        let mut inner = self.lock();
        if !inner.ids.insert(id.into()) {
            return;
        }
        inner.order.push_back(id.into());
        if inner.order.len() > IDS
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.ids.remove(&oldest);
        }
    }

    /// Notes activity of a session. Returns true if it is to be recorded, because none was within the interval.
    pub(super) fn note_activity(&self, session: &SessionId, at: Timestamp, interval_ms: i64) -> bool {
        let mut inner = self.lock();
        if inner.active.get(session).is_some_and(|last| at.since_ms(*last) < interval_ms) {
            return false;
        }
        if inner.active.len() >= SESSIONS {
            inner.active.clear();
        }
        inner.active.insert(session.clone(), at);
        true
    }

    /// Notes the end of a session, so that the next activity is recorded.
    pub(super) fn note_end(&self, session: &SessionId) {
        self.lock().active.remove(session);
    }

    /// Notes where a session's hook was called.
    pub(super) fn note_place(&self, session: &SessionId, place: &Place) {
        let mut inner = self.lock();
        if inner.places.len() >= SESSIONS && !inner.places.contains_key(session) {
            inner.places.clear();
        }
        inner.places.insert(session.clone(), place.clone());
    }

    /// Where a session's hook was last called, for sessions whose transcript has not named a directory yet.
    pub(super) fn last_place(&self, session: &SessionId) -> Option<Place> {
        self.lock().places.get(session).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_until_so_many_others_came() {
        let recent = RecentHooks::default();
        for number in 0..=IDS {
            recent.insert(&number.to_string());
            recent.insert(&number.to_string());
        }
        assert!(!recent.contains("0") && recent.contains("1") && recent.contains(&IDS.to_string()));
        let inner = recent.lock();
        assert_eq!((inner.ids.len(), inner.order.len()), (IDS, IDS));
    }

    #[test]
    fn activity_is_recorded_once_per_interval() {
        let (recent, session) = (RecentHooks::default(), SessionId::new("a").unwrap());
        let told: Vec<bool> =
            [0, 59, 60, 61, 119, 120].map(|at| recent.note_activity(&session, Timestamp(at), 60)).to_vec();
        assert_eq!(told, [true, false, true, false, false, true]);
        assert!(recent.note_activity(&SessionId::new("b").unwrap(), Timestamp(61), 60));
        recent.note_end(&session);
        assert!(recent.note_activity(&session, Timestamp(121), 60), "the first after an end");
        for number in 0..3 * SESSIONS {
            recent.note_activity(&SessionId::new(&format!("s{number}")).unwrap(), Timestamp(0), 60);
        }
        assert!(recent.lock().active.len() <= SESSIONS);
    }
}
