//! Arguments of the calls about notes for people.

use serde::{Deserialize, Serialize};

/// Arguments of `vault/sync`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultSyncParams {
    /// Only sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Arguments of `vault/compact`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultCompactParams {
    /// An id or a unique prefix of one: its note, whatever its size; none: all that are over a threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Look and count only.
    pub dry_run: bool,
}

/// Arguments of `vault/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultReadParams {
    /// Of the note, below the vault or below the folder of notes.
    pub path: String,
}
