//! Arguments of the calls about one session.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `show`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowParams {
    /// A session id or a unique prefix of one.
    pub session: String,
}

/// Arguments of `session/messages`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesParams {
    /// A session id or a unique prefix of one.
    pub session: String,
    /// Only messages that start at or after this line of the transcript.
    #[serde(default)]
    pub from: u64,
    /// Most messages; at most 500. Absent for as many as fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Instead of `from` and `limit`: the message that contains this line of the transcript, with its neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<u64>,
    /// With `around`: messages on either side; at most 50.
    #[serde(default)]
    pub context: u32,
    /// True to index what is new first, as a search does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// Arguments of `get_passage`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassageParams {
    /// A session id or a unique prefix of one, the uuid of its current episode, or the name of a note.
    pub session: String,
    /// A line of its transcript.
    pub line: u32,
    /// Most messages on either side; at most 50.
    pub context: u32,
    /// Most tokens of the answer.
    pub budget_tokens: u32,
}

/// Arguments of `session/explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainParams {
    /// A session id or a unique prefix of one, or a note's uuid. Without it, the session that `caller` identifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only events after this sequence.
    #[serde(default)]
    pub after: u64,
    /// The caller.
    #[serde(default)]
    pub caller: Caller,
}

/// Arguments of `ids/short`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortIdsParams {
    /// Full session ids, and keys of notes as search hits contain them.
    pub ids: Vec<String>,
}
