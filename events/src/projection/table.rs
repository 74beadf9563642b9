//! The session table: the state of every session, as of a position.
//!
//! A [`SessionTable`] is a persistent map: a snapshot costs nothing and shares what did not change.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;
use sha2::{Digest, Sha256};

use crate::hash::ContentHash;
use crate::record::{Position, SequenceNumber, SessionId, Timestamp};
use crate::schema;
use crate::session::{Event, Policy, State, evolve, wake_at};

/// Bumped when the fold changes; a saved table of another version is folded anew.
pub const VERSION: u32 = 3;

/// One session as the table knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: State,
}

/// Every session, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct SessionTable {
    rows: RedBlackTreeMapSync<SessionId, Arc<Row>>,
    position: Position,
    skipped: u64,
}

impl SessionTable {
    /// Folds one event in.
    pub fn apply(&mut self, position: Position, id: &SessionId, sequence: SequenceNumber, event: &Event) {
        let state = self.rows.get(id).map(|row| row.state.clone()).unwrap_or_default();
        let row = Row { version: sequence, state: evolve(state, event) };
        self.rows.insert_mut(id.clone(), Arc::new(row));
        self.position = position;
    }

    /// Counts an event that this version cannot read, or that is no session's.
    pub fn pass(&mut self, position: Position, unreadable: bool) {
        self.position = position;
        self.skipped += u64::from(unreadable);
    }

    /// Puts back one session as a checkpoint kept it.
    pub fn restore(&mut self, id: SessionId, row: Row) {
        self.rows.insert_mut(id, Arc::new(row));
    }

    /// Says how far the rows that were put back have come, and how many events they could not read.
    pub fn restored(&mut self, position: Position, skipped: u64) {
        (self.position, self.skipped) = (position, skipped);
    }

    /// SHA-256 over all sessions in the order of their ids, each as its id in JSON, a space, its
    /// [stored shape](schema::state) and a line break. It depends on the recorded events alone: two tables that folded
    /// the same events have the same hash, on whatever machine and whenever, and a table with one difference has another.
    pub fn state_hash(&self) -> ContentHash {
        let mut digest = Sha256::new();
        for (id, row) in &self.rows {
            let id = serde_json::to_string(id.as_str()).unwrap_or_default();
            digest.update(format!("{id} {}\n", schema::state::encode(row)));
        }
        ContentHash(digest.finalize().into())
    }

    /// The position of the last event folded in.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many events could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// One session.
    pub fn get(&self, id: &SessionId) -> Option<&Arc<Row>> {
        self.rows.get(id)
    }

    /// All sessions, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.rows.iter()
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sessions whose time has come by `now`, and the next moment at which another's comes.
    pub fn due(&self, policy: impl Fn(&State) -> Policy, now: Timestamp) -> (Vec<SessionId>, Option<Timestamp>) {
        let mut due = Vec::new();
        let mut next: Option<Timestamp> = None;
        for (id, row) in &self.rows {
            match wake_at(&row.state, &policy(&row.state)) {
                Some(at) if at <= now => due.push(id.clone()),
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        (due, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Agent, FileIdentity, Kind};

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn discovered(at: i64) -> Event {
        Event::Discovered {
            agent: Agent::ClaudeCode,
            path: "/t".to_owned(),
            identity: FileIdentity::default(),
            kind: Kind::Main,
            at: Timestamp(at),
        }
    }

    #[test]
    fn a_snapshot_does_not_see_what_comes_after_it() {
        let mut table = SessionTable::default();
        table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
        let snapshot = table.clone();
        table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(0));
        table.apply(Position(3), &id("a"), SequenceNumber(2), &Event::WentIdle);
        assert_eq!((snapshot.len(), snapshot.position()), (1, Position(1)));
        assert_eq!(snapshot.get(&id("a")).map(|row| row.version), Some(SequenceNumber(1)));
        assert_eq!((table.len(), table.position()), (2, Position(3)));
    }

    #[test]
    fn its_hash_tells_what_was_folded_and_nothing_else() {
        let mut table = SessionTable::default();
        let empty = table.state_hash();
        table.apply(Position(1), &id("b"), SequenceNumber(1), &discovered(0));
        table.apply(Position(2), &id("a"), SequenceNumber(1), &discovered(0));
        let mut other = SessionTable::default();
        other.apply(Position(7), &id("a"), SequenceNumber(1), &discovered(0));
        for (id, row) in table.iter().filter(|(id, _)| id.as_str() == "b") {
            other.restore(id.clone(), Row::clone(row));
        }
        other.pass(Position(9), true);
        assert_eq!(table.state_hash(), other.state_hash(), "the same sessions by another way");
        assert_ne!(table.state_hash(), empty);
        other.apply(Position(10), &id("a"), SequenceNumber(2), &Event::WentIdle);
        assert_ne!(table.state_hash(), other.state_hash());
    }

    #[test]
    fn it_tells_whose_time_has_come() {
        let mut table = SessionTable::default();
        table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
        table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(5_000));
        let policy = |_: &State| Policy::default();
        assert_eq!(table.due(policy, Timestamp(59_999)), (vec![], Some(Timestamp(60_000))));
        assert_eq!(table.due(policy, Timestamp(60_000)), (vec![id("a")], Some(Timestamp(65_000))));
    }
}
