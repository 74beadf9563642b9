//! Paths of notes below the vault, and the links between them.
//!
//! ```text
//! <root>/Start.md
//! <root>/preferences.md
//! <root>/shared/entities/<Entity>.md
//! <root>/projects/<project>/<project>.md
//! <root>/projects/<project>/sessions/<YYYY-MM-DD>-<topic>.md
//! <root>/projects/<project>/entities/<Entity>.md
//! <root>/projects/<project>/topics/<Topic>.md
//! <root>/projects/<project>/archive/sessions/<YYYY-MM-DD>-<topic> (archived).md
//! ```
//!
//! # Decisions
//!
//! - Notes of sessions are linked by their name alone, which is unique below the vault's root, so that people may
//!   move them and Obsidian changes no block of ours for it. All others are linked by their whole path, since two
//!   projects may have an entity of the same name. Copies in the archive have names of their own (`… (archived)`), so
//!   that a link means one note.

use super::{markdown, name};

/// Maximum length of a link's text, in characters.
const ALIAS_CHARS: usize = 80;

/// End of an archive copy's name. No name made from a title ends so.
const ARCHIVED: &str = " (archived)";

/// Paths of notes: everything below one folder of the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: String,
}

/// A note by its role. Names are file names without extension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteRole {
    /// The start page of all projects.
    Start,
    /// The person's preferences.
    Preferences,
    /// An entity of several projects.
    Shared(String),
    /// The page of one project.
    Project(String),
    /// A session: project and name.
    Session(String, String),
    /// An entity: project and name. A name that begins with `/`, here and in [`NoteRole::Shared`], is a path below the
    /// root to which a person moved the note.
    Entity(String, String),
    /// A topic: project and name.
    Topic(String, String),
    /// The archive copy of a compacted session's note: project, and the name of that note.
    Archived(String, String),
}

impl Layout {
    /// Notes below a folder of the vault, `notes/claude`; empty for the vault itself. `None` if a component is not a
    /// safe name.
    pub fn below(root: &str) -> Option<Self> {
        let root = root.trim_matches('/');
        let is_safe = root.is_empty() || root.split('/').all(name::is_safe);
        is_safe.then(|| Self { root: root.to_owned() })
    }

    /// Returns the folder, without slashes at its ends; empty for the vault itself.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the path of a note below the vault, with `/` and extension.
    pub fn path(&self, role: &NoteRole) -> String {
        format!("{}.md", self.target(role))
    }

    /// Returns the folder of a project's notes, below the vault.
    pub fn project(&self, project: &str) -> String {
        self.below_root(&format!("projects/{project}"))
    }

    /// Returns the target of a link to a note: its path without extension.
    pub fn target(&self, role: &NoteRole) -> String {
        let path = match role {
            NoteRole::Shared(name) | NoteRole::Entity(_, name) if name.starts_with('/') => name[1..].to_owned(),
            NoteRole::Start => "Start".to_owned(),
            NoteRole::Preferences => "preferences".to_owned(),
            NoteRole::Shared(name) => format!("shared/entities/{name}"),
            NoteRole::Project(project) => format!("projects/{project}/{project}"),
            NoteRole::Session(project, name) => format!("projects/{project}/sessions/{name}"),
            NoteRole::Entity(project, name) => format!("projects/{project}/entities/{name}"),
            NoteRole::Topic(project, name) => format!("projects/{project}/topics/{name}"),
            NoteRole::Archived(project, name) => format!("projects/{project}/archive/sessions/{name}{ARCHIVED}"),
        };
        self.below_root(&path)
    }

    /// Returns a link to a note: `[[claude/projects/shop/entities/src-auth.rs|src/auth.rs]]`.
    pub fn link(&self, role: &NoteRole, shown: &str) -> String {
        let shown = alias(shown);
        match role {
            NoteRole::Session(_, name) => format!("[[{name}]]"),
            role if shown.is_empty() => format!("[[{}]]", self.target(role)),
            role => format!("[[{}|{shown}]]", self.target(role)),
        }
    }

    /// Returns the note at a path below the vault; `None` for files that are not Baton's.
    pub fn role(&self, path: &str) -> Option<NoteRole> {
        let parts: Vec<&str> = self.of_root(path)?.strip_suffix(".md")?.split('/').collect();
        let own = |text: &str| text.to_owned();
        match parts.as_slice() {
            ["Start"] => Some(NoteRole::Start),
            ["preferences"] => Some(NoteRole::Preferences),
            ["shared", "entities", name] => Some(NoteRole::Shared(own(name))),
            ["projects", project, name] if project == name => Some(NoteRole::Project(own(project))),
            ["projects", project, "sessions", name] => Some(NoteRole::Session(own(project), own(name))),
            ["projects", project, "entities", name] => Some(NoteRole::Entity(own(project), own(name))),
            ["projects", project, "topics", name] => Some(NoteRole::Topic(own(project), own(name))),
            ["projects", project, "archive", "sessions", name] => {
                Some(NoteRole::Archived(own(project), own(archived(name))))
            }
            _ => None,
        }
    }

    /// Returns the former path of an archive copy, from before copies had names of their own.
    pub fn archived_before(&self, project: &str, name: &str) -> String {
        self.below_root(&format!("projects/{project}/archive/sessions/{name}.md"))
    }

    /// Returns the name in [`NoteRole::Entity`] of a note that was moved; `None` if the path is not a note below the root.
    pub fn moved_name(&self, path: &str) -> Option<String> {
        Some(format!("/{}", self.of_root(path)?.strip_suffix(".md")?))
    }

    /// Returns true if a link's target is below the root.
    pub(super) fn is_below(&self, target: &str) -> bool {
        self.of_root(target).is_some()
    }

    fn of_root<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.root.is_empty() {
            true => Some(path),
            false => path.strip_prefix(&self.root)?.strip_prefix('/'),
        }
    }

    fn below_root(&self, path: &str) -> String {
        if self.root.is_empty() { path.to_owned() } else { format!("{}/{path}", self.root) }
    }
}

/// Returns the text of a link to a note.
pub(super) fn alias(text: &str) -> String {
    markdown::alias(text, ALIAS_CHARS)
}

/// Returns the name of the original of an archive copy: of `x`, `x (archived)` and `x (archived)-2` it is `x`.
fn archived(name: &str) -> &str {
    let Some((note, rest)) = name.rsplit_once(ARCHIVED) else { return name };
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    if rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number) { note } else { name }
}
