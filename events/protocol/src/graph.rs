//! Arguments of the calls that search the graph.

use serde::{Deserialize, Serialize};

use super::{Caller, ten};

/// Arguments of `nodes`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodesParams {
    /// The words.
    pub query: String,
    /// Only what sessions of these groups support; none: all.
    pub groups: Vec<String>,
    /// How many.
    pub limit: u32,
    /// A node to which the nearest rank first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<String>,
    /// Only nodes with one of these labels; none: all.
    pub labels: Vec<String>,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Where to go on, as the answer before this one said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

impl Default for NodesParams {
    fn default() -> Self {
        Self {
            query: String::new(),
            groups: Vec::new(),
            limit: ten(),
            center: None,
            labels: Vec::new(),
            wait: false,
            cursor: None,
            caller: Caller::default(),
        }
    }
}

/// Arguments of `facts`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactsParams {
    /// The words.
    pub query: String,
    /// Only what sessions of these groups support; none: all.
    pub groups: Vec<String>,
    /// How many.
    pub limit: u32,
    /// A node whose facts rank first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<String>,
    /// Only facts of these relations, by name; none: all.
    pub relations: Vec<String>,
    /// Only facts that began to hold in this time.
    #[serde(skip_serializing_if = "During::is_open")]
    pub valid: During,
    /// Only facts that ceased to hold in this time.
    #[serde(skip_serializing_if = "During::is_open")]
    pub invalid: During,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Where to go on, as the answer before this one said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

impl Default for FactsParams {
    fn default() -> Self {
        Self {
            query: String::new(),
            groups: Vec::new(),
            limit: ten(),
            center: None,
            relations: Vec::new(),
            valid: During::default(),
            invalid: During::default(),
            wait: false,
            cursor: None,
            caller: Caller::default(),
        }
    }
}

/// A stretch of time, both ends included: RFC 3339, or a date, which is its midnight UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct During {
    /// From then on; none: from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Until then; none: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl During {
    /// Whether it leaves nothing out.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }
}
