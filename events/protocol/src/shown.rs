//! Arguments of what is shown of one session.

use serde::{Deserialize, Serialize};

/// Arguments of `show`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowParams {
    /// An id or a unique prefix of one.
    pub session: String,
}

/// Arguments of `session/messages`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesParams {
    /// An id or a unique prefix of one.
    pub session: String,
    /// Only messages that begin at this line of the transcript or after it.
    #[serde(default)]
    pub from: u64,
    /// How many; at most 500. As many as fit if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Instead of `from` and `limit`: the message that holds this line of the transcript, with those around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<u64>,
    /// With `around`: how many messages on either side; at most 50.
    #[serde(default)]
    pub context: u32,
}

/// Arguments of `get_passage`.
#[derive(Clone, Debug, Default)]
pub struct PassageParams {
    /// An id of a session or a unique prefix of one, the uuid of its current episode, or what names a note.
    pub session: String,
    /// A line of its transcript.
    pub line: u32,
    /// How many messages on either side at most; at most 50.
    pub context: u32,
    /// How many tokens the answer may have.
    pub budget_tokens: u32,
}

/// Arguments of `session/explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainParams {
    /// An id or a unique prefix of one.
    pub session: String,
    /// Only events after this sequence.
    #[serde(default)]
    pub after: u64,
}

/// Arguments of `ids/short`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortIdsParams {
    /// Whole ids of sessions, and keys of notes as hits give them.
    pub ids: Vec<String>,
}
