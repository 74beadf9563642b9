//! Notes for people.

use serde::{Deserialize, Serialize};

use super::Problem;

/// Result of `vault/status`, and what `status` says of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vault {
    /// Whether notes are written.
    pub enabled: bool,
    /// `off`; `ready`: every end of a session is in its note; `incomplete`: so it is, but for the notes that `failed` and
    /// `left_alone` name; `writing`: some are being written; `waiting`: the vault takes no writes now, `problem` says why.
    pub state: String,
    /// The vault.
    pub path: String,
    /// The folder in it below which all notes lie.
    pub root: String,
    /// Notes of sessions.
    pub notes: u64,
    /// Of these, those that are not compacted.
    pub active: u64,
    /// Of these, those that are.
    pub archived: u64,
    /// Of these, those whose compaction failed; it is tried again every day.
    pub compaction_failed: u64,
    /// Sessions that are over and whose end is in no note yet.
    pub behind: u64,
    /// Of these, those whose finished notes lie in `vault-pending/`.
    pub pending: u64,
    /// Sessions that were forgotten while their notes could not be reached.
    pub to_remove: u64,
    /// Blocks that a person has changed, and that are theirs since.
    pub conflicts: u64,
    /// Files that are left alone, as a whole or their heads, because they cannot be read as notes, the first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_alone: Vec<VaultFailure>,
    /// Notes whose compaction failed, the first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<VaultFailure>,
    /// Entities that several projects share.
    pub promoted: u64,
    /// How long the last end of a session took to be written, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end_ms: Option<u64>,
    /// When every note was last looked at, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swept_at: Option<String>,
    /// What keeps notes from being written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A note with what went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultFailure {
    /// The note, below the vault.
    pub note: String,
    /// What.
    pub error: String,
}

/// Result of `vault/sync`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultSync {
    /// `success`, or `error` where not everything is in its note.
    pub status: String,
    /// Sessions examined.
    pub sessions: u64,
    /// Of these, those of which a note was written or changed.
    pub written: u64,
    /// Of these, those in which nobody typed anything: they have no note.
    pub without_note: u64,
    /// Files that were written.
    pub files: u64,
    /// Blocks that a person has changed, found this time.
    pub conflicts: u64,
    /// Notes that were compacted.
    pub compacted: u64,
    /// Sessions whose notes wait in `vault-pending/`.
    pub pending: u64,
    /// Sessions that could not be brought into their notes, the first few.
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
    /// `success`, or `error` where one was not compacted that should be.
    pub status: String,
    /// Whether it was only looked.
    pub dry_run: bool,
    /// Notes that are, or would be, compacted.
    pub notes: Vec<VaultCompacted>,
    /// Active notes below the thresholds.
    pub below: u64,
    /// What happened and what to do next.
    pub message: String,
}

/// A note that is compacted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultCompacted {
    /// The session.
    pub session_id: String,
    /// Its note, below the vault.
    pub note: String,
    /// The copy in the archive, below the vault.
    pub archive: String,
    /// Its lines.
    pub lines: u64,
    /// Days since it was created.
    pub days: u64,
    /// Which threshold it exceeds: `lines`, `days`, `lines and days`, `asked`.
    pub reason: String,
    /// Notes that got lines of it, with how many.
    pub updated: Vec<VaultUpdated>,
    /// Why it was not compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// A note that gets lines of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultUpdated {
    /// The note, below the vault.
    pub note: String,
    /// Lines that it gets.
    pub lines: u64,
}

/// Result of `vault/verify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultVerify {
    /// Whether nothing is wrong.
    pub clean: bool,
    /// Notes that were read.
    pub notes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is wrong, the first of it.
    pub findings: Vec<VaultFinding>,
    /// How many findings there are.
    pub found: u64,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Something in a note that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultFinding {
    /// The file, below the vault.
    pub file: String,
    /// The line, from 1; 0 where the whole file is meant.
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
    /// The note, below the vault.
    pub path: String,
    /// What it says, as far as an answer goes.
    pub text: String,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the text ends before it does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
