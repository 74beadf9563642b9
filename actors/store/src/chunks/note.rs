//! Notes: texts stored beside a conversation, or without one, each in a file named by its hash.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use sha2::{Digest, Sha256};

use super::{ChunkStore, Error, Removed, io_error, read_bounded};
use baton_base::durable;

/// Longest note in bytes: the words of the longest memo, with each byte escaped, and some room.
pub(super) const NOTE_MAX_BYTES: u64 = 640 * 1024;

/// Suffix of a note's file name.
const ENDING: &str = ".note";

/// True for a note, also while it is being written: its conversation may be collected meanwhile.
pub(super) fn is_note(name: &str) -> bool {
    let name = name.strip_suffix(durable::BEING_WRITTEN).unwrap_or(name);
    name.ends_with(ENDING)
}

/// The same for a path.
pub(super) fn is_note_at(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(is_note)
}

pub(super) fn file_name(hash: &ContentHash) -> String {
    format!("{hash}{ENDING}")
}

/// The name of the note with this text.
pub fn note_name(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

impl ChunkStore {
    /// Stores a note durably and returns its name. The same text has the same name.
    pub fn put_note(&self, session: &SessionId, text: &str) -> Result<ContentHash, Error> {
        self.check()?;
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let hash = note_name(text);
        let folder = self.folder_of(session);
        let path = folder.join(file_name(&hash));
        durable::make_private_folder(&folder).map_err(io_error("create", &folder))?;
        match self.note(session, &hash) {
            // Its writer may not have synced it, its name or its folder's name.
            Ok(_) => durable::sync_file(&path).map_err(io_error("sync", &path))?,
            Err(_) => durable::write_file(&path, text.as_bytes()).map_err(io_error("write", &path))?,
        }
        durable::sync_folder(&folder).map_err(io_error("sync", &folder))?;
        durable::sync_folder(&self.folder).map_err(io_error("sync", &self.folder))?;
        self.check()?;
        Ok(hash)
    }

    /// Removes everything except the notes `named` from a folder that has only notes, durably; if `named` is empty,
    /// also the folder. A missing folder is no error.
    pub fn keep_notes(&self, owner: &SessionId, named: &BTreeSet<ContentHash>) -> Result<Removed, Error> {
        if named.is_empty() {
            return self.forget(owner);
        }
        let names: BTreeSet<String> = named.iter().map(file_name).collect();
        self.remove(&self.folder_of(owner), |name| !names.contains(name))
    }

    /// The notes in a session's folder, whether they are referred to or not; none without a folder.
    pub fn notes(&self, session: &SessionId) -> Result<Vec<ContentHash>, Error> {
        let hash = |name: &str| ContentHash::parse(name.strip_suffix(ENDING)?);
        let entries = self.entries(&self.folder_of(session))?;
        Ok(entries.iter().filter_map(|entry| hash(entry.file_name().to_str()?)).collect())
    }

    /// Removes notes of a session, durably. Missing ones are no error.
    pub fn remove_notes(&self, session: &SessionId, notes: &[ContentHash]) -> Result<Removed, Error> {
        let names: BTreeSet<String> = notes.iter().map(file_name).collect();
        self.remove(&self.folder_of(session), |name| names.contains(name))
    }

    /// Removes the unfinished notes of killed processes.
    pub fn remove_unfinished_notes(&self, session: &SessionId) -> Result<Removed, Error> {
        let is_unfinished = |name: &str| is_note(name) && name.ends_with(durable::BEING_WRITTEN);
        let _nobody_writes = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        self.remove(&self.folder_of(session), is_unfinished)
    }

    /// The path of a note.
    pub fn note_path(&self, session: &SessionId, hash: &ContentHash) -> PathBuf {
        self.folder_of(session).join(file_name(hash))
    }

    /// Reads and verifies a note.
    pub fn note(&self, session: &SessionId, hash: &ContentHash) -> Result<String, Error> {
        let path = self.note_path(session, hash);
        let bytes = read_bounded(session, &path, NOTE_MAX_BYTES)?;
        let intact = Sha256::digest(&bytes).as_slice() == hash.0;
        let text = String::from_utf8(bytes).ok().filter(|_| intact);
        text.ok_or_else(|| Error::Damaged { path, what: "it does not match its name".to_owned() })
    }
}
