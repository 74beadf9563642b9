//! Updates links to notes that a person has renamed or moved.
//!
//! # Hazards
//!
//! - Links to renamed notes of entities are matched by the text that they show, the entity's name (`relink_entities`): no
//!   register names entities, since forgetting would have to search it, too. If two entities of the same name are both
//!   renamed, neither is followed. A block in which a program changed such links is Baton's again if all its lines are
//!   known; what is remembered of removed lines follows a name before the last one only while the daemon runs.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{self, Block};
use super::knowledge::{self, EntityIdentity};
use super::layout::{self, Layout, NoteRole};
use super::name;
use super::rewrite::rewrite;
use super::trace::{self, Traces};

/// Updates the links and traces in Baton's blocks from a note's former name to its new one; `None` if none has the
/// former name. A block in which only these links were changed, as Obsidian does when a note is renamed, becomes
/// Baton's again.
pub fn relink_session(text: &str, from: &str, to: &str) -> Option<String> {
    let with = |block: &Block, content: &str, _: &_| match block.is_intact {
        true => Some(replace_links(content, from, to)),
        false => (block::hash(&replace_links(content, to, from)) == block.hash).then(|| content.to_owned()),
    };
    rewrite(text, &with, &|written| trace::retag(written, [(from, to)]))
}

fn replace_links(content: &str, from: &str, to: &str) -> String {
    let mut content = content.to_owned();
    for end in ["]]", "|", "#"] {
        content = content.replace(&format!("[[{from}{end}"), &format!("[[{to}{end}"));
    }
    content
}

/// The note of an entity, wherever a person has moved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityNote {
    /// Folder of its project; `None` if projects share it.
    pub project: Option<String>,
    /// Label of the entity: `File`.
    pub kind: String,
    /// Name of the entity: `src/auth.rs`.
    pub name: String,
    /// Name of its note, as in [`NoteRole::Entity`].
    pub file: String,
    /// The name of its note when last seen, if known.
    pub before: Option<String>,
}

/// All notes of entities, indexed by the text that links to them show.
#[derive(Clone, Debug, Default)]
pub struct EntityNotes {
    notes: Vec<EntityNote>,
    shown: BTreeMap<String, Vec<usize>>,
}

/// A changed link: its former target and its new one.
type Change = (String, String);

impl EntityNote {
    fn role(&self, file: &str) -> NoteRole {
        match &self.project {
            Some(project) => NoteRole::Entity(project.clone(), file.to_owned()),
            None => NoteRole::Shared(file.to_owned()),
        }
    }

    /// Returns true if Baton would choose this name for the note.
    fn is_usual(&self, file: &str) -> bool {
        let rest = file.strip_prefix(&name::safe_file_name(&self.name));
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
    }

    /// Returns the names that it had, as far as they are known, and the one that Baton would choose.
    fn former_files(&self) -> impl Iterator<Item = String> {
        [Some(name::safe_file_name(&self.name)), self.before.clone()].into_iter().flatten()
    }

    fn is_renamed(&self) -> bool {
        !self.is_usual(&self.file) || self.before.as_ref().is_some_and(|before| *before != self.file)
    }
}

impl EntityNotes {
    /// Indexes these notes.
    pub fn new(notes: impl IntoIterator<Item = EntityNote>) -> Self {
        let mut all = Self::default();
        for note in notes {
            all.shown.entry(layout::alias(&note.name)).or_default().push(all.notes.len());
            all.notes.push(note);
        }
        all
    }

    /// Returns the former and the current targets of links to renamed notes; not those that are another note's target
    /// now.
    fn former(&self, layout: &Layout, leads: &dyn Fn(&str) -> bool) -> Vec<Change> {
        let mut changes: BTreeMap<String, Option<String>> = BTreeMap::new();
        for note in self.notes.iter().filter(|note| note.is_renamed()) {
            let now = layout.target(&note.role(&note.file));
            for file in note.former_files() {
                let before = layout.target(&note.role(&file));
                if before == now || leads(&before) {
                    continue;
                }
                let known = changes.entry(before).or_insert_with(|| Some(now.clone()));
                // Ambiguous: two notes had this name.
                known.take_if(|known| *known != now);
            }
        }
        changes.into_iter().filter_map(|(from, to)| Some((from, to?))).collect()
    }

    /// Returns the notes that a link with this text may mean; `of` is the entity of the note that contains the link.
    fn notes_meant(&self, of: Option<&EntityIdentity>, shown: &str) -> Vec<&EntityNote> {
        match of.filter(|of| of.project.is_empty()) {
            // A shared note links to those of projects by the projects' names.
            Some(of) => {
                let is_it = |note: &&EntityNote| {
                    note.kind == of.kind
                        && note.name == of.name
                        && note.project.as_deref().is_some_and(|project| layout::alias(project) == shown)
                };
                self.notes.iter().filter(is_it).collect()
            }
            None => self.shown.get(shown).into_iter().flatten().filter_map(|at| self.notes.get(*at)).collect(),
        }
    }
}

/// A note whose links to notes of entities are checked.
struct LinkContext<'a> {
    /// The entity of the note itself.
    of: Option<EntityIdentity>,
    project: Option<String>,
    layout: &'a Layout,
    entities: &'a EntityNotes,
}

/// Updates the broken links to notes of entities in Baton's blocks; `leads` returns whether a link has a target. `None`
/// if there is nothing to do. Links show the entity's name, which does not change. A block in which only such links
/// were changed becomes Baton's again, see [`relink_session()`].
pub fn relink_entities(
    text: &str,
    path: &str,
    layout: &Layout,
    entities: &EntityNotes,
    leads: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let project = match layout.role(path) {
        Some(
            NoteRole::Project(project)
            | NoteRole::Session(project, _)
            | NoteRole::Entity(project, _)
            | NoteRole::Topic(project, _)
            | NoteRole::Archived(project, _),
        ) => Some(project),
        _ => None,
    };
    let leading = LinkContext { of: knowledge::entity(text), project, layout, entities };
    let with = |block: &Block, content: &str, written: &_| {
        let own = match block.is_intact {
            true => content.to_owned(),
            false => leading.restored(content, &Traces::parse(written, &block.key))?,
        };
        let led = replace_links_by(&own, |target, shown| match leads(target) {
            true => None,
            false => leading.current_target(target, shown),
        });
        Some(without_duplicates(&own, &led))
    };
    let former = entities.former(layout, leads);
    rewrite(text, &with, &|written| {
        !former.is_empty() && trace::retag(written, former.iter().map(|(from, to)| (from.as_str(), to.as_str())))
    })
}

impl LinkContext<'_> {
    /// Returns the current target of a broken link.
    fn current_target(&self, target: &str, shown: &str) -> Option<String> {
        let role = self.layout.role(&format!("{target}.md"));
        let last = target.rsplit('/').next().unwrap_or_default();
        let is_it = |note: &&EntityNote| {
            let is_there = match &role {
                Some(NoteRole::Entity(project, _)) => note.project.as_ref() == Some(project),
                Some(NoteRole::Shared(_)) => note.project.is_none(),
                // A person had moved the note.
                None => self.layout.is_below(target),
                Some(_) => false,
            };
            // If two entities have the same name, the other one's note may have been deleted.
            is_there && !(role.is_some() && note.is_usual(&note.file) && note.is_usual(last))
        };
        let found: Vec<&EntityNote> =
            self.entities.notes_meant(self.of.as_ref(), shown).into_iter().filter(is_it).collect();
        let [note] = found.as_slice() else { return None };
        Some(self.layout.target(&note.role(&note.file)))
    }

    /// Returns the content of a block in which a program changed only links to notes of entities, with those links as
    /// Baton writes them now: every line is known, whatever note it links to. `None` if a person changed more.
    fn restored(&self, content: &str, traces: &Traces) -> Option<String> {
        let is_known = |line: &str| line.trim().is_empty() || traces.contains_line(line);
        if !content.lines().all(is_known) {
            return None;
        }
        let (mut has_renamed, mut has_other) = (false, false);
        let restored = replace_links_by(content, |target, shown| {
            let meant = self.entities.notes_meant(self.of.as_ref(), shown);
            let found: Vec<&EntityNote> = meant.iter().copied().filter(|note| self.is_at(note, target)).collect();
            let [note] = found.as_slice() else {
                has_other |= !meant.is_empty();
                return None;
            };
            has_renamed |= note.is_renamed();
            Some(self.layout.target(&note.role(&note.file)))
        });
        (has_renamed && !has_other).then_some(restored)
    }

    /// Returns true if a link leads to a note or to where it was: programs write paths in their own ways.
    fn is_at(&self, note: &EntityNote, target: &str) -> bool {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_near = self.project.is_none() || note.project.is_none() || note.project == self.project;
        let target = last(target.strip_suffix(".md").unwrap_or(target));
        is_near && (last(&note.file) == target || note.former_files().any(|file| last(&file) == target))
    }
}

/// Replaces the targets of links; `to` receives target and text of each.
fn replace_links_by(content: &str, mut to: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some((before, after)) = rest.split_once("[[") {
        out.push_str(before);
        out.push_str("[[");
        let end = after.find("]]").filter(|end| !after[..*end].contains('\n'));
        let link = &after[..end.unwrap_or(0)];
        let (target, shown) = link.split_once('|').unwrap_or((link, ""));
        match to(target, shown).filter(|_| !target.is_empty()) {
            Some(new) => out.push_str(&new),
            None => out.push_str(target),
        }
        rest = &after[target.len()..];
    }
    out.push_str(rest);
    out
}

/// Drops lines that have become equal to existing ones.
fn without_duplicates(before: &str, after: &str) -> String {
    let known: BTreeSet<&str> = before.split('\n').collect();
    let is_new = |(was, is): &(&str, &str)| was == is || !known.contains(is);
    let lines: Vec<&str> = before.split('\n').zip(after.split('\n')).filter(is_new).map(|(_, is)| is).collect();
    lines.join("\n")
}
