//! The lines of a register.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// A session as a vault has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    /// Its note, below the vault; `None`: it has none, for nobody typed anything in it, or because it is not known any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The note that it is to have, since the first of its lines may stand somewhere: whoever writes may be killed, or find the
    /// disk full, before the note itself is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<String>,
    /// What was brought in: [`crate::owed_sessions::stamp`].
    pub(crate) stamp: String,
    /// `active`, `archived`, `compaction_failed`, as the note says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) status: String,
    /// Why it could not be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Why its note is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<String>,
    /// Whether somebody has removed its note: it is not written again unasked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removed: bool,
    /// By what its note is known when its head is gone: [`baton_notes::forget::prints`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) prints: BTreeSet<String>,
    /// The [`name_print`] of what its note was called, where it was forgotten while the place was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) called: Option<String>,
    /// What the folder of notes was known by that it was forgotten for while that was not there: another one in its place is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    /// Whether it was forgotten while nobody knew where its folder of notes is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lost: bool,
    /// Whether lines of it in notes of all projects may have gone with a session whose note was called the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lacks: bool,
    /// By what the copy of its note that was last put into the archive is known: in that one nobody has written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<String>,
    /// Entities of it that have no note, with the line that it would have there: another session makes one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) without_note: BTreeMap<Uuid, String>,
}

impl Entry {
    /// The note by which lines name the session: the one that it has, or is to have.
    pub(crate) fn named(&self) -> Option<&str> {
        self.note.as_deref().or(self.begun.as_deref())
    }

    /// Whether it says of a forgotten session only what it takes to find its notes once their place is back.
    pub(crate) fn is_sealed(&self) -> bool {
        self.called.is_some() && self.named().is_none()
    }

    /// Whether it tells of a folder of notes that is known by an id: what is sealed is of one alone.
    pub(crate) fn is_for(&self, id: Option<&str>) -> bool {
        !self.is_sealed() || self.folder.is_none() || self.folder.as_deref() == id
    }

    /// Whether it was forgotten while nobody knew where this folder of notes is.
    pub(crate) fn is_lost_from(&self, id: &str) -> bool {
        self.lost && self.folder.as_deref() == Some(id)
    }
}

/// What tells a name from others without saying it.
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
