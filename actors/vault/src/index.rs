//! The names in use in a vault, so that a note is found under the name that Baton or a person gave it, and no name is
//! given twice.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::SessionId;
use baton_notes::facts::Entity;
use baton_notes::layout::{Layout, NoteRole};
use baton_notes::{EntityNote, EntityNotes, knowledge, markdown, name, session, start, verify};

/// Longest name that is compared, in characters; the heads of notes cut names at the same length.
const NAME_CHARS: usize = 160;
/// Likewise for paths.
const PATH_CHARS: usize = 400;

/// An entity: project folder, which is empty if projects share it, kind and name.
type EntityKey = (String, String, String);

/// Names that the notes of entities had before the last pass.
pub(super) type FormerNames = BTreeMap<EntityKey, String>;

/// The names in a vault; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The note of each session, relative to the vault; archive copies do not count.
    sessions: BTreeMap<String, String>,
    /// Names of session notes, as [`name::key`]: links consist of the name alone.
    session_names: BTreeSet<String>,
    /// The note of each entity.
    entities: BTreeMap<EntityKey, String>,
    /// Names of entity notes, by project folder and key.
    entity_names: BTreeSet<(String, String)>,
    /// Project folders by key, each with the directory that the project's page names.
    projects: BTreeMap<String, (String, Option<String>)>,
    /// Number of blocks that people have taken over, by note.
    conflicts: BTreeMap<String, u64>,
    /// Archive copies that have the same name as their note, as earlier versions named them.
    ambiguous_copies: BTreeSet<String>,
    /// Notes whose heads are unreadable, with the reason.
    unreadable_heads: BTreeMap<String, String>,
}

impl Index {
    /// Adds or updates a note.
    pub(super) fn add(&mut self, path: &str, text: &str, layout: &Layout) {
        match baton_notes::conflicts(text) as u64 {
            0 => drop(self.conflicts.remove(path)),
            count => drop(self.conflicts.insert(path.to_owned(), count)),
        }
        self.record_head(path, text);
        match layout.role(path) {
            Some(NoteRole::Archived(project, name)) => {
                self.add_project(&project);
                self.session_names.insert(name::key(&name));
                if layout.archived_before(&project, &name) == path {
                    self.ambiguous_copies.insert(path.to_owned());
                }
            }
            Some(NoteRole::Entity(project, file)) => {
                self.add_project(&project);
                self.entity_names.insert((project.clone(), name::key(&file)));
                self.add_entity(text, project, file);
            }
            Some(NoteRole::Shared(file)) => self.add_entity(text, String::new(), file),
            Some(NoteRole::Project(folder)) => {
                let directory = start::project_path(text);
                self.projects.insert(name::key(&folder), (folder, directory));
            }
            Some(NoteRole::Session(project, name)) => {
                self.add_project(&project);
                self.session_names.insert(name::key(&name));
                self.add_session(path, text);
            }
            // A person may have moved it to another folder.
            None => {
                self.add_session(path, text);
                self.add_moved_entity(path, text, layout);
            }
            Some(NoteRole::Topic(..)) => self.add_moved_entity(path, text, layout),
            Some(NoteRole::Start | NoteRole::Preferences) => {}
        }
    }

    fn add_entity(&mut self, text: &str, project: String, file: String) {
        if let Some(entity) = knowledge::entity(text) {
            let plain = name::safe_file_name(&entity.name);
            insert_preferred(&mut self.entities, (project, entity.kind, entity.name), file, &plain);
        }
    }

    /// Adds an entity's note that lies outside the folder for such notes.
    fn add_moved_entity(&mut self, path: &str, text: &str, layout: &Layout) {
        let (Some(entity), Some(file)) = (knowledge::entity(text), layout.moved_name(path)) else { return };
        insert_preferred(&mut self.entities, (entity.project, entity.kind, entity.name), file, "");
    }

    /// Returns the notes of entities, with the names that they had `before`.
    pub(super) fn entity_notes(&self, before: &FormerNames) -> EntityNotes {
        EntityNotes::new(self.entities.iter().map(|(key, file)| EntityNote {
            project: Some(key.0.clone()).filter(|project| !project.is_empty()),
            kind: key.1.clone(),
            name: key.2.clone(),
            file: file.clone(),
            before: before.get(key).cloned(),
        }))
    }

    /// Keeps the names of entity notes for the next pass over the vault.
    pub(super) fn into_former(self) -> FormerNames {
        self.entities
    }

    /// Notes in which people or programs have changed blocks.
    pub(super) fn notes_with_conflicts(&self) -> impl Iterator<Item = &str> {
        self.conflicts.keys().map(String::as_str)
    }

    /// Records whether the head of a note is readable.
    pub(super) fn record_head(&mut self, path: &str, text: &str) {
        match verify::header_defect(text) {
            Some(finding) => drop(self.unreadable_heads.insert(path.to_owned(), finding)),
            None => drop(self.unreadable_heads.remove(path)),
        }
    }

    /// Archive copies that have the same name as a note that still exists, so that a link is ambiguous.
    pub(super) fn ambiguous_copies(&self) -> Vec<String> {
        let there: BTreeSet<&str> = self.sessions.values().filter_map(|path| stem(path)).collect();
        self.ambiguous_copies
            .iter()
            .filter(|path| stem(path).is_some_and(|name| there.contains(name)))
            .cloned()
            .collect()
    }

    /// Notes whose heads are unreadable, with the reason.
    pub(super) fn unreadable_heads(&self) -> impl Iterator<Item = (&str, &str)> {
        self.unreadable_heads.iter().map(|(path, why)| (path.as_str(), why.as_str()))
    }

    /// Number of blocks and keys that people have taken over.
    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.values().sum()
    }

    /// The same for one note.
    pub(super) fn conflicts_of(&self, path: &str) -> u64 {
        self.conflicts.get(path).copied().unwrap_or(0)
    }

    fn add_project(&mut self, folder: &str) {
        self.projects.entry(name::key(folder)).or_insert_with(|| (folder.to_owned(), None));
    }

    fn add_session(&mut self, path: &str, text: &str) {
        let Some(identity) = session::identity(text) else { return };
        if let Some(name) = stem(path) {
            self.session_names.insert(name::key(name));
        }
        // A note with an edited list of sessions is found by the register alone: it may be of another session, which
        // has its own note.
        if let Some(id) = identity.own.filter(|_| identity.is_sure) {
            insert_preferred(&mut self.sessions, id, path.to_owned(), "");
        }
    }

    /// Path of a session's note.
    pub(super) fn session_note(&self, id: &SessionId) -> Option<&str> {
        self.sessions.get(id.as_str()).map(String::as_str)
    }

    /// True if a session's note has the name with this [`name::key`].
    pub(super) fn has_session_name(&self, key: &str) -> bool {
        self.session_names.contains(key)
    }

    /// Reserves a name for a session's note.
    pub(super) fn reserve_session_name(&mut self, name: &str) {
        self.session_names.insert(name::key(name));
    }

    /// Name of an entity's note in a project.
    pub(super) fn entity_note(&self, project: &str, entity: &Entity) -> Option<String> {
        let name = markdown::property(&entity.name, NAME_CHARS);
        self.entities.get(&(project.to_owned(), entity.label.as_str().to_owned(), name)).cloned()
    }

    /// True if an entity's note in the project has the name with this key.
    pub(super) fn has_entity_name(&self, project: &str, key: &str) -> bool {
        self.entity_names.contains(&(project.to_owned(), key.to_owned()))
    }

    /// The project folder whose page names this directory.
    pub(super) fn project_folder(&self, directory: &str) -> Option<&str> {
        let directory = markdown::property(directory, PATH_CHARS);
        let of_it = |(_, named): &&(String, Option<String>)| named.as_deref() == Some(&directory);
        self.projects.values().find(of_it).map(|(folder, _)| folder.as_str())
    }

    /// True if a project folder has this key.
    pub(super) fn has_project(&self, key: &str) -> bool {
        self.projects.contains_key(key)
    }

    /// Entities of all projects as folder, kind and name, each with the name of its note.
    pub(super) fn entities(&self) -> impl Iterator<Item = ((&str, &str, &str), &str)> {
        let of_projects = self.entities.iter().filter(|((project, ..), _)| !project.is_empty());
        of_projects
            .map(|((project, kind, name), file)| ((project.as_str(), kind.as_str(), name.as_str()), file.as_str()))
    }

    /// Names of the shared notes of entities.
    fn shared(&self) -> impl Iterator<Item = &str> {
        self.entities.iter().take_while(|((project, ..), _)| project.is_empty()).map(|(_, file)| file.as_str())
    }

    /// Name of the note of an entity that projects share.
    pub(super) fn shared_note(&self, kind: &str, name: &str) -> Option<&str> {
        let name = markdown::property(name, NAME_CHARS);
        self.entities.get(&(String::new(), kind.to_owned(), name)).map(String::as_str)
    }

    /// True if a shared note has the name with this key.
    pub(super) fn has_shared_name(&self, key: &str) -> bool {
        self.shared().any(|file| name::key(file) == key)
    }

    /// Number of shared entities.
    pub(super) fn shared_count(&self) -> u64 {
        self.shared().count() as u64
    }
}

/// Records the name of a note. If two notes claim the same key, one in the regular folder wins over one elsewhere
/// (whose name begins with `/`). Otherwise one is a copy, made by a person or by a program that synchronises notes and
/// met a conflict: the note named `plain` wins, else the one with the shorter name.
fn insert_preferred<K: Ord>(notes: &mut BTreeMap<K, String>, key: K, file: String, plain: &str) {
    let is_elsewhere = |file: &str| file.starts_with('/');
    match notes.get(&key) {
        Some(known) if is_elsewhere(known) && !is_elsewhere(&file) => drop(notes.insert(key, file)),
        Some(known) if !is_elsewhere(known) && is_elsewhere(&file) => {}
        Some(known) if known == plain || (file != plain && known.len() <= file.len()) => {}
        _ => drop(notes.insert(key, file)),
    }
}

/// The name of a note, as links use it.
pub(super) fn stem(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.strip_suffix(".md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_with_the_same_head_are_not_the_note() {
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
                    index.add(&of_file(&files[at]), entity, &layout);
                    index.add(&of_session(&files[at]), session, &layout);
                }
                let named: Vec<&str> = index.entities().map(|(_, file)| file).collect();
                assert_eq!(named, [expected], "{files:?} {order:?}");
            }
        }
        let mut index = Index::default();
        for name in [format!("a.{conflict}"), "a".to_owned(), format!("a.{conflict}-2")] {
            index.add(&of_session(&name), session, &layout);
        }
        assert_eq!(index.session_note(&SessionId::new("s-1").unwrap()), Some(of_session("a").as_str()));
    }
}
