//! State of the home as a whole: directories named by clients, what was deleted across sessions, and which entities
//! were recalled in other projects.
//!
//! Decided and folded like a session, only smaller. The shell checks first whether a directory may be read. Deletions
//! are never dropped to make room: at a bound the next command is refused. Recalls are dropped, oldest first, because
//! otherwise new ones could never be shared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::codec::events;
use baton_conversation::hash::Mark;
use baton_conversation::record::{Position, Timestamp};

/// Most roots named by clients: an agent's settings are not trusted without a bound.
pub const ROOTS_MAX: usize = 8;
/// Most groups that can be cleared separately; [`CLEARED_MAX_BYTES`] bounds the bytes of their names. All are in one
/// row of a checkpoint.
pub const CLEARED_MAX: usize = 256;
/// See [`CLEARED_MAX`].
pub const CLEARED_MAX_BYTES: usize = 16 * 1024;
/// Most facts that can be deleted separately.
pub const DELETED_FACTS_MAX: usize = 2_000;
/// Most remembered recalls, counted as pairs of entity and foreign project. Beyond them the entity is dropped that has
/// been in no new project for longest.
pub const RECALLS_MAX: usize = 1_000;
/// Most foreign projects remembered per entity; further ones change nothing.
pub const RECALLED_IN_MAX: usize = 8;

events! {
    /// Something that happened to the home.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Event;

    /// A client named a directory; its transcripts are read from now on.
    "root_added" 1 => RootAdded(root: NamedRoot)
    text ("transcripts below {} are read too, named by {}", root.config_dir, root.named_by);

    /// Everything that joined a group, or any group, up to a position is hidden.
    "group_cleared" 1 => GroupCleared {
        /// The group; `None` for all.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Last position of the log that is affected.
        up_to: Position,
    }
    text ("{} cleared: entries up to position {up_to} are hidden", group_or_all(group.as_deref()));

    /// A clear was undone for a group, or for all. Separately deleted episodes and facts stay deleted.
    "group_restored" 1 => GroupRestored {
        /// The group; `None` for all, including those cleared separately.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    }
    text (
        "{} {} found again", group_or_all(group.as_deref()), if group.is_some() { "is" } else { "are" }
    );

    /// A fact is hidden, whatever supports it.
    "fact_deleted" 1 => FactDeleted {
        /// The fact.
        fact: Uuid,
    }
    text ("fact {fact} deleted");

    /// A deleted fact was asserted again.
    "fact_restored" 1 => FactRestored {
        /// The fact.
        fact: Uuid,
    }
    text ("fact {fact} told anew");

    /// An entity was recalled in a foreign project for the first time.
    "entity_recalled" 1 => EntityRecalled {
        /// Its uuid in its own project.
        entity: Uuid,
        /// Directory of the project in which it was recalled.
        project: String,
    }
    text ("entity {entity} recalled in {project}");

    /// A model was enabled: sessions that end from now on are enriched.
    "model_enabled" 1 => ModelEnabled {
        /// When it was found enabled.
        at: Timestamp,
    }
    text ("a model is enabled: it enriches sessions that end from now on");

    /// The model was disabled.
    "model_disabled" 1 => ModelDisabled text ("no model is enabled any more");
}

fn group_or_all(group: Option<&str>) -> String {
    group.map_or_else(|| "all groups".to_owned(), |group| format!("group {group}"))
}

/// A directory that a client named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedRoot {
    /// The agent's directory, canonical and absolute; transcripts lie below `projects/` in it.
    pub config_dir: String,
    /// Kind of the client that named it.
    pub named_by: String,
}

/// State of the home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Named directories, in order of naming.
    #[serde(default, with = "roots", skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<NamedRoot>,
    /// Position up to which all groups are cleared; 0 if never.
    #[serde(default)]
    pub cleared_all: Position,
    /// Groups that were cleared later, with the position of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cleared: BTreeMap<String, Position>,
    /// Hidden facts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deleted_facts: BTreeSet<Uuid>,
    /// Entities recalled in foreign projects.
    #[serde(default, skip_serializing_if = "Recalls::is_empty")]
    pub recalled: Recalls,
    /// When a model was enabled, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_since: Option<Timestamp>,
}

/// Roots as pairs of directory and client.
mod roots {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::NamedRoot;

    pub(super) fn serialize<S: Serializer>(roots: &[NamedRoot], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(roots.iter().map(|root| (&root.config_dir, &root.named_by)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<NamedRoot>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?.into_iter();
        Ok(pairs.map(|(config_dir, named_by)| NamedRoot { config_dir, named_by }).collect())
    }
}

/// Entities that were recalled in foreign projects, with the [`project_print`] of each project, in order of their last
/// new project. At most [`RECALLS_MAX`] pairs, at most [`RECALLED_IN_MAX`] per entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredRecalls", into = "StoredRecalls")]
pub struct Recalls(Vec<(Uuid, BTreeSet<u64>)>);

/// Recalls with the prints of projects as hexadecimal numbers.
type StoredRecalls = Vec<(Uuid, Vec<String>)>;

impl From<Recalls> for StoredRecalls {
    fn from(recalls: Recalls) -> Self {
        let prints = |prints: BTreeSet<u64>| prints.into_iter().map(|print| format!("{print:x}")).collect();
        recalls.0.into_iter().map(|(entity, projects)| (entity, prints(projects))).collect()
    }
}

impl TryFrom<StoredRecalls> for Recalls {
    type Error = std::num::ParseIntError;

    fn try_from(stored: StoredRecalls) -> Result<Self, Self::Error> {
        let print = |print: String| u64::from_str_radix(&print, 16);
        let recall = |(entity, prints): (Uuid, Vec<String>)| {
            Ok((entity, prints.into_iter().map(print).collect::<Result<_, Self::Error>>()?))
        };
        stored.into_iter().map(recall).collect()
    }
}

impl Recalls {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Foreign projects of one entity.
    pub fn projects(&self, entity: Uuid) -> Option<&BTreeSet<u64>> {
        self.0.iter().find(|(known, _)| *known == entity).map(|(_, projects)| projects)
    }

    /// All entities; the next one to be dropped comes first.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &BTreeSet<u64>)> {
        self.0.iter().map(|(entity, projects)| (*entity, projects))
    }

    /// Adds a pair; drops the oldest entities if there are too many.
    fn insert(&mut self, entity: Uuid, project: u64) {
        let at = self.0.iter().position(|(known, _)| *known == entity);
        let (_, mut projects) = at.map(|at| self.0.remove(at)).unwrap_or((entity, BTreeSet::new()));
        if projects.len() < RECALLED_IN_MAX {
            projects.insert(project);
        }
        self.0.push((entity, projects));
        let mut over = self.0.iter().map(|(_, projects)| projects.len()).sum::<usize>().saturating_sub(RECALLS_MAX);
        let gone = self.0.iter().take_while(|(_, projects)| {
            let goes = over > 0;
            over = over.saturating_sub(projects.len());
            goes
        });
        let gone = gone.count();
        self.0.drain(..gone);
    }
}

impl FromIterator<(Uuid, BTreeSet<u64>)> for Recalls {
    fn from_iter<I: IntoIterator<Item = (Uuid, BTreeSet<u64>)>>(entities: I) -> Self {
        Self(entities.into_iter().collect())
    }
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There are [`ROOTS_MAX`] already.
    #[error("clients have already named {ROOTS_MAX} directories, the maximum")]
    TooManyRoots,
    /// There are [`CLEARED_MAX`] already, or their names are too long.
    #[error("at most {CLEARED_MAX} groups or {CLEARED_MAX_BYTES} bytes of names can be cleared one by one; clear all")]
    TooManyCleared,
    /// There are [`DELETED_FACTS_MAX`] already.
    #[error("at most {DELETED_FACTS_MAX} facts can be deleted one by one; delete the episodes that support them")]
    TooManyFacts,
}

/// Events for a directory named by a client; none if it is known.
pub fn add_root(state: &State, root: NamedRoot) -> Result<Vec<Event>, Rejection> {
    if state.roots.iter().any(|known| known.config_dir == root.config_dir) {
        return Ok(Vec::new());
    }
    match state.roots.len() < ROOTS_MAX {
        true => Ok(vec![Event::RootAdded(root)]),
        false => Err(Rejection::TooManyRoots),
    }
}

/// Events for clearing groups, or all if none is named, up to a position.
pub fn clear(state: &State, groups: &[String], up_to: Position) -> Result<Vec<Event>, Rejection> {
    if groups.is_empty() {
        let is_news = state.cleared_all < up_to;
        return Ok(is_news.then_some(Event::GroupCleared { group: None, up_to }).into_iter().collect());
    }
    let wanted: BTreeSet<&String> = groups.iter().filter(|group| !state.clears(Some(group), up_to)).collect();
    let names: BTreeSet<&String> = state.cleared.keys().chain(wanted.iter().copied()).collect();
    if names.len() > CLEARED_MAX || names.iter().map(|name| name.len()).sum::<usize>() > CLEARED_MAX_BYTES {
        return Err(Rejection::TooManyCleared);
    }
    Ok(wanted.into_iter().map(|group| Event::GroupCleared { group: Some(group.clone()), up_to }).collect())
}

/// Events for undoing the clear of a group, or of all if `None`; none if it was not cleared.
pub fn restore(state: &State, group: Option<&str>) -> Vec<Event> {
    let is_cleared = match group {
        Some(group) => state.cleared.contains_key(group),
        None => state.cleared_all > Position(0) || !state.cleared.is_empty(),
    };
    is_cleared.then(|| Event::GroupRestored { group: group.map(str::to_owned) }).into_iter().collect()
}

/// Events for deleting a fact.
pub fn delete_fact(state: &State, fact: Uuid) -> Result<Vec<Event>, Rejection> {
    match (state.deleted_facts.contains(&fact), state.deleted_facts.len() < DELETED_FACTS_MAX) {
        (true, _) => Ok(Vec::new()),
        (false, true) => Ok(vec![Event::FactDeleted { fact }]),
        (false, false) => Err(Rejection::TooManyFacts),
    }
}

/// Events for a fact that is asserted again; none unless it was deleted.
pub fn restore_fact(state: &State, fact: Uuid) -> Vec<Event> {
    state.deleted_facts.contains(&fact).then_some(Event::FactRestored { fact }).into_iter().collect()
}

/// Events for an entity that is recalled in a foreign project; none if that pair is remembered.
pub fn recall(state: &State, entity: Uuid, project: &str) -> Vec<Event> {
    let is_known = state
        .recalled
        .projects(entity)
        .is_some_and(|known| known.contains(&project_print(project)) || known.len() >= RECALLED_IN_MAX);
    (!is_known).then(|| Event::EntityRecalled { entity, project: project.to_owned() }).into_iter().collect()
}

/// Fingerprint of a project's directory, to save space.
pub fn project_print(project: &str) -> u64 {
    Mark::digest(project.as_bytes()).0
}

/// Events for a model that is found enabled or disabled; none if that is known.
pub fn switch_model(state: &State, is_enabled: bool, now: Timestamp) -> Vec<Event> {
    match (is_enabled, state.model_since) {
        (true, None) => vec![Event::ModelEnabled { at: now }],
        (false, Some(_)) => vec![Event::ModelDisabled],
        _ => Vec::new(),
    }
}

impl State {
    /// Number of foreign projects in which an entity was recalled.
    pub fn recalled_in(&self, entity: Uuid) -> usize {
        self.recalled.projects(entity).map_or(0, BTreeSet::len)
    }

    /// True if what joined a group at a position was cleared since. Without a group only a clear of all counts.
    pub fn clears(&self, group: Option<&str>, since: Position) -> bool {
        let of_group = group.and_then(|group| self.cleared.get(group));
        since <= self.cleared_all.max(of_group.copied().unwrap_or_default())
    }

    /// True if what joined at a position was cleared since with all groups.
    pub fn clears_all(&self, since: Position) -> bool {
        since <= self.cleared_all
    }

    /// True if anything is deleted. Otherwise the home does not count in the state hash, unless a model is enabled.
    pub fn deletes(&self) -> bool {
        self.cleared_all > Position(0) || !self.cleared.is_empty() || !self.deleted_facts.is_empty()
    }
}

/// Folds one event in. Total.
pub fn evolve(mut state: State, event: Event) -> State {
    match event {
        Event::RootAdded(root) => state.roots.push(root),
        Event::GroupCleared { group: Some(group), up_to } => {
            let known = state.cleared.entry(group).or_default();
            *known = up_to.max(*known);
        }
        Event::GroupCleared { group: None, up_to } => {
            state.cleared_all = up_to.max(state.cleared_all);
            let all = state.cleared_all;
            state.cleared.retain(|_, known| *known > all);
        }
        Event::GroupRestored { group: Some(group) } => drop(state.cleared.remove(&group)),
        Event::GroupRestored { group: None } => {
            state.cleared_all = Position(0);
            state.cleared.clear();
        }
        Event::FactDeleted { fact } => drop(state.deleted_facts.insert(fact)),
        Event::FactRestored { fact } => drop(state.deleted_facts.remove(&fact)),
        Event::EntityRecalled { entity, project } => {
            state.recalled.insert(entity, project_print(&project));
        }
        Event::ModelEnabled { at } => state.model_since = Some(at),
        Event::ModelDisabled => state.model_since = None,
    }
    state
}

#[cfg(test)]
mod tests;
