//! Which session came before and after another in the same directory of a project, where no hook has said it.

use std::cmp::Reverse;

use baton_events::projection::table::SessionTable;
use baton_events::record::{SessionId, Timestamp};
use baton_events::session::State;

use super::is_shown;
use crate::settings::Settings;

/// The last one that was left before this one began. Sessions that ran beside it are none.
pub(super) fn before<'a>(
    id: &SessionId,
    state: &State,
    table: &'a SessionTable,
    settings: &Settings,
) -> Option<&'a SessionId> {
    let began = began(state)?;
    let others = beside(id, state, table, settings).filter(|(_, other)| other.last_activity() <= began);
    others.max_by_key(|(id, other)| (other.last_activity(), Reverse(*id))).map(|(id, _)| id)
}

/// The first one that began after this one was left, if this is the last before it and no hook names another.
pub(super) fn after<'a>(
    id: &SessionId,
    state: &State,
    table: &'a SessionTable,
    settings: &Settings,
) -> Option<&'a SessionId> {
    let left = state.last_activity();
    let others = beside(id, state, table, settings).filter_map(|(id, other)| Some((began(other)?, id, other)));
    let (_, next, other) = others.filter(|(began, ..)| *began >= left).min_by_key(|(began, id, _)| (*began, *id))?;
    let is_said = other.signals.follows.is_some();
    (!is_said && before(next, other, table, settings) == Some(id)).then_some(next)
}

fn began(state: &State) -> Option<Timestamp> {
    state.first_at.filter(|_| !state.is_subagent())
}

/// The others of the same directory in which something was said.
fn beside<'a>(
    id: &SessionId,
    state: &State,
    table: &'a SessionTable,
    settings: &Settings,
) -> impl Iterator<Item = (&'a SessionId, &'a State)> {
    let shown = table.iter().filter(move |(other, row)| *other != id && is_shown(row, settings));
    shown.map(|(other, row)| (other, &row.state)).filter(move |(_, other)| {
        state.place.is_some() && other.place == state.place && other.counts.messages > 0 && !other.is_subagent()
    })
}

#[cfg(test)]
mod tests {
    use baton_events::projection::table::Row;
    use baton_events::record::{Position, SequenceNumber};
    use baton_events::session::{Follows, Place};

    use super::*;

    /// Sessions as `(id, directory, first record, last word, whom it follows)`; who comes before and after each.
    fn check(sessions: &[(&str, &str, i64, i64, Option<&str>)], expected: &[(Option<&str>, Option<&str>)]) {
        let id = |text: &str| SessionId::new(text).unwrap();
        let mut table = SessionTable::default();
        for (name, cwd, first, last, follows) in sessions {
            let mut state = State {
                phase: baton_events::session::Phase::Indexed,
                place: Some(Place { cwd: (*cwd).to_owned(), project: "/p".to_owned() }),
                first_at: Some(Timestamp(*first)),
                last_conversation_at: Some(Timestamp(*last)),
                ..State::default()
            };
            state.counts.messages = 2;
            state.signals.follows = follows.map(|it| Follows { session: id(it), at: Timestamp(*first) });
            table.restore(id(name), Row { version: SequenceNumber(1), state, since: Position(1) });
        }
        let settings = Settings::default();
        for ((name, ..), (earlier, later)) in sessions.iter().zip(expected) {
            let state = &table.get(&id(name)).unwrap().state;
            let found = (before(&id(name), state, &table, &settings), after(&id(name), state, &table, &settings));
            let text = |found: Option<&SessionId>| found.map(|id| id.as_str().to_owned());
            let expected = (earlier.map(str::to_owned), later.map(str::to_owned));
            assert_eq!((text(found.0), text(found.1)), expected, "{name} of {sessions:?}");
        }
    }

    #[test]
    fn sessions_of_one_directory_come_one_after_the_other() {
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, None), ("c", "/p", 30, 40, None)],
            &[(None, Some("b")), (Some("a"), Some("c")), (Some("b"), None)],
        );
        // One in another directory, and two that ran at the same time.
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p/sub", 20, 30, None), ("c", "/p", 5, 40, None)],
            &[(None, None), (None, None), (None, None)],
        );
        // The second of two that began after the same one follows it too, and is not told of as its next.
        check(
            &[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, None), ("c", "/p", 25, 40, None)],
            &[(None, Some("b")), (Some("a"), None), (Some("a"), None)],
        );
        // What a hook has said goes before: whom `b` follows is known.
        check(&[("a", "/p", 0, 10, None), ("b", "/p", 20, 30, Some("x"))], &[(None, None), (Some("a"), None)]);
    }
}
