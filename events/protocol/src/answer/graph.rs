//! Results about entities and the facts between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `nodes`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Nodes {
    /// A summary in words.
    pub message: String,
    /// Best first.
    pub nodes: Vec<Node>,
    /// How fresh the answer is.
    pub freshness: Freshness,
    /// Pass it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its uuid. The same entity of the same group always has the same one.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// `Entity` and its kind.
    pub labels: Vec<String>,
    /// When it was first stored, RFC 3339 UTC.
    pub created_at: Option<String>,
    /// A summary in one line.
    pub summary: Option<String>,
    /// The group.
    pub group_id: String,
    /// Counts, dates and sessions.
    pub attributes: BTreeMap<String, serde_json::Value>,
}

/// Result of `facts`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// A summary in words.
    pub message: String,
    /// Best first.
    pub facts: Vec<Fact>,
    /// How fresh the answer is.
    pub freshness: Freshness,
    /// Pass it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A relation between two entities. Times are RFC 3339 UTC.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Fact {
    /// Its uuid. The same fact of the same group always has the same one.
    pub uuid: String,
    /// The group.
    pub group_id: String,
    /// Its source node.
    pub source_node_uuid: String,
    /// Its target node.
    pub target_node_uuid: String,
    /// When it was first stored.
    pub created_at: Option<String>,
    /// The name of the relation.
    pub name: String,
    /// The fact in a sentence.
    pub fact: String,
    /// The episodes that support it.
    pub episodes: Vec<String>,
    /// When its contradiction was stored.
    pub expired_at: Option<String>,
    /// When it became valid.
    pub valid_at: Option<String>,
    /// When it ceased to be valid.
    pub invalid_at: Option<String>,
    /// End of the newest session that supports it.
    pub reference_time: Option<String>,
    /// Counts, sessions and lines.
    pub attributes: BTreeMap<String, serde_json::Value>,
}
