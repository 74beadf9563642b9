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

#[cfg(test)]
mod tests {
    use baton_events::record::{Metadata, SequenceNumber, Timestamp};

    use super::*;

    fn record(position: u64, sequence: u64, kind: &str, data: &str) -> StoredRecord {
        StoredRecord {
            position: Position(position),
            stream: StreamId::recorded("session:a"),
            sequence: SequenceNumber(sequence),
            kind: kind.to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: data.to_owned(),
        }
    }

    fn history() -> Vec<StoredRecord> {
        let discovered =
            r#"{"agent":"claude_code","path":"/t.jsonl","file":{"device":1,"inode":2},"subagent":false,"at":5}"#;
        vec![
            record(1, 1, "discovered", discovered),
            record(2, 2, "went_idle", "{}"),
            record(3, 3, "of_a_later_version", "{}"),
            record(4, 4, "resumed", "{}"),
            record(5, 5, "went_idle", "{}"),
        ]
    }

    fn folded(history: &[StoredRecord]) -> TableFold {
        let (mut fold, _) = TableFold::new();
        history.iter().for_each(|record| fold.apply(record));
        fold
    }

    /// Whatever record the row is as of, and whichever the checkpoint says, the table comes out the same.
    #[test]
    fn a_table_that_was_put_back_goes_on_to_the_same_table() {
        let history = history();
        let whole = folded(&history);
        assert_eq!((whole.table.len(), whole.skipped()), (1, 1));
        for row_as_of in 1..=history.len() {
            for checkpoint in 1..=row_as_of {
                let (at_row, at_checkpoint) = (folded(&history[..row_as_of]), folded(&history[..checkpoint]));
                let stream = &history[0].stream;
                let (mut fold, reader) = TableFold::new();
                assert!(fold.restore(stream, &at_row.row(stream).expect("a row")));
                fold.restored(Position(checkpoint as u64), at_checkpoint.skipped());
                history[checkpoint..].iter().for_each(|record| fold.apply(record));
                fold.publish(Tail::default());
                let table = reader.borrow();
                let case = format!("row as of {row_as_of}, checkpoint at {checkpoint}");
                assert_eq!(table.state_hash(), whole.table.state_hash(), "{case}");
                assert_eq!((table.position(), table.skipped()), (Position(5), 1), "{case}");
            }
        }
    }

    #[test]
    fn what_is_no_row_is_refused_and_a_table_can_be_begun_anew() {
        let mut fold = folded(&history());
        let session = StreamId::recorded("session:a");
        let row = fold.row(&session).expect("a row");
        assert!(fold.restore(&session, &row));
        assert!(!fold.restore(&session, "{}"));
        assert!(!fold.restore(&StreamId::recorded("home"), &row));
        assert_eq!(fold.row(&StreamId::recorded("home")), None);
        fold.clear();
        assert_eq!((fold.table.len(), fold.skipped(), fold.row(&session)), (0, 0, None));
    }
}
