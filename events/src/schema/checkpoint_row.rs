//! Rows of the session table in a checkpoint, for all kinds of streams.
//!
//! A checkpoint of another [`FORM`] is rebuilt from the log, so there are no older versions of these shapes: a change
//! must raise that number.

use uuid::Uuid;

use super::state;
use crate::row::{HomeRow, MemoRow, Row};
use baton_conversation::record::{Position, SequenceNumber, SessionId, StreamId};

/// Version of the rows' shapes.
pub const FORM: u32 = 7;

/// A text like a row, against which rows are compressed: a row is too short to be compressed on its own. A change must
/// raise [`FORM`].
pub const DICTIONARY: &str = include_str!("checkpoint_row/dictionary.txt");

/// A row with its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointRow {
    /// A session's row.
    Session(SessionId, Box<Row>),
    /// A memo's row.
    Memo(Uuid, MemoRow),
    /// The home's row.
    Home(HomeRow),
}

impl CheckpointRow {
    /// Number of the last event of its stream that is folded in.
    pub fn version(&self) -> SequenceNumber {
        match self {
            Self::Session(_, row) => row.version,
            Self::Memo(_, row) => row.version,
            Self::Home(row) => row.version,
        }
    }

    /// Reads a stream's row; `None` if it is not valid.
    pub fn read(stream: &StreamId, text: &str) -> Option<Self> {
        if let Some(id) = stream.session_id() {
            return read_session(text).map(|row| Self::Session(id, Box::new(row)));
        }
        if let Some(uuid) = stream.memo_uuid() {
            return serde_json::from_str(text).ok().map(|row| Self::Memo(uuid, row));
        }
        if stream.is_home() { serde_json::from_str(text).ok().map(Self::Home) } else { None }
    }
}

/// A session's row, after the position at which its content joined its group: `17 {…}`.
pub fn session(row: &Row) -> String {
    format!("{} {}", row.since.0, state::encode(row))
}

fn read_session(text: &str) -> Option<Row> {
    let (since, row) = text.split_once(' ')?;
    Some(Row { since: Position(since.parse().ok()?), ..state::decode(row)? })
}

/// A memo's row as text.
pub fn memo(row: &MemoRow) -> String {
    serde_json::to_string(row).unwrap_or_default()
}

/// A home's row as text.
pub fn home(row: &HomeRow) -> String {
    serde_json::to_string(row).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::NamedRoot;
    use crate::memo::{Memo, Source};
    use crate::session::State;
    use crate::{home, memo};
    use baton_conversation::hash::ContentHash;
    use baton_conversation::record::Timestamp;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_dictionary_changes_with_the_form_only() {
        let digest = ContentHash(Sha256::digest(DICTIONARY).into());
        assert_eq!((FORM, digest.short().as_str()), (7, "41000027d35e7424"));
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let since = Position(17);
        let row = Row { version: SequenceNumber(3), state: State::default(), since };
        let id = SessionId::new("a").unwrap();
        let read = |stream: &str, text: &str| CheckpointRow::read(&StreamId::recorded(stream), text);
        assert_eq!(read("session:a", &session(&row)), Some(CheckpointRow::Session(id, Box::new(row))));

        let memo = Memo {
            source: Source::Triplet,
            group: "g \"1\"".to_owned(),
            words: ContentHash([7; 32]),
            bytes: 5,
            reference_time: Some(Timestamp(-1)),
            at: Timestamp(9),
        };
        let uuid = Uuid::from_u128(5);
        let stream = StreamId::memo(uuid);
        for memo in [Some(memo), None] {
            let state = memo::State { memo, created_at: Some(Timestamp(8)) };
            let row = MemoRow { version: SequenceNumber(2), state, since };
            let kept = CheckpointRow::read(&stream, &super::memo(&row)).unwrap();
            assert_eq!((kept.version(), kept), (SequenceNumber(2), CheckpointRow::Memo(uuid, row)));
        }

        let root = NamedRoot { config_dir: "/c".to_owned(), named_by: "mcp".to_owned() };
        let state = home::State {
            roots: vec![root],
            cleared_all: Position(4),
            cleared: [("g".to_owned(), Position(6))].into(),
            deleted_facts: [uuid].into(),
            recalled: [(Uuid::max(), [3].into()), (uuid, [0, u64::MAX].into())].into_iter().collect(),
            model_since: Some(Timestamp(7)),
        };
        for state in [state, home::State::default()] {
            let row = HomeRow { version: SequenceNumber(1), state };
            assert_eq!(read("home", &home(&row)), Some(CheckpointRow::Home(row)));
        }
        for (stream, text) in
            [("session:a", "{}"), ("session:a", "x {}"), ("home", "{}"), ("home", "17 {}"), ("elsewhere", "{}")]
        {
            assert_eq!(read(stream, text), None, "{stream} {text}");
        }
        assert_eq!(CheckpointRow::read(&stream, r#"{"version":1,"since":1,"memo":{}}"#), None);
    }

    /// A home at all its bounds still fits a checkpoint.
    #[test]
    fn the_largest_home_fits_a_checkpoint() {
        let names = (0..home::CLEARED_MAX).map(|number| format!("{number:04}{}", "\u{1}".repeat(60)));
        let deleted_facts = (0..home::DELETED_FACTS_MAX as u128).map(Uuid::from_u128).collect();
        let state = home::State {
            cleared: names.map(|name| (name, Position(u64::MAX))).collect(),
            deleted_facts,
            recalled: (0..home::RECALLS_MAX as u128).map(|at| (Uuid::from_u128(at), [u64::MAX].into())).collect(),
            ..home::State::default()
        };
        assert!(home::clear(&state, &["0000".to_owned()], Position(1)).is_err(), "it is full");
        let row = home(&HomeRow { version: SequenceNumber(1), state });
        assert!(row.len() < 256 * 1024, "{}", row.len());
    }
}
