//! Arguments of the calls about a day, projects and what is around a thing.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `today`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TodayParams {
    /// Only this project: a directory, or a name that fits one. Absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most entries of each list; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `project`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectParams {
    /// A directory, or a name that fits one project. Absent for the caller's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most entries of each list; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `projects`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectsParams {
    /// Most projects; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `graph`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphParams {
    /// What the graph is around: a uuid, the name of an entity, or words that find one. Empty for the best-supported facts.
    pub about: String,
    /// Only facts that held then: a time or a day, whose end is meant. Absent for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Only facts of this project; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}
