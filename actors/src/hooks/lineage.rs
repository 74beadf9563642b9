//! Which session takes the place of which: `/clear` and `/resume` end one and begin another in the same terminal, and no
//! hook says which belong together.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use baton_events::projection::table::SessionTable;
use baton_events::record::{SessionId, Timestamp};
use baton_events::session::{CloseReason, Place};

/// Longest time from the end of one to the start of the next.
const WITHIN_MS: i64 = 10_000;
/// Ends that are remembered: what is older than [`WITHIN_MS`] is of no use.
const LEFT: usize = 256;

/// Sessions that were left a moment ago. One that is told of here needs no transcript: it may have been cleared at once.
#[derive(Default)]
pub(super) struct Lineage(Mutex<VecDeque<Left>>);

struct Left {
    session: SessionId,
    reason: CloseReason,
    place: Option<Place>,
    at: Timestamp,
    followed_by: Option<SessionId>,
}

/// A session that begins in the place of another.
pub(super) struct Start<'a> {
    pub(super) session: &'a SessionId,
    /// How the other one must have ended.
    pub(super) after: CloseReason,
    pub(super) place: &'a Place,
    pub(super) at: Timestamp,
}

impl Lineage {
    /// A session was left for another one.
    pub(super) fn left(&self, session: &SessionId, reason: CloseReason, place: Option<&Place>, at: Timestamp) {
        let mut left = self.lock();
        // The same end may be told again, after it was followed.
        if left.iter().any(|known| known.session == *session && known.at == at) {
            return;
        }
        left.retain(|known| known.session != *session);
        if left.len() >= LEFT {
            left.pop_front();
        }
        left.push_back(Left { session: session.clone(), reason, place: place.cloned(), at, followed_by: None });
    }

    /// The session whose place this one takes, if only one can be meant; it is then nobody else's to take.
    pub(super) fn follows(&self, table: &SessionTable, start: &Start<'_>) -> Option<SessionId> {
        let mut left = self.lock();
        let mut candidates: Vec<(SessionId, Place)> = Vec::new();
        let in_time = |at: Timestamp| (0..=WITHIN_MS).contains(&start.at.since_ms(at));
        for known in left.iter() {
            let is_free = known.followed_by.as_ref().is_none_or(|by| by == start.session);
            if known.reason == start.after
                && in_time(known.at)
                && is_free
                && let Some(place) = &known.place
            {
                candidates.push((known.session.clone(), place.clone()));
            }
        }
        // Those that another daemon has seen end.
        for (id, row) in table.iter() {
            let Some((end, place)) = row.state.end.as_ref().zip(row.state.place.as_ref()) else { continue };
            let is_new = end.reason == start.after && in_time(end.at) && left.iter().all(|known| known.session != *id);
            if is_new && !is_followed(table, id, end.at, start.session) {
                candidates.push((id.clone(), place.clone()));
            }
        }
        candidates.retain(|(id, _)| id != start.session);
        // A session may have moved to another directory of its project.
        match candidates.iter().any(|(_, place)| place.cwd == start.place.cwd) {
            true => candidates.retain(|(_, place)| place.cwd == start.place.cwd),
            false => candidates.retain(|(_, place)| place.project == start.place.project),
        }
        let [(only, place)] = candidates.as_slice() else { return None };
        match left.iter_mut().find(|known| known.session == *only) {
            Some(known) => known.followed_by = Some(start.session.clone()),
            None => {
                if left.len() >= LEFT {
                    left.pop_front();
                }
                let (place, by) = (Some(place.clone()), Some(start.session.clone()));
                left.push_back(Left {
                    session: only.clone(),
                    reason: start.after,
                    place,
                    at: start.at,
                    followed_by: by,
                });
            }
        }
        Some(only.clone())
    }

    /// A session has not begun after all.
    pub(super) fn unfollow(&self, session: &SessionId) {
        for known in self.lock().iter_mut().filter(|known| known.followed_by.as_ref() == Some(session)) {
            known.followed_by = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Left>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether another session has taken the place of this one since.
fn is_followed(table: &SessionTable, id: &SessionId, since: Timestamp, but: &SessionId) -> bool {
    table.iter().any(|(other, row)| {
        let follows = row.state.signals.follows.as_ref();
        other != but && follows.is_some_and(|follows| follows.session == *id && follows.at >= since)
    })
}
