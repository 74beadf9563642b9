//! What is added to the memory, and what is taken away from it.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `memory/add`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddMemoryParams {
    /// What it is called.
    pub name: String,
    /// What is to be remembered.
    pub episode_body: String,
    /// The group; `None`: the caller's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// `text`, `json` or `message`; `None`: text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_description: Option<String>,
    /// The uuid; `None`: the one that its words give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// When it was so, RFC 3339; `None`: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_time: Option<String>,
    /// Names of arguments that were given and are of no use here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Who asks.
    pub caller: Caller,
    /// The request, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `add_triplet`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddTripletParams {
    /// Who or what.
    pub source_node_name: String,
    /// What is between them.
    pub edge_name: String,
    /// The fact in a sentence.
    pub fact: String,
    /// Whom or what.
    pub target_node_name: String,
    /// The group; `None`: the caller's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Names of arguments that were given and are of no use here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Who asks.
    pub caller: Caller,
    /// The request, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// Arguments of `get_episode_entities`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeEntitiesParams {
    /// Of which episodes.
    pub episode_uuids: Vec<String>,
}

/// Arguments of whatever concerns one episode or fact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UuidParams {
    /// Its uuid.
    pub uuid: String,
    /// The request, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}

/// What is to be cleared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClearGraphParams {
    /// Which groups; none: all.
    pub groups: Vec<String>,
    /// Whether to do it; else only to tell what would go.
    pub confirm: bool,
    /// The request, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}
