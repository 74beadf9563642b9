//! Sessions of other people and machines, which a relay brought: rows beside those of the log, each with its author.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

use super::belonging::Belonging;
use super::multiset::Multiset;
use crate::row::Row;
use baton_conversation::record::SessionId;

/// Fewest digits of a fingerprint that name a writer, and those that tell writers of the same name apart.
pub const MIN_FINGERPRINT: usize = 8;

/// Who wrote a session, as they named themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Author {
    /// Fingerprint of their key.
    pub writer: String,
    /// Their name.
    pub name: String,
    /// How they are shown: with the beginning of the fingerprint, if another one has the same name.
    pub shown: String,
    /// The machine.
    pub machine: String,
}

/// Sessions of others, by id. A clone shares everything that did not change.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Who writes here, as the others know them.
    pub own: Arc<Author>,
    rows: RedBlackTreeMapSync<SessionId, (Arc<Row>, Arc<Author>)>,
    belongings: Multiset<Belonging>,
}

impl Others {
    /// The same without anybody else.
    #[must_use]
    pub fn own_alone(&self) -> Self {
        Self { own: self.own.clone(), ..Self::default() }
    }

    /// Adds a session or replaces its row.
    pub fn insert(&mut self, id: SessionId, row: Arc<Row>, author: Arc<Author>) {
        self.remove(&id);
        self.belongings.add(Belonging::from(&row.state));
        self.rows.insert_mut(id, (row, author));
    }

    /// Removes a session.
    pub fn remove(&mut self, id: &SessionId) {
        let left = self.rows.get(id).map(|(row, _)| Belonging::from(&row.state));
        left.into_iter().for_each(|left| self.belongings.remove(left));
        self.rows.remove_mut(id);
    }

    /// The row of a session.
    pub fn get(&self, id: &SessionId) -> Option<&Arc<Row>> {
        self.rows.get(id).map(|(row, _)| row)
    }

    /// The author of a session.
    pub fn author(&self, id: &SessionId) -> Option<&Arc<Author>> {
        self.rows.get(id).map(|(_, author)| author)
    }

    /// All sessions by id.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.rows.iter().map(|(id, (row, _))| (id, row))
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn get_by_text(&self, id: &str) -> Option<&Arc<Row>> {
        self.rows.get(id).map(|(row, _)| row)
    }

    /// The ids next to one, on either side.
    pub(super) fn neighbours<'a>(&'a self, id: &SessionId) -> impl Iterator<Item = &'a SessionId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let before = self.rows.range(..id.clone()).next_back();
        let after = self.rows.range((Excluded(id.clone()), Unbounded)).next();
        before.into_iter().chain(after).map(|(near, _)| near)
    }

    pub(super) fn belongings(&self) -> impl Iterator<Item = &Belonging> {
        self.belongings.values()
    }
}
