//! Finds which session follows which: `/clear` and `/resume` end one session and start another in the same terminal,
//! and no hook says which belong together.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{CloseReason, Place};

/// Longest time from the end of one session to the start of the next.
const WITHIN_MS: i64 = 10_000;
/// Limit of remembered ends; those older than [`WITHIN_MS`] are useless.
const LEFT: usize = 256;

/// Sessions that were just left. They need no transcript: a session may be cleared at once.
#[derive(Default)]
pub(super) struct Succession(Mutex<VecDeque<Left>>);

struct Left {
    session: SessionId,
    reason: CloseReason,
    place: Option<Place>,
    at: Timestamp,
    followed_by: Option<SessionId>,
}

/// A session that starts in the place of another.
pub(super) struct Start<'a> {
    pub(super) session: &'a SessionId,
    /// How the other must have ended.
    pub(super) after: CloseReason,
    pub(super) place: &'a Place,
    pub(super) at: Timestamp,
}

impl Succession {
    /// Records that a session was left for another. The end may be reported again, also by another hook: its follower
    /// stays the same, unless the session was started again since.
    pub(super) fn note_left(
        &self,
        table: &SessionTable,
        session: &SessionId,
        reason: CloseReason,
        place: Option<&Place>,
        at: Timestamp,
    ) {
        let mut left = self.lock();
        let begun_at = table.get(session).and_then(|row| row.state.signals.started_at);
        let known = left.iter().find(|known| known.session == *session);
        let is_said = |known: &Left| known.followed_by.is_some() && begun_at.is_none_or(|begun| begun <= known.at);
        if known.is_some_and(|known| known.at == at || is_said(known)) {
            return;
        }
        // Find a follower recorded by an earlier daemon.
        let followed_by = table.iter().find_map(|(id, row)| {
            let follows = row.state.signals.follows.as_ref().filter(|follows| follows.session == *session)?;
            begun_at.is_none_or(|begun| begun <= follows.at).then(|| id.clone())
        });
        left.retain(|known| known.session != *session);
        if left.len() >= LEFT {
            left.pop_front();
        }
        left.push_back(Left { session: session.clone(), reason, place: place.cloned(), at, followed_by });
    }

    /// Returns the session that this one follows, if it is unambiguous, and reserves it.
    pub(super) fn reserve_predecessor(&self, table: &SessionTable, start: &Start<'_>) -> Option<SessionId> {
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
        // Add the ends recorded by an earlier daemon.
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

    /// Releases a reservation because the session did not start after all.
    pub(super) fn release(&self, session: &SessionId) {
        for known in self.lock().iter_mut().filter(|known| known.followed_by.as_ref() == Some(session)) {
            known.followed_by = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Left>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Follows the successors of `session` since a time: returns the session that a process started in it serves now.
/// Returns `session` itself without a time.
pub fn current_successor(table: &SessionTable, session: SessionId, since: Option<i64>) -> SessionId {
    let Some(since) = since else { return session };
    let follows = table.iter().filter_map(|(id, row)| Some((id, row.state.signals.follows.as_ref()?)));
    let mut steps: Vec<(Timestamp, &SessionId, &SessionId)> =
        follows.map(|(id, follows)| (follows.at, &follows.session, id)).collect();
    steps.sort();
    // In order of time, each step once, so circles end.
    let mut current = &session;
    for (at, before, after) in &steps {
        if at.0 >= since && *before == current {
            current = after;
        }
    }
    current.clone()
}

/// True if a session was left for another, unknown one since a process was started in it. Meant for the session that
/// [`current_successor`] returns.
pub fn is_left(table: &SessionTable, session: &SessionId, since: Option<i64>) -> bool {
    let Some((since, row)) = since.zip(table.get(session)) else { return false };
    let Some(end) = row.state.end else { return false };
    let signals = &row.state.signals;
    let went_on = signals.started_at.max(signals.active_at) > Some(end.at);
    matches!(end.reason, CloseReason::HookClear | CloseReason::HookResume) && end.at.0 >= since && !went_on
}

/// True if another session than `but` has followed this one since.
fn is_followed(table: &SessionTable, id: &SessionId, since: Timestamp, but: &SessionId) -> bool {
    table.iter().any(|(other, row)| {
        let follows = row.state.signals.follows.as_ref();
        other != but && follows.is_some_and(|follows| follows.session == *id && follows.at >= since)
    })
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::session::{Event, Signal, SignalKind};

    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    fn place(cwd: &str) -> Place {
        Place::new(cwd, format!("/{}", cwd.split('/').nth(1).unwrap()))
    }

    /// A session table after these events.
    fn table(events: &[(&str, Event)]) -> SessionTable {
        let mut table = SessionTable::default();
        for (number, (id, event)) in (1..).zip(events) {
            let version = table.get(&session(id)).map_or(SequenceNumber(1), |row| row.version.next());
            table.apply(Position(number), &session(id), version, event);
        }
        table
    }

    fn started(after: Option<&str>, at: i64) -> Event {
        let follows = after.map(session);
        Event::Signalled { signal: Signal { kind: SignalKind::SessionStart, detail: None, at: Timestamp(at), follows } }
    }

    fn located(cwd: &str) -> Event {
        Event::Located { place: place(cwd) }
    }

    fn ended(reason: CloseReason, at: i64) -> Event {
        Event::Ended { reason, at: Timestamp(at), by_self: false }
    }

    const CLEAR: CloseReason = CloseReason::HookClear;
    const RESUME: CloseReason = CloseReason::HookResume;

    #[test]
    fn a_session_follows_the_only_one_that_was_left_for_it() {
        type Left<'a> = (&'a str, CloseReason, &'a str, i64);
        let check = |left: &[Left<'_>], start: (&str, CloseReason, &str, i64), expected: Option<&str>| {
            let told = Succession::default();
            for (id, reason, cwd, at) in left {
                told.note_left(&SessionTable::default(), &session(id), *reason, Some(&place(cwd)), Timestamp(*at));
            }
            // The same for a daemon that has seen none of it and knows only the log.
            let recorded: Vec<_> = left
                .iter()
                .flat_map(|(id, reason, cwd, at)| [(*id, located(cwd)), (*id, ended(*reason, *at))])
                .collect();
            let (id, after, cwd, at) = start;
            let (id, place) = (session(id), place(cwd));
            let start = Start { session: &id, after, place: &place, at: Timestamp(at) };
            let expected = expected.map(session);
            assert_eq!(told.reserve_predecessor(&SessionTable::default(), &start), expected, "{left:?} {cwd} {at}");
            assert_eq!(
                Succession::default().reserve_predecessor(&table(&recorded), &start),
                expected,
                "recorded: {left:?} {cwd} {at}"
            );
            assert_eq!(told.reserve_predecessor(&table(&recorded), &start), expected, "both: {left:?} {cwd} {at}");
        };
        let x = ("x", CLEAR, "/p/a", 1_000);
        check(&[x], ("y", CLEAR, "/p/a", 1_000), Some("x"));
        check(&[x], ("y", CLEAR, "/p/a", 11_000), Some("x"));
        check(&[x], ("y", CLEAR, "/p/a", 11_001), None);
        check(&[x], ("y", CLEAR, "/p/a", 999), None);
        check(&[x], ("y", CLEAR, "/p/b", 2_000), Some("x"));
        check(&[x], ("y", CLEAR, "/q/a", 2_000), None);
        check(&[x], ("y", RESUME, "/p/a", 2_000), None);
        check(&[x], ("x", CLEAR, "/p/a", 2_000), None);
        check(&[x, ("z", CLEAR, "/p/a", 1_500)], ("y", CLEAR, "/p/a", 2_000), None);
        check(&[x, ("z", CLEAR, "/p/b", 1_500)], ("y", CLEAR, "/p/a", 2_000), Some("x"));
        check(&[x, ("z", CLEAR, "/p/b", 1_500)], ("y", CLEAR, "/p/c", 2_000), None);
        check(&[x, ("z", RESUME, "/p/a", 1_500)], ("y", CLEAR, "/p/a", 2_000), Some("x"));
        check(&[("x", RESUME, "/p/a", 1_000)], ("y", RESUME, "/p/a", 2_000), Some("x"));
        check(&[], ("y", CLEAR, "/p/a", 2_000), None);
    }

    #[test]
    fn one_that_was_followed_is_nobody_elses() {
        let succession = Succession::default();
        let place = place("/p/a");
        let start = |id: &str, at| {
            let id = session(id);
            succession.reserve_predecessor(
                &SessionTable::default(),
                &Start { session: &id, after: CLEAR, place: &place, at: Timestamp(at) },
            )
        };
        let none = SessionTable::default();
        succession.note_left(&none, &session("x"), CLEAR, Some(&place), Timestamp(1_000));
        assert_eq!(start("y", 2_000), Some(session("x")));
        assert_eq!(start("y", 2_000), Some(session("x")), "told again");
        assert_eq!(start("z", 3_000), None);
        succession.release(&session("y"));
        assert_eq!(start("z", 3_000), Some(session("x")), "the other did not begin");
        // A repeated report of the same end changes nothing, nor does another hook's a moment later; an end after a new
        // start does.
        for at in [1_000, 1_005] {
            succession.note_left(&none, &session("x"), CLEAR, Some(&place), Timestamp(at));
            assert_eq!(start("w", 3_000), None, "{at}");
        }
        let again = table(&[("x", started(None, 0)), ("x", ended(CLEAR, 1_000)), ("x", started(None, 3_500))]);
        succession.note_left(&again, &session("x"), CLEAR, Some(&place), Timestamp(4_000));
        assert_eq!(start("w", 5_000), Some(session("x")));
        // A follower recorded by an earlier daemon counts as well.
        let recorded = table(&[("x", located("/p/a")), ("x", ended(CLEAR, 1_000)), ("y", started(Some("x"), 1_500))]);
        let z = session("z");
        let start = Start { session: &z, after: CLEAR, place: &place, at: Timestamp(2_000) };
        assert_eq!(Succession::default().reserve_predecessor(&recorded, &start), None);
        let later = Succession::default();
        later.note_left(&recorded, &session("x"), CLEAR, Some(&place), Timestamp(1_005));
        assert_eq!(later.reserve_predecessor(&recorded, &start), None);
        for number in 0..3 * LEFT {
            succession.note_left(&none, &session(&format!("s{number}")), CLEAR, None, Timestamp(0));
        }
        assert_eq!(succession.lock().len(), LEFT);
    }

    #[test]
    fn a_process_serves_whoever_took_the_place_of_its_session_since() {
        let table = table(&[
            ("x", started(None, 1_000)),
            ("y", started(Some("x"), 2_000)),
            ("z", started(Some("y"), 3_000)),
            ("other", started(None, 2_500)),
            // Back to an older session, and on from there.
            ("x", started(Some("z"), 4_000)),
            ("w", started(Some("x"), 5_000)),
            // Following each other: a damaged history, or clocks that were changed.
            ("a", started(Some("b"), 7_000)),
            ("b", started(Some("a"), 7_000)),
        ]);
        for (id, since, expected) in [
            ("x", Some(1_000), "w"),
            ("x", Some(4_500), "w"),
            ("x", Some(5_001), "x"),
            ("y", Some(2_000), "w"),
            ("z", Some(3_500), "w"),
            ("w", Some(5_000), "w"),
            ("other", Some(0), "other"),
            ("unknown", Some(0), "unknown"),
            ("a", Some(0), "a"),
            ("x", None, "x"),
        ] {
            assert_eq!(current_successor(&table, session(id), since), session(expected), "{id} since {since:?}");
        }
    }

    #[test]
    fn who_was_left_for_another_since_serves_nobody_that_is_known() {
        let other = CloseReason::HookPromptInputExit;
        for (events, since, expected) in [
            (vec![ended(CLEAR, 2_000)], Some(1_000), true),
            (vec![ended(RESUME, 2_000)], Some(2_000), true),
            (vec![started(None, 1_000), ended(CLEAR, 2_000)], Some(1_000), true),
            (vec![ended(CLEAR, 2_000), started(None, 2_500)], Some(1_000), false),
            (vec![ended(CLEAR, 2_000)], Some(2_001), false),
            (vec![ended(CLEAR, 2_000)], None, false),
            (vec![ended(other, 2_000)], Some(1_000), false),
            (vec![started(None, 1_000)], Some(1_000), false),
        ] {
            let table = table(&events.iter().map(|event| ("x", event.clone())).collect::<Vec<_>>());
            assert_eq!(is_left(&table, &session("x"), since), expected, "{events:?} since {since:?}");
        }
        assert!(!is_left(&SessionTable::default(), &session("x"), Some(0)));
    }
}
