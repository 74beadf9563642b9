//! The session table, with memos and the home, folded by the committer: a snapshot is published after every batch.

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::schema::checkpoint_row;
use baton_events::schema::checkpoint_row::CheckpointRow;
use tokio::sync::watch;

use crate::{Fold, Rows};
use baton_base::latest::Latest;

/// Reads the current table, and can wait for the next one.
pub type TableReader = Latest<SessionTable>;

/// Folds the table on the committer's thread.
pub struct TableFold {
    table: SessionTable,
    published: watch::Sender<SessionTable>,
}

impl TableFold {
    /// An empty table, and its reader.
    pub fn new() -> (Self, TableReader) {
        let (published, reader) = watch::channel(SessionTable::default());
        (Self { table: SessionTable::default(), published }, reader.into())
    }
}

fn version_of(table: &SessionTable, stream: &StreamId) -> Option<SequenceNumber> {
    if let Some(id) = stream.session_id() {
        return table.get(&id).map(|row| row.version);
    }
    if let Some(uuid) = stream.memo_uuid() {
        return table.memo_row(uuid).map(|row| row.version);
    }
    stream.is_home().then(|| table.home().version)
}

/// Folds a record into a table. One that this version cannot read is counted.
///
/// # Errors
///
/// Why it cannot be read.
pub fn fold(table: &mut SessionTable, record: &StoredRecord) -> Result<(), schema::session::Error> {
    let folded = fold_event(table, record);
    match (&folded, record.stream.session_id()) {
        (Ok(()), _) => table.skip(record.position, false),
        (Err(_), Some(id)) => table.skip_event_of(record.position, &id),
        (Err(_), None) => table.skip(record.position, true),
    }
    folded
}

fn fold_event(table: &mut SessionTable, record: &StoredRecord) -> Result<(), schema::session::Error> {
    let StoredRecord { position, stream, sequence, kind, v, data, .. } = record;
    // A row restored from a checkpoint may be newer than the rest of it and contain this event already.
    let is_applied = version_of(table, stream).is_some_and(|version| version >= *sequence);
    if let Some(id) = stream.session_id() {
        let event = schema::session::decode(kind, *v, data)?;
        if !is_applied {
            table.apply(*position, &id, *sequence, &event);
        }
    } else if let Some(uuid) = stream.memo_uuid() {
        let event = schema::memo::decode(kind, *v, data)?;
        if !is_applied {
            table.apply_memo(*position, uuid, *sequence, &event);
        }
    } else if stream.is_home() {
        let event = schema::home::decode(kind, *v, data)?;
        if !is_applied {
            table.apply_home(*position, *sequence, event);
        }
    }
    Ok(())
}

impl Fold for TableFold {
    fn apply(&mut self, record: &StoredRecord) {
        if let Err(error) = fold(&mut self.table, record) {
            tracing::warn!(position = record.position.0, stream = %record.stream, %error, "event skipped by the session table");
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
        checkpoint_row::FORM
    }

    fn dictionary(&self) -> &'static str {
        checkpoint_row::DICTIONARY
    }

    fn row(&self, stream: &StreamId) -> Option<String> {
        if let Some(id) = stream.session_id() {
            return self.table.get(&id).map(|row| checkpoint_row::session(row));
        }
        if let Some(uuid) = stream.memo_uuid() {
            return self.table.memo_row(uuid).map(|row| checkpoint_row::memo(row));
        }
        let home = self.table.home();
        (stream.is_home() && home.version > SequenceNumber(0)).then(|| checkpoint_row::home(home))
    }

    fn skipped(&self) -> u64 {
        self.table.skipped()
    }

    fn restore(&mut self, stream: &StreamId, row: &str) -> bool {
        match CheckpointRow::read(stream, row) {
            Some(CheckpointRow::Session(id, row)) => self.table.restore(id, *row),
            Some(CheckpointRow::Memo(uuid, row)) => self.table.restore_memo(uuid, row),
            Some(CheckpointRow::Home(row)) => self.table.restore_home(row),
            None => return false,
        }
        true
    }

    fn restored(&mut self, position: Position, skipped: u64) {
        self.table.set_restored(position, skipped);
    }

    fn clear(&mut self) {
        self.table = SessionTable::default();
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Metadata, SequenceNumber, Timestamp};

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

    fn record_in(stream: &str, position: u64, sequence: u64, kind: &str, data: &str) -> StoredRecord {
        StoredRecord { stream: StreamId::recorded(stream), ..record(position, sequence, kind, data) }
    }

    /// The history of a memo with the home's in between.
    fn deletions() -> Vec<StoredRecord> {
        let memo = "memory:00000000-0000-0000-0000-000000000007";
        let words = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
        let added = format!(r#"{{"at":5,"bytes":4,"group":"g","source":"text","words":"{words}"}}"#);
        vec![
            record_in("home", 1, 1, "root_added", r#"{"config_dir":"/c","named_by":"mcp"}"#),
            record_in(memo, 2, 1, "memo_added", &added),
            record_in("home", 3, 2, "group_cleared", r#"{"group":"g","up_to":2}"#),
            record_in(memo, 4, 2, "memo_deleted", "{}"),
            record_in(memo, 5, 3, "memo_added", &added),
            record_in("home", 6, 3, "fact_deleted", r#"{"fact":"00000000-0000-0000-0000-000000000001"}"#),
            record_in("home", 7, 4, "of_a_later_version", "{}"),
        ]
    }

    fn folded(history: &[StoredRecord]) -> TableFold {
        let (mut fold, _) = TableFold::new();
        history.iter().for_each(|record| fold.apply(record));
        fold
    }

    /// The table comes out the same whichever record the row is as of and wherever the checkpoint is.
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
                let table = reader.now();
                let case = format!("row as of {row_as_of}, checkpoint at {checkpoint}");
                assert_eq!(table.state_hash(), whole.table.state_hash(), "{case}");
                assert_eq!((table.position(), table.skipped()), (Position(5), 1), "{case}");
            }
        }
    }

    #[test]
    fn memos_and_the_home_are_put_back_as_well() {
        let history = deletions();
        let whole = folded(&history);
        assert_eq!((whole.table.memos_len(), whole.skipped()), (1, 1));
        for rows_as_of in 2..=history.len() {
            for checkpoint in 2..=rows_as_of {
                let (at_rows, at_checkpoint) = (folded(&history[..rows_as_of]), folded(&history[..checkpoint]));
                let (mut fold, reader) = TableFold::new();
                for stream in [&history[0].stream, &history[1].stream] {
                    assert!(fold.restore(stream, &at_rows.row(stream).expect("a row")));
                }
                fold.restored(Position(checkpoint as u64), at_checkpoint.skipped());
                history[checkpoint..].iter().for_each(|record| fold.apply(record));
                fold.publish(Tail::default());
                let (table, whole) = (reader.now(), &whole.table);
                let case = format!("rows as of {rows_as_of}, checkpoint at {checkpoint}");
                assert_eq!(table.state_hash(), whole.state_hash(), "{case}");
                assert_eq!((table.home(), table.skipped()), (whole.home(), 1), "{case}");
                assert!(table.memos().eq(whole.memos()), "{case}: also where it stands");
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
