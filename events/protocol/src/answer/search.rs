//! What a search finds.

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Search {
    /// Ordered by session rank, best turns inside.
    pub hits: Vec<Hit>,
    /// How fresh the answer is.
    pub freshness: Freshness,
    /// What of the query was taken in another way than it may have been meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One place that fits the query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hit {
    /// The session's rank, from 1.
    pub rank: u32,
    /// The session's score for `episode`, the turn's for `turn`; 1 is the best of this query.
    pub score: f32,
    /// `episode` or `turn`.
    pub kind: String,
    /// The session.
    pub session_id: String,
    /// Its current episode.
    pub episode_uuid: String,
    /// The project's directory.
    pub project: Option<String>,
    /// The session's title.
    pub title: String,
    /// The passage that fits, one line; ` · model` behind what only a model says.
    pub snippet: String,
    /// Transcript line, from 1; `null` for an episode.
    pub line: Option<u64>,
    /// RFC 3339 UTC.
    pub timestamp: Option<String>,
    /// Who speaks, for a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// For a subagent's session, the session that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Why it is here: `text` (words of the passage), `phrase`, `file` (a file's name in it), `error` (a failure's line or
    /// code), `context` (only what stands beside it), `title`, `episode`, `entity` (a thing of that name that the session has
    /// to do with), `vector`; of a session that only filters found, the names of the filters.
    pub matched: Vec<String>,
    /// Of something that was added and no session said: `text`, `json`, `message` or `triplet`; `session_id` is then
    /// `memory:<uuid>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `model` where the passage holds anything that only a model says of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}
