//! What comes of adding to the memory and of taking away from it. Names follow Graphiti's MCP server.

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
    /// The episode that supports it.
    pub episode_uuid: String,
    /// Its two ends.
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
    /// What was found.
    pub message: String,
    /// What the episodes name.
    pub nodes: Vec<Node>,
    /// What they say of it.
    pub edges: Vec<Edge>,
    /// Whether there is more than fits an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A fact between two nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Edge {
    /// The fact.
    pub uuid: String,
    /// What is between them.
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
pub struct Taken {
    /// The outcome in words.
    pub message: String,
}

/// Result of `clear_graph`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClearGraph {
    /// What went, or would go.
    pub message: String,
    /// The groups; empty for all.
    pub group_ids: Vec<String>,
    /// Episodes of sessions.
    pub sessions: u64,
    /// What was added.
    pub notes: u64,
    /// Whether it was done.
    pub cleared: bool,
}

/// Result of `get_status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryStatus {
    /// `ok` or `error`.
    pub status: String,
    /// In a sentence.
    pub message: String,
    /// Sessions with an episode.
    pub episodes: u64,
    /// What was added and stands.
    pub notes: u64,
    /// Entries of the search index.
    pub documents: u64,
    /// Events that the memory has still to take in.
    pub lag: u64,
}
