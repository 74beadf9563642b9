//! What was written into a vault: one line for each session and project; the last line of each counts.
//!
//! The register is a cache and not the truth. Without it every session is written again, which changes nothing, and
//! notes are found by their heads.

mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use baton_conversation::record::SessionId;
use baton_notes::name;
use baton_redaction::redact;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::index::stem;
use baton_base::durable;
use baton_base::transcript_file;
use baton_config::settings;
use entry::Line;
pub(super) use entry::{Entry, name_print};

/// The folder in the home, with a register for each vault that it ever had.
pub(super) const FOLDER: &str = "vault-register";
/// Version of the line format.
const FORMAT: u32 = 1;
/// Number of lines beyond twice the live ones at which the file is rewritten.
const SLACK: usize = 200;
/// Largest register that is read: about a million sessions.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The register of one vault; see the module documentation.
#[derive(Debug)]
pub(super) struct Register {
    file: PathBuf,
    /// The vault's path; `None` for the home's own.
    pub(super) path: Option<PathBuf>,
    pub(super) root: String,
    /// Id of the folder of notes; see [`super::vault_fs::VaultFs::ensure_id`].
    id: Option<String>,
    entries: BTreeMap<SessionId, Entry>,
    /// Project folders by redacted directory, since a directory's name may contain a secret. Directories that look the
    /// same once redacted share a folder.
    projects: BTreeMap<String, String>,
    swept: Option<i64>,
    /// Number of lines in the file.
    lines: usize,
    /// Lines not in the file yet.
    unwritten: Vec<String>,
    /// Sessions whose entries have changed since [`Register::take_touched`].
    touched: BTreeSet<SessionId>,
    /// Entities without a note, with the sessions that have them.
    without_note: BTreeMap<Uuid, BTreeSet<SessionId>>,
}

impl Register {
    /// Opens the register of the configured vault. Blocks for a read.
    pub(super) fn open(home: &Path, settings: &settings::Vault) -> io::Result<Self> {
        let mut hash = Sha256::new();
        hash.update(settings.path.as_ref().map(|path| path.as_os_str().as_encoded_bytes()).unwrap_or_default());
        hash.update([0]);
        hash.update(settings.root.as_bytes());
        let name: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let file = home.join(FOLDER).join(format!("{name}.jsonl"));
        Self::read(file, settings.path.clone(), settings.root.clone())
    }

    /// Returns the registers of all vaults that a home ever had, and why others are unreadable.
    pub(super) fn open_all(home: &Path) -> (Vec<Self>, Vec<String>) {
        let entries = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        let (mut registers, mut unread) = (Vec::new(), Vec::new());
        for file in files {
            let shown = file.display().to_string();
            match Self::open_file(file) {
                Ok(register) => registers.push(register),
                Err(error) => unread.push(format!("{shown} cannot be read: {error}")),
            }
        }
        (registers, unread)
    }

    /// Opens a register by its file; the first line names its vault.
    fn open_file(file: PathBuf) -> io::Result<Self> {
        let bytes = transcript_file::read(&file, MAX_BYTES)?;
        let head = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice(head) {
            Ok(Line::Vault { path, root, .. }) => Self::read(file, path, root),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "its first line names no vault")),
        }
    }

    fn read(file: PathBuf, path: Option<PathBuf>, root: String) -> io::Result<Self> {
        let mut register = Self {
            file,
            path,
            root,
            id: None,
            entries: BTreeMap::new(),
            projects: BTreeMap::new(),
            swept: None,
            lines: 0,
            unwritten: Vec::new(),
            touched: BTreeSet::new(),
            without_note: BTreeMap::new(),
        };
        let bytes = match transcript_file::read(&register.file, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        // Earlier versions did not redact directories.
        let mut is_raw = false;
        // A line torn by a crash is ignored: its session is written again.
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            register.lines += 1;
            match serde_json::from_slice(line) {
                Ok(Line::Session { id, entry }) => {
                    let Some(id) = SessionId::new(&id) else { continue };
                    match entry {
                        Some(entry) => register.insert(&id, *entry),
                        None => drop(register.take(&id)),
                    }
                }
                Ok(Line::Project { path, folder }) => {
                    let redacted = redact(&path).into_owned();
                    is_raw |= redacted != path;
                    register.projects.insert(redacted, folder);
                }
                Ok(Line::Swept { at }) => register.swept = Some(at),
                Ok(Line::Vault { id, .. }) => register.id = id,
                Err(_) => {}
            }
        }
        // Keep the next line apart from a torn one.
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            register.unwritten.push(String::new());
        }
        if is_raw {
            register.rewrite()?;
        }
        Ok(register)
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<&Entry> {
        self.entries.get(id)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&SessionId, &Entry)> {
        self.entries.iter()
    }

    /// True if the note of another session than `than` had this name at some time, as [`name::key`]: links may still
    /// use it.
    pub(super) fn is_name_in_use(&self, key: &str, than: &SessionId) -> bool {
        const DAY: usize = 10;
        let is_it = |name: &str| name.as_bytes().get(..DAY) == key.as_bytes().get(..DAY) && name::key(name) == key;
        let mut others = self.entries.iter().filter(|(id, _)| *id != than).filter_map(|(_, entry)| entry.linked_note());
        others.any(|note| stem(note).is_some_and(is_it))
    }

    /// Sessions with notes that were left alone.
    pub(super) fn left_alone(&self) -> impl Iterator<Item = &SessionId> {
        self.entries.iter().filter(|(_, entry)| entry.left.is_some()).map(|(id, _)| id)
    }

    /// Id of the folder of notes.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The register's file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Stores the id of the folder of notes.
    pub(super) fn set_id(&mut self, id: &str) -> io::Result<()> {
        if self.id.as_deref() == Some(id) {
            return Ok(());
        }
        self.id = Some(id.to_owned());
        self.rewrite()
    }

    /// True if anything is known to have been written in the vault.
    pub(super) fn had_notes(&self) -> bool {
        self.entries.values().any(|entry| entry.linked_note().is_some() || entry.is_sealed())
    }

    /// True if forgotten sessions are remembered until their folder returns.
    pub(super) fn has_sealed(&self) -> bool {
        self.entries.values().any(Entry::is_sealed)
    }

    /// Reduces the entries of forgotten sessions to what finds their notes once the folder of notes returns; no line of
    /// the file names the sessions or their notes when this returns. `lost` is true if nobody knows where the folder
    /// is; see [`Register::mark_removed`].
    pub(super) fn seal(&mut self, sessions: &[SessionId], lost: bool) -> io::Result<()> {
        let mut is_any = false;
        for id in sessions {
            if self.entries.get(id).is_none_or(Entry::is_sealed) {
                continue;
            }
            let Some(entry) = self.take(id) else { continue };
            is_any = true;
            let called = entry.linked_note().and_then(stem).map(name_print).or(entry.called);
            if called.is_some() {
                let (prints, folder) = (entry.prints, self.id.clone());
                self.insert(id, Entry { called, prints, folder, lost, ..Entry::default() });
            }
        }
        if is_any { self.rewrite() } else { Ok(()) }
    }

    /// Records that forgotten sessions were removed from the folder of notes with this id.
    pub(super) fn mark_removed(&mut self, sessions: &[SessionId], id: &str) -> io::Result<()> {
        let mut is_any = false;
        for session in sessions {
            if let Some(entry) = self.entries.get_mut(session).filter(|entry| entry.is_lost_from(id)) {
                entry.lost = false;
                is_any = true;
            }
        }
        if is_any { self.rewrite() } else { Ok(()) }
    }

    /// Removes the register of a vault that never had a note.
    pub(super) fn remove(self) -> io::Result<()> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => durable::sync_parent(&self.file),
        }
    }

    /// True if notes were written that nobody has removed.
    pub(super) fn has_notes(&self) -> bool {
        self.entries.values().any(|entry| entry.note.is_some() && !entry.removed)
    }

    /// Records which note a session will have, and the zone of its dates, before any line links to it. This survives a kill of the process.
    /// Earlier unsaved lines are not written, because what they describe may not have survived a power cut.
    pub(super) fn begin_note(&mut self, id: &SessionId, note: &str, zone: Option<String>) -> io::Result<()> {
        let known = self.entries.get(id).cloned().unwrap_or_default();
        if known.linked_note() == Some(note) {
            return Ok(());
        }
        let entry = Entry { begun: Some(note.to_owned()), stamp: String::new(), zone, ..known };
        let line = Line::Session { id: id.to_string(), entry: Some(Box::new(entry.clone())) };
        self.insert(id, entry);
        if self.lines == 0 {
            return self.rewrite();
        }
        let torn = if self.unwritten.first().is_some_and(String::is_empty) { "\n" } else { "" };
        let text = format!("{torn}{}\n", serde_json::to_string(&line)?);
        OpenOptions::new().append(true).open(&self.file)?.write_all(text.as_bytes())?;
        self.lines += 1;
        Ok(())
    }

    pub(super) fn put(&mut self, id: &SessionId, entry: Entry) {
        if self.entries.get(id) == Some(&entry) {
            return;
        }
        self.add_line(&Line::Session { id: id.to_string(), entry: Some(Box::new(entry.clone())) });
        self.insert(id, entry);
    }

    /// Changes the entry of a session, if there is one.
    pub(super) fn update(&mut self, id: &SessionId, change: impl FnOnce(&mut Entry)) {
        if let Some(mut entry) = self.entries.get(id).cloned() {
            change(&mut entry);
            self.put(id, entry);
        }
    }

    /// Makes the notes of sessions owed.
    pub(super) fn mark_owed<'a>(&mut self, ids: impl IntoIterator<Item = &'a SessionId>) {
        ids.into_iter().for_each(|id| self.update(id, |entry| entry.stamp.clear()));
    }

    fn insert(&mut self, id: &SessionId, entry: Entry) {
        self.take(id);
        for entity in entry.without_note.keys() {
            self.without_note.entry(*entity).or_default().insert(id.clone());
        }
        self.entries.insert(id.clone(), entry);
        self.touched.insert(id.clone());
    }

    /// Removes the entry of a session.
    fn take(&mut self, id: &SessionId) -> Option<Entry> {
        let entry = self.entries.remove(id)?;
        for entity in entry.without_note.keys() {
            if let Some(sessions) = self.without_note.get_mut(entity) {
                sessions.remove(id);
                if sessions.is_empty() {
                    self.without_note.remove(entity);
                }
            }
        }
        self.touched.insert(id.clone());
        Some(entry)
    }

    /// Other sessions that have an entity without a note: the path of each one's note, and its line for the entity.
    pub(super) fn others_with(&self, entity: &Uuid, id: &SessionId) -> Vec<(&str, &str)> {
        let sessions = self.without_note.get(entity).into_iter().flatten().filter(|other| *other != id);
        let line = |other: &SessionId| {
            let entry = self.entries.get(other).filter(|entry| !entry.removed)?;
            Some((entry.note.as_deref()?, entry.without_note.get(entity)?.as_str()))
        };
        sessions.filter_map(line).collect()
    }

    /// Returns the sessions whose entries have changed since the last call.
    pub(super) fn take_touched(&mut self) -> BTreeSet<SessionId> {
        std::mem::take(&mut self.touched)
    }

    /// The folder of a project, if it has one.
    pub(super) fn folder(&self, project: &str) -> Option<&str> {
        self.projects.get(&*redact(project)).map(String::as_str)
    }

    /// Redacted directories of projects and their folders.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&str, &str)> {
        self.projects.iter().map(|(path, folder)| (path.as_str(), folder.as_str()))
    }

    pub(super) fn put_folder(&mut self, project: &str, folder: &str) {
        let path = redact(project).into_owned();
        self.add_line(&Line::Project { path: path.clone(), folder: folder.to_owned() });
        self.projects.insert(path, folder.to_owned());
    }

    /// Time of the last sweep over all notes, in milliseconds since 1970.
    pub(super) fn swept_at(&self) -> Option<i64> {
        self.swept
    }

    pub(super) fn set_swept_at(&mut self, at: i64) {
        self.swept = Some(at);
        self.add_line(&Line::Swept { at });
    }

    fn add_line(&mut self, line: &Line) {
        // Serialising these types cannot fail.
        self.unwritten.extend(serde_json::to_string(line).ok());
    }

    /// Writes changes durably.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let live = self.entries.len() + self.projects.len();
        if self.lines == 0 || self.lines + self.unwritten.len() > 2 * live + SLACK {
            return self.rewrite();
        }
        let mut text = self.unwritten.join("\n");
        text.push('\n');
        let mut file = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.lines += self.unwritten.len();
        self.unwritten.clear();
        Ok(())
    }

    /// Removes sessions: no line of the file names them or their notes when this returns.
    pub(super) fn forget<'a>(&mut self, sessions: impl IntoIterator<Item = &'a SessionId>) -> io::Result<()> {
        let mut is_any = false;
        for id in sessions {
            is_any |= self.take(id).is_some();
        }
        if is_any { self.rewrite() } else { self.save() }
    }

    /// Rewrites the file with live lines only.
    pub(super) fn rewrite(&mut self) -> io::Result<()> {
        let (path, root, id) = (self.path.clone(), self.root.clone(), self.id.clone());
        let head = Line::Vault { format: FORMAT, path, root, id };
        let projects =
            self.projects.iter().map(|(path, folder)| Line::Project { path: path.clone(), folder: folder.clone() });
        let sessions = self
            .entries
            .iter()
            .map(|(id, entry)| Line::Session { id: id.to_string(), entry: Some(Box::new(entry.clone())) });
        let (mut text, mut lines) = (String::new(), 0);
        for line in std::iter::once(head).chain(self.swept.map(|at| Line::Swept { at })).chain(projects).chain(sessions)
        {
            text += &serde_json::to_string(&line)?;
            text.push('\n');
            lines += 1;
        }
        if let Some(folder) = self.file.parent() {
            durable::create_private_folder(folder)?;
        }
        durable::write_file(&self.file, text.as_bytes())?;
        durable::sync_parent(&self.file)?;
        (self.lines, self.unwritten) = (lines, Vec::new());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
