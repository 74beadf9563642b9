//! The session table as the committer publishes it: a snapshot after every batch.

use baton_events::envelope::{StoredRecord, Tail};
use baton_events::projection::table::SessionTable;
use tokio::sync::watch;

use crate::journal::Fold;
use crate::stream;

/// Reads the newest table, and can wait for the next one.
pub type TableReader = watch::Receiver<SessionTable>;

/// Folds the table in the committer's thread.
pub struct TableFold {
    table: SessionTable,
    published: watch::Sender<SessionTable>,
}

impl TableFold {
    /// An empty table and where it will be seen.
    pub fn new() -> (Self, TableReader) {
        let (published, reader) = watch::channel(SessionTable::default());
        (Self { table: SessionTable::default(), published }, reader)
    }
}

impl Fold for TableFold {
    fn apply(&mut self, record: &StoredRecord) {
        let Some(id) = record.stream.session_id() else {
            self.table.pass(record.position, false);
            return;
        };
        match stream::decode(record) {
            Ok(recorded) => self.table.apply(record.position, &id, record.sequence, &recorded.event),
            Err(error) => {
                tracing::warn!(position = record.position.0, session = %id, %error, "event skipped by the session table");
                self.table.pass(record.position, true);
            }
        }
    }

    fn publish(&mut self, _tail: Tail) {
        self.published.send_replace(self.table.clone());
    }
}
