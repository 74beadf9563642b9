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
    text (
        "{} cleared: what {} held at position {up_to} is found no more",
        group_or_all(group.as_deref()),
        if group.is_some() { "it" } else { "they" }
    );

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
    text ("a model is enabled: what ends from now on is enriched by it");

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
    #[error("{ROOTS_MAX} directories were named by clients already")]
    TooManyRoots,
    /// There are [`CLEARED_MAX`] already, or their names are too long.
    #[error(
        "{CLEARED_MAX} groups, or {CLEARED_MAX_BYTES} bytes of their names, are the most that can be cleared one by one; \
         clearing all groups makes room"
    )]
    TooManyCleared,
    /// There are [`DELETED_FACTS_MAX`] already.
    #[error(
        "{DELETED_FACTS_MAX} facts are the most that can be deleted one by one; delete the episodes that support them"
    )]
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
mod tests {
    use super::*;

    fn root(number: usize) -> NamedRoot {
        NamedRoot { config_dir: format!("/home/u/.claude-{number}"), named_by: "mcp".to_owned() }
    }

    #[test]
    fn a_model_is_switched_on_and_off_once() {
        let mut state = State::default();
        for (enabled, now, expected, since) in [
            (false, 1, vec![], None),
            (true, 2, vec![Event::ModelEnabled { at: Timestamp(2) }], Some(2)),
            (true, 3, vec![], Some(2)),
            (false, 4, vec![Event::ModelDisabled], None),
            (true, 5, vec![Event::ModelEnabled { at: Timestamp(5) }], Some(5)),
        ] {
            let events = switch_model(&state, enabled, Timestamp(now));
            assert_eq!(events, expected, "{now}");
            state = events.into_iter().fold(state, evolve);
            assert_eq!(state.model_since, since.map(Timestamp), "{now}");
        }
    }

    #[test]
    fn a_root_is_added_once_and_not_without_end() {
        let mut state = State::default();
        for number in 0..ROOTS_MAX {
            let events = add_root(&state, root(number)).unwrap();
            assert_eq!(events, [Event::RootAdded(root(number))]);
            state = events.into_iter().fold(state, evolve);
            assert_eq!(add_root(&state, root(number)), Ok(Vec::new()), "known");
        }
        assert_eq!(add_root(&state, root(ROOTS_MAX)), Err(Rejection::TooManyRoots));
        assert_eq!(add_root(&state, root(0)), Ok(Vec::new()), "a known one is no news at the bound either");
    }

    fn groups(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn folded(state: State, events: Result<Vec<Event>, Rejection>) -> State {
        events.unwrap().into_iter().fold(state, evolve)
    }

    #[test]
    fn what_is_cleared_is_what_was_there() {
        let mut state = State::default();
        let clears = |state: &State, group, since| state.clears(group, Position(since));
        assert!(!clears(&state, Some("a"), 1));
        state = folded(state.clone(), clear(&state, &groups(&["a"]), Position(5)));
        assert_eq!([1, 5, 6].map(|at| clears(&state, Some("a"), at)), [true, true, false]);
        assert_eq!([Some("b"), None].map(|group| clears(&state, group, 1)), [false, false]);
        assert_eq!(clear(&state, &groups(&["a"]), Position(4)), Ok(Vec::new()), "no news");
        state = folded(state.clone(), clear(&state, &[], Position(7)));
        assert_eq!(state.cleared.len(), 0, "all is more than one");
        assert_eq!([Some("a"), Some("b"), None].map(|group| clears(&state, group, 7)), [true; 3]);
        assert_eq!(clear(&state, &[], Position(7)), Ok(Vec::new()));
        assert_eq!(clear(&state, &groups(&["b"]), Position(7)), Ok(Vec::new()));
        state = folded(state.clone(), clear(&state, &groups(&["b", "b"]), Position(9)));
        assert_eq!([Some("a"), Some("b")].map(|group| clears(&state, group, 9)), [false, true]);
        assert!(state.deletes() && !State::default().deletes());
    }

    #[test]
    fn what_was_cleared_comes_back() {
        let mut state = State::default();
        assert_eq!((restore(&state, None), restore(&state, Some("a"))), (vec![], vec![]));
        state = folded(state.clone(), clear(&state, &groups(&["a", "b"]), Position(5)));
        state = folded(state.clone(), Ok(restore(&state, Some("a"))));
        assert_eq!([Some("a"), Some("b")].map(|group| state.clears(group, Position(1))), [false, true]);
        state = folded(state.clone(), clear(&state, &[], Position(7)));
        assert_eq!(restore(&state, Some("a")), [], "it was cleared with all");
        state = folded(state.clone(), Ok(restore(&state, None)));
        assert_eq!(state, State::default());
    }

    #[test]
    fn at_a_bound_a_wish_is_refused_and_nothing_is_dropped() {
        let names: Vec<String> = (0..CLEARED_MAX).map(|number| format!("g{number}")).collect();
        let state = folded(State::default(), clear(&State::default(), &names, Position(1)));
        assert_eq!(clear(&state, &groups(&["one-more"]), Position(2)), Err(Rejection::TooManyCleared));
        assert_eq!(clear(&state, &groups(&["g3"]), Position(2)).map(|events| events.len()), Ok(1), "a known one fits");
        let long = vec!["x".repeat(CLEARED_MAX_BYTES + 1)];
        assert_eq!(clear(&State::default(), &long, Position(2)), Err(Rejection::TooManyCleared));
        let deleted_facts = (0..DELETED_FACTS_MAX as u128).map(Uuid::from_u128).collect();
        let state = State { deleted_facts, ..State::default() };
        assert_eq!(delete_fact(&state, Uuid::max()), Err(Rejection::TooManyFacts));
        assert_eq!(delete_fact(&state, Uuid::from_u128(3)), Ok(Vec::new()));
    }

    #[test]
    fn a_fact_is_deleted_until_it_is_told_anew() {
        let (fact, mut state) = (Uuid::from_u128(7), State::default());
        assert_eq!(restore_fact(&state, fact), []);
        state = folded(state.clone(), delete_fact(&state, fact));
        assert_eq!(delete_fact(&state, fact), Ok(Vec::new()));
        let events = restore_fact(&state, fact);
        assert_eq!(events, [Event::FactRestored { fact }]);
        assert_eq!(folded(state, Ok(events)), State::default());
    }

    #[test]
    fn only_the_first_recall_in_another_project_is_an_event() {
        let (entity, mut state) = (Uuid::from_u128(7), State::default());
        for project in ["/a", "/b", "/a", "/c", "/b"] {
            state = folded(state.clone(), Ok(recall(&state, entity, project)));
        }
        assert_eq!((state.recalled_in(entity), state.recalled_in(Uuid::max())), (3, 0));
        assert_eq!(recall(&state, entity, "/c"), []);
        for number in 0..2 * RECALLED_IN_MAX {
            state = folded(state.clone(), Ok(recall(&state, entity, &format!("/more/{number}"))));
        }
        assert_eq!(state.recalled_in(entity), RECALLED_IN_MAX, "more change nothing");
        assert!(!state.deletes(), "nothing is deleted");
    }

    #[test]
    fn recalls_are_remembered_up_to_a_bound_and_the_oldest_give_way() {
        let mut state = State::default();
        let mut recalled = |entity: u128, project: &str| {
            let events = recall(&state, Uuid::from_u128(entity), project);
            state = events.into_iter().fold(std::mem::take(&mut state), evolve);
            let known: Vec<u128> = state.recalled.iter().map(|(entity, _)| entity.as_u128()).collect();
            let pairs: usize = state.recalled.iter().map(|(_, projects)| projects.len()).sum();
            assert!(pairs <= RECALLS_MAX, "{pairs}");
            (known, state.recalled_in(Uuid::from_u128(entity)))
        };
        for entity in 0..RECALLS_MAX as u128 {
            recalled(entity, "/a");
        }
        // The second entity joins a new project, so it becomes the youngest and the first one is dropped.
        let (known, of_it) = recalled(1, "/b");
        assert_eq!((known.len(), known[0], *known.last().unwrap(), of_it), (RECALLS_MAX - 1, 2, 1, 2));
        // A new entity can still be shared, whatever was recalled before.
        let new = u128::MAX;
        let shared = ["/a", "/b", "/c"].map(|project| recalled(new, project).1);
        assert_eq!(shared, [1, 2, 3]);
        // An entity with several projects is dropped as a whole.
        let (known, _) = (6..RECALLS_MAX as u128).map(|entity| recalled(entity, "/z")).last().unwrap();
        assert!(!known.contains(&2) && known.contains(&new), "{known:?}");
        // A dropped entity counts as new again.
        assert_eq!(recalled(0, "/a").1, 1);
    }
}
