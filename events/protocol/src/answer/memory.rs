//! Results of the calls that add to the memory and delete from it. Names follow Graphiti's MCP server.

use serde::{Deserialize, Serialize};

use super::Node;

/// Result of `add_memory`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AddMemory {
    /// The outcome in words.
    pub message: String,
    /// The episode.
    pub episode_uuid: String,
    /// Its name.
    pub name: String,
    /// The group it is in.
    pub group_id: String,
    /// `added`, `replaced` or `unchanged`.
    pub status: String,
    /// Names of arguments that were given but have no effect here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// Result of `add_triplet`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AddTriplet {
    /// The outcome in words.
    pub message: String,
    /// The supporting episode.
    pub episode_uuid: String,
    /// Its two nodes.
    pub nodes: Vec<Node>,
    /// The fact.
    pub edges: Vec<Edge>,
    /// Names of arguments that were given but have no effect here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// Result of `get_episode_entities`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeEntities {
    /// A summary in words.
    pub message: String,
    /// The entities named by the episodes.
    pub nodes: Vec<Node>,
    /// The facts they support.
    pub edges: Vec<Edge>,
    /// True if not everything fits into the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A fact between two nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Edge {
    /// The fact.
    pub uuid: String,
    /// The name of the relation.
    pub name: String,
    /// The fact in a sentence.
    pub fact: String,
    /// Its source node.
    pub source_node_uuid: String,
    /// Its target node.
    pub target_node_uuid: String,
    /// The group.
    pub group_id: String,
    /// RFC 3339 UTC.
    pub created_at: Option<String>,
    /// RFC 3339 UTC.
    pub valid_at: Option<String>,
    /// RFC 3339 UTC.
    pub invalid_at: Option<String>,
}

/// Result of `delete_episode` and `delete_entity_edge`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deleted {
    /// The outcome in words.
    pub message: String,
}

/// Result of `clear_graph`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClearGraph {
    /// What was or would be cleared.
    pub message: String,
    /// The groups; empty for all.
    pub group_ids: Vec<String>,
    /// Number of sessions' episodes.
    pub sessions: u64,
    /// Number of added notes and facts.
    pub notes: u64,
    /// True if it was cleared.
    pub cleared: bool,
}

/// Result of `get_status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryStatus {
    /// `ok` or `error`.
    pub status: String,
    /// A summary in one sentence.
    pub message: String,
    /// Number of sessions with an episode.
    pub episodes: u64,
    /// Number of added notes and facts that are not deleted.
    pub notes: u64,
    /// Number of entries of the search index.
    pub documents: u64,
    /// Number of events that the memory has still to apply.
    pub lag: u64,
}
