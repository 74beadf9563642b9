//! Arguments of the queries about earlier attempts.

use serde::{Deserialize, Serialize};

use super::{Agent, Caller};

/// Arguments of `how`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HowParams {
    /// A program, with or without a subcommand, a whole command line, or words for what is to be run.
    pub command: String,
    /// Only this project. Absent for the caller's own if the command was run there, else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most lines; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `fix`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixParams {
    /// Any text of the failure: one line, or a whole output.
    pub error: String,
    /// Only this project; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most failures; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `blame`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlameParams {
    /// A path, or the end of one.
    pub path: String,
    /// Only this project. Absent for all, the caller's own first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Most sessions; 0 for the usual number.
    pub limit: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}

/// Arguments of `patterns`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatternsParams {
    /// Only this project. Absent for the caller's own if anything is known of it, else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Most entries of each kind; 0 for the usual number.
    pub limit: u32,
    /// Also return the sequences as a graph: `mermaid` or `dot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// True to get the sequences of two steps, whether or not longer ones contain them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pairs: bool,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The caller.
    pub caller: Caller,
}
