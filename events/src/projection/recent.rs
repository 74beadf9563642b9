//! Recently changed sessions, so that a follower of the table need not scan all of it.

use std::collections::BTreeSet;

use rpds::ListSync;

use baton_conversation::record::{Position, SessionId};

/// At least this many changes are remembered, once there were as many.
const KEPT: usize = 2_048;

/// The latest changes, newest first, in two parts; the older part is dropped as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    newer: Part,
    older: Part,
}

#[derive(Clone, Debug, Default)]
struct Part {
    changes: ListSync<(Position, SessionId)>,
    /// This part and the newer one have every change after this position.
    after: Position,
}

impl Recent {
    /// Nothing is known of changes up to a position.
    pub(super) fn after(position: Position) -> Self {
        let part = Part { changes: ListSync::new_sync(), after: position };
        Self { newer: part.clone(), older: part }
    }

    /// Records that a session changed by the event at `at`; `before` is the position of the previous event.
    pub(super) fn push(&mut self, before: Position, at: Position, id: &SessionId) {
        // An active agent causes one event after another in the same session.
        if self.newer.changes.first().is_some_and(|(_, newest)| newest == id) {
            self.newer.changes.drop_first_mut();
        } else if self.newer.changes.len() >= KEPT {
            let full = std::mem::replace(&mut self.newer, Part { changes: ListSync::new_sync(), after: before });
            self.older = full;
        }
        self.newer.changes.push_front_mut((at, id.clone()));
    }

    /// The sessions that changed after a position; `None` if that is too long ago.
    pub(super) fn since(&self, position: Position) -> Option<BTreeSet<&SessionId>> {
        if position < self.older.after {
            return None;
        }
        let all = self.newer.changes.iter().chain(self.older.changes.iter());
        Some(all.take_while(|(at, _)| *at > position).map(|(_, id)| id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> SessionId {
        SessionId::new(&format!("s-{number}")).unwrap()
    }

    #[test]
    fn what_has_changed_is_told_as_far_as_it_is_known() {
        let mut recent = Recent::after(Position(10));
        assert_eq!(recent.since(Position(9)), None);
        assert_eq!(recent.since(Position(10)), Some(BTreeSet::new()));
        for at in 11..=20 {
            recent.push(Position(at - 1), Position(at), &id(at / 3));
        }
        let changed = |recent: &Recent, since| -> Vec<String> {
            recent.since(Position(since)).unwrap().into_iter().map(ToString::to_string).collect()
        };
        assert_eq!(changed(&recent, 10), ["s-3", "s-4", "s-5", "s-6"]);
        assert_eq!(changed(&recent, 17), ["s-6"]);
        assert_eq!(changed(&recent, 20), [""; 0]);
    }

    #[test]
    fn it_stays_small_and_tells_everything_that_it_has_not_dropped() {
        let mut recent = Recent::default();
        let most = 3 * KEPT as u64 + 7;
        for at in 1..=most {
            // Positions of other streams lie in between.
            recent.push(Position(2 * at - 1), Position(2 * at), &id(at % 5_000));
        }
        assert!(recent.newer.changes.len() <= KEPT && recent.older.changes.len() <= KEPT);
        assert_eq!(recent.since(Position(2)), None);
        for back in [0, 1, 6, KEPT as u64] {
            let since = Position(2 * (most - back));
            let expected: BTreeSet<SessionId> = (most - back + 1..=most).map(|at| id(at % 5_000)).collect();
            assert_eq!(recent.since(since).unwrap(), expected.iter().collect(), "{back}");
        }
    }

    #[test]
    fn one_session_that_changes_again_and_again_drops_nothing() {
        let mut recent = Recent::default();
        recent.push(Position(0), Position(1), &id(1));
        for at in 2..10_000 {
            recent.push(Position(at - 1), Position(at), &id(2));
        }
        assert_eq!(recent.since(Position(0)).unwrap().len(), 2);
        assert_eq!(recent.since(Position(1)).unwrap(), BTreeSet::from([&id(2)]));
    }
}
