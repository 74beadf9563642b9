//! Where the notes of sessions are, and the links to them.

use baton_conversation::record::SessionId;
use baton_notes::{forget, name, relink_session};

use super::OpenVault;
use crate::index::stem;
use crate::vault_fs::{Refused, of_file};

/// Folders of session notes and of their archive copies within a project's folder.
const SESSIONS: [&str; 2] = ["sessions", "archive/sessions"];

/// Where the note of a session is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The session never had one.
    None,
    /// At this path.
    At(String),
    /// It was removed from this path.
    Removed(String),
}

impl OpenVault {
    /// True if a session's note or archive copy in any project has this name now: another home may have written it
    /// since the last walk. `key` is the [`name::key`] of a name that begins with a day.
    pub(crate) fn is_name_in_use(&self, key: &str) -> bool {
        const DAY: usize = 10;
        let projects = self.vault_fs.notes_folder().join("projects");
        let names = |folder: std::path::PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_it = |entry: std::fs::DirEntry| {
            let file = entry.file_name();
            let Some(name) = file.to_str().and_then(stem) else { return false };
            name.as_bytes().get(..DAY) == key.as_bytes().get(..DAY) && name::key(name) == key
        };
        let mut folders = names(projects)
            .flat_map(|entry| SESSIONS.map(|below| entry.path().join(below)))
            .collect::<Vec<_>>()
            .into_iter();
        folders.any(|folder| names(folder).any(is_it))
    }

    /// Finds the note of a session. If it is not where it was, walks the vault again, for a person may have moved it.
    pub(crate) fn find_note(&mut self, id: &SessionId) -> Result<Note, Refused> {
        match self.known_note(id)? {
            Note::Removed(_) => {
                self.refresh_index()?;
                self.known_note(id)
            }
            note => Ok(note),
        }
    }

    /// The same without walking the vault again.
    pub(crate) fn known_note(&mut self, id: &SessionId) -> Result<Note, Refused> {
        let named = self.index()?.session_note(id).map(str::to_owned);
        let known = self.register.get(id).and_then(|entry| entry.note.clone());
        let Some(path) = known.or_else(|| named.clone()) else { return Ok(Note::None) };
        if self.has_file(&path)? {
            return Ok(Note::At(path));
        }
        match named {
            Some(moved) if moved != path && self.has_file(&moved)? => Ok(Note::At(moved)),
            _ => Ok(Note::Removed(path)),
        }
    }

    /// Updates links to a session's note if a person has renamed it since it was written. Returns true if so.
    pub(crate) fn relink_session_note(&mut self, id: &SessionId, path: &str) -> Result<bool, Refused> {
        let Some(before) = self.register.get(id).and_then(|entry| entry.note.clone()) else { return Ok(false) };
        let (Some(from), Some(to)) = (stem(&before), stem(path)) else { return Ok(false) };
        if from == to {
            return Ok(false);
        }
        let (link, other, tag) = (format!("[[{from}"), format!("[[{to}"), forget::target_tag(from));
        for note in self.vault_fs.list_notes()?.0 {
            // A note that is a person's or being written keeps its links.
            let _ = of_file(self.edit(&note, &mut |text| {
                let has_tag = |text: &str| forget::remembered_tags(text).contains(&tag);
                let text = text.filter(|text| text.contains(&link) || text.contains(&other) || has_tag(text))?;
                relink_session(text, from, to)
            }))?;
        }
        Ok(true)
    }

    fn has_file(&self, path: &str) -> Result<bool, Refused> {
        Ok(of_file(self.read_text(path))?.map_or(true, |text| text.is_some()))
    }
}
