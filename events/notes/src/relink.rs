//! Updates links to notes that a person has renamed or moved.
//!
//! # Hazards
//!
//! - Links to renamed notes of entities are matched by the text that they show, the entity's name (`relink_entities`): no
//!   register names entities, since forgetting would have to search it, too. If two entities of the same name are both
//!   renamed, neither is followed. A block in which a program changed such links is Baton's again if some former names
//!   give its hash; a name before the last one is known only while the daemon runs.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{self, Block, Blocks};
use super::header::Document;
use super::knowledge::{self, EntityIdentity};
use super::layout::{self, Layout, Place};
use super::{name, trace};

/// Maximum number of reconstructions of a block from before its links were changed.
const ATTEMPTS: usize = 1_024;

/// Updates the links and traces in Baton's blocks from a note's former name to its new one; `None` if none has the
/// former name. A block in which only these links were changed, as Obsidian does when a note is renamed, becomes
/// Baton's again.
pub fn relink_session(text: &str, from: &str, to: &str) -> Option<String> {
    let with = |content: &str, block: &Block| match block.is_intact {
        true => Some(replace_links(content, from, to)),
        false => (block::hash(&replace_links(content, to, from)) == block.hash).then(|| content.to_owned()),
    };
    rewrite(text, &with, &|written| trace::retag(written, [(from, to)]))
}

/// Replaces the contents of blocks by those that `with` returns, which become Baton's, and lets `mark` change the
/// note's marker; `mark` returns whether it did. `None` if nothing changes.
fn rewrite(
    text: &str,
    with: &dyn Fn(&str, &Block) -> Option<String>,
    mark: &dyn Fn(&mut BTreeMap<String, String>) -> bool,
) -> Option<String> {
    let document = Document::parse(text);
    let eol = Document::eol(text);
    let lines: Vec<&str> = document.rest.split_inclusive('\n').collect();
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut written = block::written(&lines).map(|(_, written)| written).unwrap_or_default();
    let mut changed = false;
    for block in Blocks::parse(&lines).found.iter().rev() {
        let content = block::content(&lines[block.open + 1..block.close]);
        let Some(followed) = with(&content, block) else { continue };
        if block.is_intact && followed == content {
            continue;
        }
        let mut new = block::block(&block.key, &followed).replace('\n', eol);
        if !lines[block.close].ends_with('\n') {
            new.truncate(new.trim_end_matches(['\r', '\n']).len());
        }
        written.insert(format!("#{}", block.key), block::short_hash(&followed));
        out.splice(block.open..=block.close, [new]);
        changed = true;
    }
    changed |= mark(&mut written);
    changed.then(|| {
        let rest = block::with_written(&out.concat(), &written, eol);
        format!("{}{}{rest}", document.bom, document.head_text())
    })
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
    /// Name of its note, as in [`Place::Entity`].
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
    fn place(&self, file: &str) -> Place {
        match &self.project {
            Some(project) => Place::Entity(project.clone(), file.to_owned()),
            None => Place::Shared(file.to_owned()),
        }
    }

    /// Returns true if Baton would choose this name for the note.
    fn is_usual(&self, file: &str) -> bool {
        let rest = file.strip_prefix(&name::safe(&self.name));
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
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
        for note in self.notes.iter().filter(|note| !note.is_usual(&note.file) || note.before.is_some()) {
            let now = layout.target(&note.place(&note.file));
            let usual = name::safe(&note.name);
            for file in [Some(&usual), note.before.as_ref()].into_iter().flatten() {
                let before = layout.target(&note.place(file));
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
    let project = match layout.place(path) {
        Some(
            Place::Project(project)
            | Place::Session(project, _)
            | Place::Entity(project, _)
            | Place::Topic(project, _)
            | Place::Archived(project, _),
        ) => Some(project),
        _ => None,
    };
    let leading = LinkContext { of: knowledge::entity(text), project, layout, entities };
    let with = |content: &str, block: &Block| {
        let own = match block.is_intact {
            true => content.to_owned(),
            false => leading.restored(content, &block.hash)?,
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
        let place = self.layout.place(&format!("{target}.md"));
        let last = target.rsplit('/').next().unwrap_or_default();
        let is_it = |note: &&EntityNote| {
            let is_there = match &place {
                Some(Place::Entity(project, _)) => note.project.as_ref() == Some(project),
                Some(Place::Shared(_)) => note.project.is_none(),
                // A person had moved the note.
                None => self.layout.is_below(target),
                Some(_) => false,
            };
            // If two entities have the same name, the other one's note may have been deleted.
            is_there && !(place.is_some() && note.is_usual(&note.file) && note.is_usual(last))
        };
        let found: Vec<&EntityNote> =
            self.entities.notes_meant(self.of.as_ref(), shown).into_iter().filter(is_it).collect();
        let [note] = found.as_slice() else { return None };
        Some(self.layout.target(&note.place(&note.file)))
    }

    /// Returns the content of a block in which a program changed only links to notes of entities, with those links as
    /// Baton writes them now; `None` if no former names give the recorded hash.
    fn restored(&self, content: &str, hash: &str) -> Option<String> {
        let mut choices: Vec<(String, Vec<Change>)> = Vec::new();
        replace_links_by(content, |target, shown| {
            if !choices.iter().any(|(known, _)| known == target) {
                let changes = self.possible_changes(target, shown);
                if !changes.is_empty() {
                    choices.push((target.to_owned(), changes));
                }
            }
            None
        });
        let attempts = choices.iter().try_fold(1usize, |all, (_, changes)| all.checked_mul(changes.len() + 1));
        // Each attempt is a number whose digits select the former target of each link; 0 keeps the link.
        let chosen = |attempt: usize| {
            let mut rest = attempt;
            let mut chosen: BTreeMap<&str, &Change> = BTreeMap::new();
            for (target, changes) in &choices {
                if let Some(change) = (rest % (changes.len() + 1)).checked_sub(1).and_then(|at| changes.get(at)) {
                    chosen.insert(target, change);
                }
                rest /= changes.len() + 1;
            }
            chosen
        };
        let attempts = attempts.unwrap_or(usize::MAX).min(ATTEMPTS);
        (1..attempts).map(chosen).find_map(|chosen| {
            let before = replace_links_by(content, |target, _| chosen.get(target).map(|(from, _)| from.clone()));
            let is_it = block::hash(&before) == hash;
            is_it.then(|| replace_links_by(content, |target, _| chosen.get(target).map(|(_, to)| to.clone())))
        })
    }

    /// Returns the possible former targets of a link, and their current ones: programs write paths in their own ways.
    fn possible_changes(&self, target: &str, shown: &str) -> Vec<Change> {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_it = |note: &&EntityNote| {
            let is_near = self.project.is_none() || note.project.is_none() || note.project == self.project;
            is_near && last(&note.file) == last(target.strip_suffix(".md").unwrap_or(target))
        };
        let mut changes: Vec<Change> = Vec::new();
        for note in self.entities.notes_meant(self.of.as_ref(), shown).into_iter().filter(is_it) {
            let to = self.layout.target(&note.place(&note.file));
            let usual = name::safe(&note.name);
            for before in [Some(&note.file), Some(&usual), note.before.as_ref()].into_iter().flatten() {
                let change = (self.layout.target(&note.place(before)), to.clone());
                if change.0 != target && !changes.contains(&change) {
                    changes.push(change);
                }
            }
        }
        changes
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
