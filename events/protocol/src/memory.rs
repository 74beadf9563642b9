//! Arguments of the calls that add to the memory and delete from it.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `memory/add`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddMemoryParams {
    /// Its name.
    pub name: String,
    /// The content.
    pub episode_body: String,
    /// The group; `None` for the caller's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// `text`, `json` or `message`; `None` for text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A description of its origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_description: Option<String>,
    /// The uuid; `None` to derive it from the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The time it refers to, RFC 3339; `None` for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_time: Option<String>,
    /// Names of arguments that were given but have no effect here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// The caller.
    pub caller: Caller,
    /// Id of the request, recorded as the cause of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `add_triplet`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddTripletParams {
    /// Name of the source node.
    pub source_node_name: String,
    /// Name of the relation.
    pub edge_name: String,
    /// The fact in a sentence.
    pub fact: String,
    /// Name of the target node.
    pub target_node_name: String,
    /// The group; `None` for the caller's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Names of arguments that were given but have no effect here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// The caller.
    pub caller: Caller,
    /// Id of the request, recorded as the cause of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `get_episode_entities`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeEntitiesParams {
    /// The episodes.
    pub episode_uuids: Vec<String>,
}

/// Arguments of the calls about one episode or fact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UuidParams {
    /// Its uuid.
    pub uuid: String,
    /// Id of the request, recorded as the cause of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `clear_graph`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClearGraphParams {
    /// The groups; empty for all.
    pub groups: Vec<String>,
    /// True to clear; else only report what would be cleared.
    pub confirm: bool,
    /// Id of the request, recorded as the cause of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}
