//! Which sessions have a job or collection running. Shared across incarnations, because jobs outlive a restarted
//! indexer: its successor must not collect chunks that a job has written and no event names yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::session::EffectId;

/// How often a busy session is checked again, and at what interval.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay(Arc<Mutex<Sessions>>);

#[derive(Debug, Default)]
struct Sessions {
    busy: BTreeSet<SessionId>,
    /// Number of holders of all sessions.
    all: usize,
    /// Stored conversations for which it is unknown yet whether an event names them.
    unanswered: BTreeMap<SessionId, (EffectId, ContentHash)>,
}

impl UnderWay {
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        let all = self.lock();
        all.all > 0 || all.busy.contains(session)
    }

    pub(super) fn begin(&self, session: &SessionId) {
        self.lock().busy.insert(session.clone());
    }

    /// Ends a job or collection; `stored` is what a job has stored.
    pub(super) fn end(&self, session: &SessionId, stored: Option<(EffectId, ContentHash)>) {
        let mut all = self.lock();
        all.busy.remove(session);
        if let Some(stored) = stored {
            all.unanswered.insert(session.clone(), stored);
        }
    }

    /// Notes that no event will name what this job has stored. Ignored if a later job has stored something since.
    pub(super) fn disown(&self, session: &SessionId, effect: EffectId) {
        let mut all = self.lock();
        if all.unanswered.get(session).is_some_and(|(stored_by, _)| *stored_by == effect) {
            all.unanswered.remove(session);
        }
    }

    /// Starts collecting a session's chunks, unless a job is running or the outcome of one is not recorded yet. `named`
    /// and `running` come from one state of the table: a job that is not running there has been answered or never will
    /// be.
    pub(super) fn begin_collecting(
        &self,
        session: &SessionId,
        named: &[ContentHash],
        running: Option<EffectId>,
    ) -> bool {
        let mut all = self.lock();
        let is_answered = |(effect, manifest): &(EffectId, ContentHash)| {
            named.contains(manifest) || running.is_none_or(|running| running != *effect)
        };
        if all.unanswered.get(session).is_some_and(is_answered) {
            all.unanswered.remove(session);
        }
        !all.unanswered.contains_key(session) && all.busy.insert(session.clone())
    }

    /// Holds a session against jobs and collections, waiting up to 2 s until it is free. Blocks.
    pub(super) fn hold(&self, session: &SessionId) -> Option<Held> {
        for look in 0..LOOKS {
            if look > 0 {
                std::thread::sleep(LOOK);
            }
            if self.lock().busy.insert(session.clone()) {
                return Some(Held { under_way: self.clone(), session: Some(session.clone()) });
            }
        }
        None
    }

    /// Holds a session if it is free now, and drops what its jobs have stored without an answer, because no event will
    /// name it.
    pub(super) fn hold_forgotten(&self, session: &SessionId) -> Option<Held> {
        let mut all = self.lock();
        if !all.busy.insert(session.clone()) {
            return None;
        }
        all.unanswered.remove(session);
        Some(Held { under_way: self.clone(), session: Some(session.clone()) })
    }

    /// Holds all sessions, so that no job starts.
    pub(super) fn hold_all(&self) -> Held {
        self.lock().all += 1;
        Held { under_way: self.clone(), session: None }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Holds one session or all of them until dropped.
#[derive(Debug)]
pub(super) struct Held {
    under_way: UnderWay,
    session: Option<SessionId>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.under_way.lock();
        match &self.session {
            Some(session) => drop(all.busy.remove(session)),
            None => all.all = all.all.saturating_sub(1),
        }
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
        assert!(!under_way.begin_collecting(&session, &[old], Some(effect(1))), "a job is under way");
        under_way.end(&session, Some((effect(1), new)));
        assert!(!under_way.begin_collecting(&session, &[old], Some(effect(1))), "its event is not recorded");
        assert!(under_way.begin_collecting(&session, &[new], None));
        assert!(!under_way.begin_collecting(&session, &[new], None), "one at a time");
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
        assert!(!under_way.begin_collecting(&session, &[old], Some(effect(2))), "a later job has stored it");
        under_way.disown(&session, effect(2));
        assert!(under_way.begin_collecting(&session, &[old], Some(effect(2))));
    }

    #[test]
    fn what_a_job_has_stored_that_runs_no_more_is_collected() {
        let effect = |start| EffectId { generation: 1, start };
        for (running, collected) in [(Some(effect(2)), false), (Some(effect(3)), true), (None, true)] {
            let (under_way, session) = (UnderWay::default(), SessionId::new("a").unwrap());
            under_way.begin(&session);
            under_way.end(&session, Some((effect(2), ContentHash([2; 32]))));
            assert_eq!(under_way.begin_collecting(&session, &[], running), collected, "{running:?}");
        }
    }

    #[test]
    fn what_is_held_has_nothing_else_under_way() {
        let (under_way, session) = (UnderWay::default(), SessionId::new("a").unwrap());
        let held = under_way.hold(&session).unwrap();
        assert!(under_way.holds(&session) && !under_way.begin_collecting(&session, &[], None));
        drop(held);
        assert!(!under_way.holds(&session));
        let all = under_way.hold_all();
        assert!(under_way.holds(&session));
        drop(all);
        assert!(!under_way.holds(&session) && under_way.begin_collecting(&session, &[], None));
    }
}
