//! Rows of the session table: a state with how many events are folded into it.

use crate::session::State;
use crate::{home, memo};
use baton_conversation::record::{Position, SequenceNumber};

/// One session as the table knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: State,
    /// The position at which the content of its episode came into its group.
    pub since: Position,
}

/// One memo as the table knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoRow {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: memo::State,
    /// The position at which its words came into its group.
    pub since: Position,
}

/// The home as the table knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HomeRow {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: home::State,
}
