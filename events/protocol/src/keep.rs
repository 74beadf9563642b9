//! `keep` and `update`: what a person does now and then for the home and for the program.

use serde::{Deserialize, Serialize};

/// Arguments of `keep`. At least one limit must be given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeepParams {
    /// Conversations without activity since then, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// The oldest conversations, until all take no more bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// True to report what would be freed and change nothing.
    pub dry_run: bool,
}

/// Arguments of `update`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateParams {
    /// The asking program's version.
    pub version: String,
}
