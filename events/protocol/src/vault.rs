//! Arguments of the calls about the vault.

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
    /// A session id or a unique prefix of one: its note, whatever its size. Absent for all notes over a threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// Arguments of `vault/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultReadParams {
    /// Path of the note, relative to the vault or to its folder of notes.
    pub path: String,
}
