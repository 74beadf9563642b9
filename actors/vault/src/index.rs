//! Which names notes have: what a vault holds, so that a note is found again under the name that it was given, or that a
//! person gave it, and no name is given twice.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::SessionId;
use baton_notes::facts::Entity;
use baton_notes::layout::{Layout, Place as Lies};
use baton_notes::{EntityNote, EntityNotes, knowledge, markdown, name, session, start, verify};

/// Longest name and path that are compared, in characters: as the heads of notes have them.
const NAME_CHARS: usize = 160;
/// See [`NAME_CHARS`].
const PATH_CHARS: usize = 400;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The note of each session that is not a copy in the archive, below the vault.
    sessions: BTreeMap<String, String>,
    /// Names of notes of sessions, by [`name::key`]: links name them alone.
    names: BTreeSet<String>,
    /// The note of each entity: project's folder, kind and name.
    entities: BTreeMap<(String, String, String), String>,
    /// Names of notes of entities, by folder and key.
    taken: BTreeSet<(String, String)>,
    /// Folders of projects by key, with the directory that the project's page names.
    projects: BTreeMap<String, (String, Option<String>)>,
    /// Entities that are shared, with the names of their notes.
    shared: BTreeMap<(String, String), String>,
    /// Notes in which people have taken over blocks, with how many.
    conflicts: BTreeMap<String, u64>,
    /// Copies in the archive that are called like their notes, as they were once.
    copies_before: BTreeSet<String>,
    /// Notes whose heads cannot be read, with why.
    odd: BTreeMap<String, String>,
}

impl Index {
    /// Takes in a note.
    pub(super) fn take(&mut self, path: &str, text: &str, layout: &Layout) {
        match baton_notes::conflicts(text) as u64 {
            0 => drop(self.conflicts.remove(path)),
            count => drop(self.conflicts.insert(path.to_owned(), count)),
        }
        self.note_head(path, text);
        match layout.place(path) {
            Some(Lies::Archived(project, name)) => {
                self.project(&project);
                self.names.insert(name::key(&name));
                if layout.archived_before(&project, &name) == path {
                    self.copies_before.insert(path.to_owned());
                }
            }
            Some(Lies::Entity(project, file)) => {
                self.project(&project);
                self.taken.insert((project.clone(), name::key(&file)));
                if let Some(entity) = knowledge::entity(text) {
                    let plain = name::safe(&entity.name);
                    prefer(&mut self.entities, (project, entity.kind, entity.name), file, &plain);
                }
            }
            Some(Lies::Shared(file)) => {
                if let Some(entity) = knowledge::entity(text) {
                    let plain = name::safe(&entity.name);
                    prefer(&mut self.shared, (entity.kind, entity.name), file, &plain);
                }
            }
            Some(Lies::Project(folder)) => {
                let directory = start::project_path(text);
                self.projects.insert(name::key(&folder), (folder, directory));
            }
            Some(Lies::Session(project, name)) => {
                self.project(&project);
                self.names.insert(name::key(&name));
                self.session(path, text);
            }
            // A person may have put it into another folder.
            None => {
                self.session(path, text);
                self.elsewhere(path, text, layout);
            }
            Some(Lies::Topic(..)) => self.elsewhere(path, text, layout),
            Some(Lies::Start | Lies::Preferences) => {}
        }
    }

    /// Takes in the note of an entity that lies in another folder than Baton puts it.
    fn elsewhere(&mut self, path: &str, text: &str, layout: &Layout) {
        let (Some(entity), Some(file)) = (knowledge::entity(text), layout.elsewhere(path)) else { return };
        match entity.project.is_empty() {
            true => prefer(&mut self.shared, (entity.kind, entity.name), file, ""),
            false => prefer(&mut self.entities, (entity.project, entity.kind, entity.name), file, ""),
        }
    }

    /// The notes of entities, with what these were called `before`.
    pub(super) fn noted(&self, before: &Former) -> EntityNotes {
        let of_projects = self.entities.iter().map(|(key, file)| EntityNote {
            project: Some(key.0.clone()),
            kind: key.1.clone(),
            name: key.2.clone(),
            file: file.clone(),
            before: before.entities.get(key).cloned(),
        });
        let shared = self.shared.iter().map(|(key, file)| EntityNote {
            project: None,
            kind: key.0.clone(),
            name: key.1.clone(),
            file: file.clone(),
            before: before.shared.get(key).cloned(),
        });
        EntityNotes::new(of_projects.chain(shared))
    }

    /// What the notes of entities are called, to be remembered when the vault is gone through again.
    pub(super) fn into_former(self) -> Former {
        Former { entities: self.entities, shared: self.shared }
    }

    /// Notes in which people, or programs, have changed blocks.
    pub(super) fn changed(&self) -> impl Iterator<Item = &str> {
        self.conflicts.keys().map(String::as_str)
    }

    /// Takes in whether the head of a note can be read.
    pub(super) fn note_head(&mut self, path: &str, text: &str) {
        match verify::head(text) {
            Some(finding) => drop(self.odd.insert(path.to_owned(), finding)),
            None => drop(self.odd.remove(path)),
        }
    }

    /// Copies in the archive that are called like their notes, of sessions whose notes are still there: a link may mean either.
    pub(super) fn copies_before(&self) -> Vec<String> {
        let there: BTreeSet<&str> = self.sessions.values().filter_map(|path| stem(path)).collect();
        self.copies_before.iter().filter(|path| stem(path).is_some_and(|name| there.contains(name))).cloned().collect()
    }

    /// Notes whose heads cannot be read, with why.
    pub(super) fn odd(&self) -> impl Iterator<Item = (&str, &str)> {
        self.odd.iter().map(|(path, why)| (path.as_str(), why.as_str()))
    }

    /// Blocks and keys that people have taken over.
    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.values().sum()
    }

    /// Those of one note.
    pub(super) fn conflicts_of(&self, path: &str) -> u64 {
        self.conflicts.get(path).copied().unwrap_or(0)
    }

    fn project(&mut self, folder: &str) {
        self.projects.entry(name::key(folder)).or_insert_with(|| (folder.to_owned(), None));
    }

    fn session(&mut self, path: &str, text: &str) {
        let Some(identity) = session::identity(text) else { return };
        if let Some(name) = stem(path) {
            self.names.insert(name::key(name));
        }
        // Where somebody has changed the list it is found by the register alone: it may be that of another session, which has its own.
        if let Some(id) = identity.own.filter(|_| identity.is_sure) {
            prefer(&mut self.sessions, id, path.to_owned(), "");
        }
    }

    /// Where the note of a session lies.
    pub(super) fn note(&self, id: &SessionId) -> Option<&str> {
        self.sessions.get(id.as_str()).map(String::as_str)
    }

    /// Whether the note of a session is called so, by its [`name::key`].
    pub(super) fn is_session(&self, key: &str) -> bool {
        self.names.contains(key)
    }

    /// Takes a name for a session's note.
    pub(super) fn name_session(&mut self, name: &str) {
        self.names.insert(name::key(name));
    }

    /// What the note of an entity is called in a project.
    pub(super) fn entity(&self, project: &str, entity: &Entity) -> Option<String> {
        let name = markdown::property(&entity.name, NAME_CHARS);
        self.entities.get(&(project.to_owned(), entity.label.as_str().to_owned(), name)).cloned()
    }

    /// Whether a note of an entity is called so in a project.
    pub(super) fn is_entity(&self, project: &str, key: &str) -> bool {
        self.taken.contains(&(project.to_owned(), key.to_owned()))
    }

    /// The project's folder whose page names this directory.
    pub(super) fn folder_of(&self, directory: &str) -> Option<&str> {
        let directory = markdown::property(directory, PATH_CHARS);
        let of_it = |(_, named): &&(String, Option<String>)| named.as_deref() == Some(&directory);
        self.projects.values().find(of_it).map(|(folder, _)| folder.as_str())
    }

    /// Whether a project has a folder of this key.
    pub(super) fn is_project(&self, key: &str) -> bool {
        self.projects.contains_key(key)
    }

    /// Entities of all projects: folder, kind and name, and what the note is called.
    pub(super) fn entities(&self) -> impl Iterator<Item = ((&str, &str, &str), &str)> {
        self.entities
            .iter()
            .map(|((project, kind, name), file)| ((project.as_str(), kind.as_str(), name.as_str()), file.as_str()))
    }

    /// The note that projects share of an entity.
    pub(super) fn shared(&self, kind: &str, name: &str) -> Option<&str> {
        let name = markdown::property(name, NAME_CHARS);
        self.shared.get(&(kind.to_owned(), name)).map(String::as_str)
    }

    /// Whether a shared note is called so.
    pub(super) fn is_shared(&self, key: &str) -> bool {
        self.shared.values().any(|file| name::key(file) == key)
    }

    /// How many entities are shared.
    pub(super) fn shared_count(&self) -> u64 {
        self.shared.len() as u64
    }
}

/// What the notes of entities were called.
#[derive(Debug, Default)]
pub(super) struct Former {
    entities: BTreeMap<(String, String, String), String>,
    shared: BTreeMap<(String, String), String>,
}

impl Former {
    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }
}

/// Takes in what the note of something is called. One in its own folder comes before one that lies elsewhere (`/…`). Of two that say the same of themselves one is a copy, which a program that
/// carries notes about has made of a conflict, or a person: the one that is called `plain` is none, nor is the shorter one.
fn prefer<K: Ord>(notes: &mut BTreeMap<K, String>, key: K, file: String, plain: &str) {
    let is_elsewhere = |file: &str| file.starts_with('/');
    match notes.get(&key) {
        Some(known) if is_elsewhere(known) && !is_elsewhere(&file) => drop(notes.insert(key, file)),
        Some(known) if !is_elsewhere(known) && is_elsewhere(&file) => {}
        Some(known) if known == plain || (file != plain && known.len() <= file.len()) => {}
        _ => drop(notes.insert(key, file)),
    }
}

/// The name of a note, by which links lead to it.
pub(super) fn stem(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.strip_suffix(".md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_says_the_same_of_itself_is_not_the_note() {
        let layout = Layout::below("claude").unwrap();
        let entity = "---\ntype: entity\nkind: File\nentity: Cache\nproject: web\n---\n";
        let session = "---\ntype: session\nsession_ids:\n  - s-1\n---\n";
        let of_file = |name: &str| format!("claude/projects/web/entities/{name}.md");
        let of_session = |name: &str| format!("claude/projects/web/sessions/{name}.md");
        let conflict = "sync-conflict-20260314-101010-ABCDEFG";
        for (files, expected) in [
            (["Cache".to_owned(), format!("Cache.{conflict}")], "Cache"),
            (["Cache-2".to_owned(), format!("Cache-2.{conflict}")], "Cache-2"),
            (["Another name".to_owned(), "Cache".to_owned()], "Cache"),
        ] {
            for order in [[0, 1], [1, 0]] {
                let mut index = Index::default();
                for at in order {
                    index.take(&of_file(&files[at]), entity, &layout);
                    index.take(&of_session(&files[at]), session, &layout);
                }
                let named: Vec<&str> = index.entities().map(|(_, file)| file).collect();
                assert_eq!(named, [expected], "{files:?} {order:?}");
            }
        }
        let mut index = Index::default();
        for name in [format!("a.{conflict}"), "a".to_owned(), format!("a.{conflict}-2")] {
            index.take(&of_session(&name), session, &layout);
        }
        assert_eq!(index.note(&SessionId::new("s-1").unwrap()), Some(of_session("a").as_str()));
    }
}
