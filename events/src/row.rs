//! Rows of the session table: a state and the number of events folded into it.

use serde::{Deserialize, Serialize};

use crate::session::State;
use crate::{home, memo};
use baton_conversation::record::{Position, SequenceNumber};

/// A session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number of events folded into the state.
    pub version: SequenceNumber,
    /// The state after those events.
    pub state: State,
    /// Position at which the content of its episode joined its group.
    pub since: Position,
}

/// A memo's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoRow {
    /// Number of events folded into the state.
    pub version: SequenceNumber,
    /// Position at which its words joined its group.
    pub since: Position,
    /// The state after those events.
    #[serde(flatten)]
    pub state: memo::State,
}

/// The home's row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HomeRow {
    /// Number of events folded into the state.
    pub version: SequenceNumber,
    /// The state after those events.
    #[serde(flatten)]
    pub state: home::State,
}
