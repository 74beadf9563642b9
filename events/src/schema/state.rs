//! Stored shape of a session's state: a row of the session table in a checkpoint and in the [`state_hash`].
//!
//! A checkpoint of another [`VERSION`](crate::projection::table::VERSION) is rebuilt from the log, so there are no
//! older versions of this shape: a change must raise that number.
//!
//! [`state_hash`]: crate::projection::table::SessionTable::state_hash

use serde::Serialize;

use crate::row::Row;
use crate::session::State;
use baton_conversation::record::{Position, SequenceNumber};

/// A row as one line of JSON with a fixed order of fields: lines are equal exactly if the rows are.
pub fn encode(row: &Row) -> String {
    #[derive(Serialize)]
    struct Stored<'a> {
        version: SequenceNumber,
        #[serde(flatten)]
        state: &'a State,
    }
    // A struct of strings and integers always has a JSON form.
    serde_json::to_string(&Stored { version: row.version, state: &row.state }).unwrap_or_default()
}

/// Reads such a line; `None` for anything else.
pub fn decode(line: &str) -> Option<Row> {
    let version = line.strip_prefix("{\"version\":")?.split(',').next()?.parse().ok()?;
    let state = serde_json::from_str(line).ok()?;
    Some(Row { version: SequenceNumber(version), state, since: Position::default() })
}

#[cfg(test)]
mod tests;
