//! The sessions that a session continues: after `/clear` and `resume` an agent goes on in another session, and its
//! hooks report which one it replaces.

use std::collections::BTreeSet;

use baton_conversation::record::SessionId;
use baton_events::projection::table::{Row, SessionTable};

use baton_config::settings::Settings;
use baton_views::visibility::is_hidden;

/// Most earlier sessions that the head of a note names.
const MOST: usize = 50;

/// Returns the sessions that one continues, oldest first: the last [`MOST`] of them, each once, without hidden ones.
pub(super) fn continued(table: &SessionTable, settings: &Settings, id: &SessionId, row: &Row) -> Vec<SessionId> {
    let follows = |row: &Row| row.state.signals.follows.as_ref().map(|follows| follows.session.clone());
    let (mut seen, mut chain) = (BTreeSet::from([id.clone()]), Vec::new());
    let mut next = follows(row);
    while let Some(before) = next.take().filter(|before| chain.len() < MOST && seen.insert(before.clone())) {
        next = table.get(&before).and_then(|row| follows(row));
        if !is_hidden(table, settings, &[], before.as_str()) {
            chain.push(before);
        }
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber, Timestamp};
    use baton_events::session::{Follows, Phase, State};

    use super::*;

    fn id(number: u32) -> SessionId {
        SessionId::new(&format!("s-{number}")).unwrap()
    }

    /// Returns what the session `of` continues, given the predecessor of each session.
    fn chain(sessions: &[(u32, Option<u32>, Phase)], of: u32) -> Vec<SessionId> {
        let mut table = SessionTable::default();
        for (number, before, phase) in sessions {
            let mut state = State { phase: *phase, ..State::default() };
            state.signals.follows = before.map(|before| Follows { session: id(before), at: Timestamp(1) });
            table.restore(id(*number), Row { version: SequenceNumber(1), state, since: Position(1) });
        }
        let row = table.get(&id(of)).unwrap().clone();
        continued(&table, &Settings::default(), &id(of), &row)
    }

    #[test]
    fn each_predecessor_is_named_once_oldest_first() {
        use Phase::{Forgotten, Indexed};

        let ids = |numbers: &[u32]| numbers.iter().map(|number| id(*number)).collect::<Vec<_>>();
        for (sessions, of, expected) in [
            (vec![(1, None, Indexed)], 1, vec![]),
            (vec![(1, None, Indexed), (2, Some(1), Indexed), (3, Some(2), Indexed)], 3, vec![1, 2]),
            // Its own predecessor, and a cycle.
            (vec![(1, Some(1), Indexed)], 1, vec![]),
            (vec![(1, Some(3), Indexed), (2, Some(1), Indexed), (3, Some(2), Indexed)], 3, vec![1, 2]),
            // An unknown predecessor, and a forgotten one whose own predecessor is still there.
            (vec![(2, Some(1), Indexed)], 2, vec![]),
            (vec![(1, None, Indexed), (2, Some(1), Forgotten), (3, Some(2), Indexed)], 3, vec![1]),
        ] {
            assert_eq!(chain(&sessions, of), ids(&expected), "{sessions:?}");
        }
        let many: Vec<_> = (0..200_u32).map(|number| (number, number.checked_sub(1), Indexed)).collect();
        assert_eq!(chain(&many, 199), ids(&(149..199).collect::<Vec<_>>()));
    }
}
