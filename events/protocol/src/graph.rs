//! Arguments of the calls that search the graph.

use serde::{Deserialize, Serialize};

use super::{Caller, default_limit};

/// Arguments of `nodes`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodesParams {
    /// The query text.
    pub query: String,
    /// Only results supported by sessions of these groups; empty for all.
    pub groups: Vec<String>,
    /// Most entries to return.
    pub limit: u32,
    /// A node; results near it rank first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<String>,
    /// Only nodes with one of these labels; empty for all.
    pub labels: Vec<String>,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The `next_cursor` of the previous answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The caller.
    pub caller: Caller,
}

impl Default for NodesParams {
    fn default() -> Self {
        Self {
            query: String::new(),
            groups: Vec::new(),
            limit: default_limit(),
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
    /// The query text.
    pub query: String,
    /// Only results supported by sessions of these groups; empty for all.
    pub groups: Vec<String>,
    /// Most entries to return.
    pub limit: u32,
    /// A node whose facts rank first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<String>,
    /// Only facts with these relation names; empty for all.
    pub relations: Vec<String>,
    /// Only facts that became valid in this period.
    #[serde(skip_serializing_if = "During::is_open")]
    pub valid: During,
    /// Only facts that ceased to be valid in this period.
    #[serde(skip_serializing_if = "During::is_open")]
    pub invalid: During,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The `next_cursor` of the previous answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The caller.
    pub caller: Caller,
}

impl Default for FactsParams {
    fn default() -> Self {
        Self {
            query: String::new(),
            groups: Vec::new(),
            limit: default_limit(),
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

/// A period, both ends included, as RFC 3339 times. A date means its midnight in the asker's time zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct During {
    /// Start of the period; absent for no start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// End of the period; absent for no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl During {
    /// True if the period excludes nothing.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }
}
