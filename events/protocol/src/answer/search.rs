//! Result of `search`.

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Search {
    /// Ordered by the rank of their sessions, best turns first within each.
    pub hits: Vec<Hit>,
    /// How fresh the answer is.
    pub freshness: Freshness,
    /// Remarks on how the query was understood, if that may differ from what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A match.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hit {
    /// The session's rank, from 1.
    pub rank: u32,
    /// The score of the session for `episode`, of the turn for `turn`. The best of this query has 1.
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
    /// The matching passage in one line, followed by ` · model` if only a model says it.
    pub snippet: String,
    /// Transcript line, from 1; `null` for an episode.
    pub line: Option<u64>,
    /// RFC 3339 UTC.
    pub timestamp: Option<String>,
    /// The speaker, for a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// For a subagent's session, the session that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Why it matched: `text` (words of the passage), `phrase`, `file` (a file name in it), `error` (the line or code
    /// of a failure), `context` (only its surroundings), `title`, `episode`, `entity` (an entity of that name related
    /// to the session), `vector`. For a session found by filters alone, the names of the filters.
    pub matched: Vec<String>,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<super::Author>,
    /// For a note or fact added by hand: `text`, `json`, `message` or `triplet`. `session_id` is then `memory:<uuid>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The command line that goes on with the session in its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// `model` if the passage contains anything that only a model says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}
