//! The calls of a session, one by one, with what is needed to subtract them from its counts: calls that a fork copied
//! count in the original only.

use serde::{Deserialize, Serialize};

use super::{Ended, Tally};
use baton_protocol::is_zero;

/// A session's first calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calls {
    /// Names of the steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// First 64 bits of a digest of its record's id, its own id and its time, so a copy in another file has the same. 0
    /// if unknown.
    #[serde(rename = "m")]
    pub mark: u64,
    /// Transcript line of its result.
    #[serde(rename = "l")]
    pub line: u64,
    /// Number of the typed prompt that it belongs to.
    #[serde(rename = "r", skip_serializing_if = "is_zero")]
    pub round: u32,
    /// Its step in a sequence: an index into [`Calls::names`].
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// How that step ended.
    #[serde(rename = "e")]
    pub ended: Ended,
    /// What it did to a file, if anything.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    pub touch: Option<Touch>,
    /// What it is counted in: index of the command, index of that command's line if it is kept, and how.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<(u32, Option<u32>, Kind)>,
}

/// What a call did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Touch {
    /// It changed the file.
    #[serde(rename = "c")]
    Change,
    /// It read the file.
    #[serde(rename = "r")]
    Read,
}

/// How a run is counted: a field of [`Tally`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// See [`Tally::ok`].
    #[serde(rename = "o")]
    Ok,
    /// See [`Tally::failed`].
    #[serde(rename = "f")]
    Failed,
    /// See [`Tally::shared_ok`].
    #[serde(rename = "so")]
    SharedOk,
    /// See [`Tally::shared_failed`].
    #[serde(rename = "sf")]
    SharedFailed,
    /// See [`Tally::piped_ok`].
    #[serde(rename = "po")]
    PipedOk,
    /// See [`Tally::piped_failed`].
    #[serde(rename = "pf")]
    PipedFailed,
    /// See [`Tally::denied`].
    #[serde(rename = "d")]
    Denied,
    /// See [`Tally::interrupted`].
    #[serde(rename = "i")]
    Interrupted,
    /// See [`Tally::unknown`].
    #[serde(rename = "u")]
    Unknown,
}

impl Tally {
    /// A tally of one run.
    pub fn one(kind: Kind) -> Self {
        let mut tally = Self::default();
        *tally.count(kind) = 1;
        tally
    }

    /// Subtracts one run of this kind.
    pub fn subtract(&mut self, kind: Kind) {
        let count = self.count(kind);
        *count = count.saturating_sub(1);
    }

    fn count(&mut self, kind: Kind) -> &mut u32 {
        match kind {
            Kind::Ok => &mut self.ok,
            Kind::Failed => &mut self.failed,
            Kind::SharedOk => &mut self.shared_ok,
            Kind::SharedFailed => &mut self.shared_failed,
            Kind::PipedOk => &mut self.piped_ok,
            Kind::PipedFailed => &mut self.piped_failed,
            Kind::Denied => &mut self.denied,
            Kind::Interrupted => &mut self.interrupted,
            Kind::Unknown => &mut self.unknown,
        }
    }
}
