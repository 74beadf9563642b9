//! Arguments of `search`.

use serde::{Deserialize, Serialize};

use super::{Caller, default_limit};

/// Arguments of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchParams {
    /// The query text.
    pub query: String,
    /// A directory, or a name that matches exactly one project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most sessions to return.
    #[serde(default = "default_limit")]
    pub limit: u32,
    /// Most turns per session; three by default, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// True to wait until all history is read.
    #[serde(default)]
    pub wait: bool,
    /// True to answer at once from what is indexed: nothing is read first, no model is asked, nothing is recorded. For
    /// questions that are still being typed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// The caller.
    #[serde(default)]
    pub caller: Caller,
}
