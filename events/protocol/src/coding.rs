//! Arguments of the questions about what was tried.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `how`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HowParams {
    /// A program, with or without a subcommand, or a whole line.
    pub command: String,
    /// Only this project; none: the caller's own if it was run there, else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many lines; 0: as many as are usual.
    pub limit: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Who asks.
    pub caller: Caller,
}

/// Arguments of `fix`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixParams {
    /// Any text of the failure: a line, or a whole output.
    pub error: String,
    /// Only this project; none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many failures; 0: as many as are usual.
    pub limit: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Who asks.
    pub caller: Caller,
}

/// Arguments of `blame`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlameParams {
    /// A path, or the end of one.
    pub path: String,
    /// Only this project; none: all, the caller's own first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many sessions; 0: as many as are usual.
    pub limit: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Who asks.
    pub caller: Caller,
}

/// Arguments of `patterns`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatternsParams {
    /// Only this project; none: the caller's own if anything is known of it, else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many of each kind; 0: as many as are usual.
    pub limit: u32,
    /// Draw the sequences, too: `mermaid` or `dot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Who asks.
    pub caller: Caller,
}
