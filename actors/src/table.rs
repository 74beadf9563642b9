//! The session table as the committer publishes it: a snapshot after every batch.

use baton_events::envelope::{StoredRecord, Tail};
use baton_events::projection::table::{self, SessionTable};
use baton_events::record::{Position, StreamId};
use baton_events::schema::state;
use tokio::sync::watch;

use crate::journal::{Fold, Rows};
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
            // The row was put back by a checkpoint, and is newer than the rest of it.
            Ok(_) if self.table.get(&id).is_some_and(|row| row.version >= record.sequence) => {
                self.table.pass(record.position, false);
            }
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

    fn rows(&mut self) -> Option<&mut dyn Rows> {
        Some(self)
    }
}

impl Rows for TableFold {
    fn form(&self) -> u32 {
        table::VERSION
    }

    fn row(&self, stream: &StreamId) -> Option<String> {
        self.table.get(&stream.session_id()?).map(|row| state::encode(row))
    }

    fn skipped(&self) -> u64 {
        self.table.skipped()
    }

    fn restore(&mut self, stream: &StreamId, row: &str) -> bool {
        match (stream.session_id(), state::decode(row)) {
            (Some(id), Some(row)) => {
                self.table.restore(id, row);
                true
            }
            _ => false,
        }
    }

    fn restored(&mut self, position: Position, skipped: u64) {
        self.table.restored(position, skipped);
    }

    fn clear(&mut self) {
        self.table = SessionTable::default();
    }
}
