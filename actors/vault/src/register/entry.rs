//! The stored lines of a register.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// What a vault has of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    /// Path of its note, relative to the vault; `None` if it has none, because it has no prompts or is no longer known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Path of the note that it will have, since lines may already link to it: the process may be killed, or the disk
    /// full, before the note is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<String>,
    /// What was written: see [`crate::owed_sessions::stamp`].
    pub(crate) stamp: String,
    /// `active`, `archived` or `compaction_failed`, as in the note.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) status: String,
    /// Why it could not be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Why its note was left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<String>,
    /// True if its note was removed; it is then written again on request only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removed: bool,
    /// Hashes of its blocks, which identify the note without its head: [`baton_notes::forget::fingerprints`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) prints: BTreeSet<String>,
    /// The [`name_print`] of its note's name, if it was forgotten while the folder of notes was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) called: Option<String>,
    /// Id of that folder of notes; another folder in its place does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    /// True if it was forgotten while nobody knew where its folder of notes was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lost: bool,
    /// True if lines of it in notes of all projects may have been removed together with a forgotten session whose note
    /// had the same name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lacks: bool,
    /// Fingerprint of its latest archive copy, which is unedited as long as it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<String>,
    /// Its entities that have no note, each with the line that it would have there; the note is created once another
    /// session has the entity.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) without_note: BTreeMap<Uuid, String>,
    /// The rule of the time zone of its dates, chosen with its name; absent for UTC, as earlier versions wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
}

impl Entry {
    /// The note that lines link to: the one that it has or will have.
    pub(crate) fn linked_note(&self) -> Option<&str> {
        self.note.as_deref().or(self.begun.as_deref())
    }

    /// Makes its notes owed, even if they were left alone.
    pub(crate) fn try_again(&mut self) {
        self.stamp.clear();
        self.left = None;
    }

    /// True if it is of a forgotten session and only serves to find its notes once their folder returns.
    pub(crate) fn is_sealed(&self) -> bool {
        self.called.is_some() && self.linked_note().is_none()
    }

    /// True if it applies to the folder of notes with this id: a sealed entry applies to one folder.
    pub(crate) fn applies_to(&self, id: Option<&str>) -> bool {
        !self.is_sealed() || self.folder.is_none() || self.folder.as_deref() == id
    }

    /// True if it was forgotten while nobody knew where this folder of notes was.
    pub(crate) fn is_lost_from(&self, id: &str) -> bool {
        self.lost && self.folder.as_deref() == Some(id)
    }
}

/// A hash that identifies a name without revealing it.
pub(crate) fn name_print(name: &str) -> String {
    Sha256::digest(name.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Vault {
        format: u32,
        path: Option<PathBuf>,
        root: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    Session {
        id: String,
        entry: Option<Box<Entry>>,
    },
    Project {
        path: String,
        folder: String,
    },
    Swept {
        at: i64,
    },
}
