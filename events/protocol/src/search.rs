//! Arguments of `search`.

use serde::{Deserialize, Serialize};

use super::{Caller, ten};

/// Arguments of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchParams {
    /// The words.
    pub query: String,
    /// A directory, or a name that fits exactly one project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many sessions to answer with.
    #[serde(default = "ten")]
    pub limit: u32,
    /// How many turns of each; three unless told, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Whether to wait until all history is read.
    #[serde(default)]
    pub wait: bool,
    /// Who asks.
    #[serde(default)]
    pub caller: Caller,
}
