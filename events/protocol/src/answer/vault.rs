//! Results about the vault.

use serde::{Deserialize, Serialize};

use super::Problem;

/// Result of `vault/status`, and the state of the vault in `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vault {
    /// True if notes are written.
    pub enabled: bool,
    /// `off`; `ready`: every session end is in its note; `incomplete`: likewise, except for the notes in `failed` and
    /// `left_alone`; `writing`: notes are being written; `waiting`: the vault cannot be written now, for the reason in
    /// `problem`.
    pub state: String,
    /// The vault.
    pub path: String,
    /// The folder in it that contains all notes.
    pub root: String,
    /// Notes of sessions.
    pub notes: u64,
    /// Of these, the ones not compacted.
    pub active: u64,
    /// Of these, the compacted ones.
    pub archived: u64,
    /// Of these, the ones whose compaction failed. It is retried daily.
    pub compaction_failed: u64,
    /// Ended sessions whose end is in no note yet.
    pub behind: u64,
    /// Of these, the ones whose finished notes are in `vault-pending/`.
    pub pending: u64,
    /// Sessions forgotten while their notes were out of reach.
    pub to_remove: u64,
    /// Blocks changed by a person, which Baton leaves to them since.
    pub conflicts: u64,
    /// The first few files that are left alone, as a whole or only their heads, because they cannot be read as notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_alone: Vec<VaultFailure>,
    /// The first few notes whose compaction failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<VaultFailure>,
    /// Entities shared by several projects.
    pub promoted: u64,
    /// How long writing the last session end took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end_ms: Option<u64>,
    /// When all notes were last checked, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swept_at: Option<String>,
    /// What prevents notes from being written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A note and its error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultFailure {
    /// The note, relative to the vault.
    pub note: String,
    /// The error.
    pub error: String,
}

/// Result of `vault/sync`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultSync {
    /// `success`, or `error` if not everything is in its note.
    pub status: String,
    /// Sessions examined.
    pub sessions: u64,
    /// Of these, sessions with a written or changed note.
    pub written: u64,
    /// Of these, sessions without a typed prompt, which have no note.
    pub without_note: u64,
    /// Files written.
    pub files: u64,
    /// Blocks found changed by a person this time.
    pub conflicts: u64,
    /// Notes compacted.
    pub compacted: u64,
    /// Sessions whose notes wait in `vault-pending/`.
    pub pending: u64,
    /// The first few sessions whose notes could not be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// What happened and what to do next.
    pub message: String,
}

/// Result of `vault/compact`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultCompact {
    /// `success`, or `error` if a note could not be compacted.
    pub status: String,
    /// True if nothing was changed.
    pub dry_run: bool,
    /// Notes that are or would be compacted.
    pub notes: Vec<VaultCompacted>,
    /// Active notes below the thresholds.
    pub below: u64,
    /// What happened and what to do next.
    pub message: String,
}

/// A compacted note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultCompacted {
    /// The session.
    pub session_id: String,
    /// Its note, relative to the vault.
    pub note: String,
    /// The copy in the archive, relative to the vault.
    pub archive: String,
    /// Number of its lines.
    pub lines: u64,
    /// Days since it was created.
    pub days: u64,
    /// The threshold it exceeds: `lines`, `days`, `lines and days`, `asked`.
    pub reason: String,
    /// Notes that received lines of it.
    pub updated: Vec<VaultUpdated>,
    /// Why it was not compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// A note that received lines of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultUpdated {
    /// The note, relative to the vault.
    pub note: String,
    /// Number of lines received.
    pub lines: u64,
}

/// Result of `vault/verify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultVerify {
    /// True if nothing is wrong.
    pub clean: bool,
    /// Notes read.
    pub notes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first findings.
    pub findings: Vec<VaultFinding>,
    /// Number of findings.
    pub found: u64,
    /// Duration in seconds.
    pub seconds: f64,
}

/// A problem in a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultFinding {
    /// The file, relative to the vault.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u64,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub fix: String,
}

/// Result of `vault/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultRead {
    /// The note, relative to the vault.
    pub path: String,
    /// Its text, up to the limit of an answer.
    pub text: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// True if the text is truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
