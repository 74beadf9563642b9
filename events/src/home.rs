//! What concerns the whole home and no session: the directories that clients have named, what was deleted of
//! everything, and what was recalled in other projects than its own.
//!
//! Decided and folded like a session, only smaller. Whether a directory may be read is for the shell to find out first;
//! here it is only told once, and counted. Nothing that was deleted is ever dropped to make room: at a bound the next
//! wish is refused. Recalls are: the oldest give way, or nothing new would ever be shared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use uuid::Uuid;

use baton_conversation::hash::Mark;
use baton_conversation::record::{Position, Timestamp};

/// Roots that clients may name: their agents' settings are not ours to trust without a bound.
pub const ROOTS_MAX: usize = 8;
/// Groups that may be cleared one by one, and all bytes of their names: they are one row of a checkpoint.
pub const CLEARED_MAX: usize = 256;
/// See [`CLEARED_MAX`].
pub const CLEARED_MAX_BYTES: usize = 16 * 1024;
/// Facts that may be deleted one by one.
pub const DELETED_FACTS_MAX: usize = 2_000;
/// Recalls of entities in other projects than their own that are remembered, each pair once: beyond them the entity goes that
/// has been in no new project for longest.
pub const RECALLS_MAX: usize = 1_000;
/// Projects of which one entity remembers that it was recalled there: more change nothing.
pub const RECALLED_IN_MAX: usize = 8;

/// Something that happened to the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client named a directory whose transcripts are read from now on.
    RootAdded(NamedRoot),
    /// What had come into a group, or into any, by then is found and shown no more.
    GroupCleared {
        /// The group; `None` for all.
        group: Option<String>,
        /// Up to which position of the log.
        up_to: Position,
    },
    /// What was cleared of a group, or of all, is found and shown again; what was deleted one by one is not.
    GroupRestored {
        /// The group; `None` for all, those included that were cleared one by one.
        group: Option<String>,
    },
    /// A fact is found no more, whoever supports it.
    FactDeleted {
        /// Which.
        fact: Uuid,
    },
    /// Somebody has told it anew.
    FactRestored {
        /// Which.
        fact: Uuid,
    },
    /// An entity was recalled for the first time in a project that is not its own.
    EntityRecalled {
        /// Which, by its uuid in its own project.
        entity: Uuid,
        /// The directory of the project in which it was asked for.
        project: String,
    },
    /// A model is enabled: sessions that end from now on are enriched by it.
    ModelEnabled {
        /// When.
        at: Timestamp,
    },
    /// No model is enabled any more.
    ModelDisabled,
}

/// A directory that a client named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRoot {
    /// The agent's directory, canonical and absolute; transcripts lie below `projects/` in it.
    pub config_dir: String,
    /// What kind of client named it.
    pub named_by: String,
}

impl fmt::Display for Event {
    /// One line; paths as they were recorded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootAdded(root) => {
                write!(f, "transcripts below {} are read too, named by {}", root.config_dir, root.named_by)
            }
            Self::GroupCleared { group: Some(group), up_to } => {
                write!(f, "group {group} cleared: what it held at position {up_to} is found no more")
            }
            Self::GroupCleared { group: None, up_to } => {
                write!(f, "all groups cleared: what they held at position {up_to} is found no more")
            }
            Self::GroupRestored { group: Some(group) } => write!(f, "group {group} is found again"),
            Self::GroupRestored { group: None } => f.write_str("all groups are found again"),
            Self::FactDeleted { fact } => write!(f, "fact {fact} deleted"),
            Self::FactRestored { fact } => write!(f, "fact {fact} told anew"),
            Self::EntityRecalled { entity, project } => write!(f, "entity {entity} recalled in {project}"),
            Self::ModelEnabled { .. } => f.write_str("a model is enabled: what ends from now on is enriched by it"),
            Self::ModelDisabled => f.write_str("no model is enabled any more"),
        }
    }
}

/// What is so now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// In the order in which they were named.
    pub roots: Vec<NamedRoot>,
    /// Up to where everything was cleared; 0 for never.
    pub cleared_all: Position,
    /// Groups that were cleared since, each up to where.
    pub cleared: BTreeMap<String, Position>,
    /// Facts that are found no more.
    pub deleted_facts: BTreeSet<Uuid>,
    /// In which other projects than their own entities were recalled.
    pub recalled: Recalls,
    /// Since when a model is enabled, if one is.
    pub model_since: Option<Timestamp>,
}

/// Entities that were recalled in other projects than their own, with these by [`project_print`]; the one that came last into
/// a new project is the last. At most [`RECALLS_MAX`] pairs, of one entity at most [`RECALLED_IN_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recalls(Vec<(Uuid, BTreeSet<u64>)>);

impl Recalls {
    /// The projects of one entity.
    pub fn of(&self, entity: Uuid) -> Option<&BTreeSet<u64>> {
        self.0.iter().find(|(known, _)| *known == entity).map(|(_, projects)| projects)
    }

    /// All of them, the one first that gives way next.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &BTreeSet<u64>)> {
        self.0.iter().map(|(entity, projects)| (*entity, projects))
    }

    /// Takes in one more; the oldest entities go as soon as there are too many.
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

/// Why something was not recorded.
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

/// What follows when a client names a directory; nothing when it is known.
pub fn add_root(state: &State, root: NamedRoot) -> Result<Vec<Event>, Rejection> {
    if state.roots.iter().any(|known| known.config_dir == root.config_dir) {
        return Ok(Vec::new());
    }
    match state.roots.len() < ROOTS_MAX {
        true => Ok(vec![Event::RootAdded(root)]),
        false => Err(Rejection::TooManyRoots),
    }
}

/// What follows when groups, or all where none is named, are cleared of what came into them up to a position.
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

/// What follows when somebody wants back what was cleared of a group, or of all where none is named; nothing where it was
/// not cleared.
pub fn restore(state: &State, group: Option<&str>) -> Vec<Event> {
    let is_cleared = match group {
        Some(group) => state.cleared.contains_key(group),
        None => state.cleared_all > Position(0) || !state.cleared.is_empty(),
    };
    is_cleared.then(|| Event::GroupRestored { group: group.map(str::to_owned) }).into_iter().collect()
}

/// What follows when a fact is deleted.
pub fn delete_fact(state: &State, fact: Uuid) -> Result<Vec<Event>, Rejection> {
    match (state.deleted_facts.contains(&fact), state.deleted_facts.len() < DELETED_FACTS_MAX) {
        (true, _) => Ok(Vec::new()),
        (false, true) => Ok(vec![Event::FactDeleted { fact }]),
        (false, false) => Err(Rejection::TooManyFacts),
    }
}

/// What follows when a fact is told anew; nothing unless it is deleted.
pub fn restore_fact(state: &State, fact: Uuid) -> Vec<Event> {
    state.deleted_facts.contains(&fact).then_some(Event::FactRestored { fact }).into_iter().collect()
}

/// What follows when an entity is recalled in a project that is not its own; nothing unless it is the first time, as far as
/// that is remembered.
pub fn recall(state: &State, entity: Uuid, project: &str) -> Vec<Event> {
    let is_known = state
        .recalled
        .of(entity)
        .is_some_and(|known| known.contains(&project_print(project)) || known.len() >= RECALLED_IN_MAX);
    (!is_known).then(|| Event::EntityRecalled { entity, project: project.to_owned() }).into_iter().collect()
}

/// By what a project is told from others where its directory would take too much room.
pub fn project_print(project: &str) -> u64 {
    Mark::of(project.as_bytes()).0
}

/// What follows when a model is found to be enabled, or not to be; nothing where that is known.
pub fn switch_model(state: &State, is_enabled: bool, now: Timestamp) -> Vec<Event> {
    match (is_enabled, state.model_since) {
        (true, None) => vec![Event::ModelEnabled { at: now }],
        (false, Some(_)) => vec![Event::ModelDisabled],
        _ => Vec::new(),
    }
}

impl State {
    /// In how many projects besides its own an entity was recalled.
    pub fn recalled_in(&self, entity: Uuid) -> usize {
        self.recalled.of(entity).map_or(0, BTreeSet::len)
    }

    /// Whether what came into a group at a position was cleared since. Something of no group is of all.
    pub fn clears(&self, group: Option<&str>, since: Position) -> bool {
        let of_group = group.and_then(|group| self.cleared.get(group));
        since <= self.cleared_all.max(of_group.copied().unwrap_or_default())
    }

    /// Whether what came at a position was cleared with all groups since.
    pub fn clears_all(&self, since: Position) -> bool {
        since <= self.cleared_all
    }

    /// Whether anything is deleted in it: a home in which nothing is is told by its sessions alone.
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

    fn told(state: State, events: Result<Vec<Event>, Rejection>) -> State {
        events.unwrap().into_iter().fold(state, evolve)
    }

    #[test]
    fn what_is_cleared_is_what_was_there() {
        let mut state = State::default();
        let clears = |state: &State, group, since| state.clears(group, Position(since));
        assert!(!clears(&state, Some("a"), 1));
        state = told(state.clone(), clear(&state, &groups(&["a"]), Position(5)));
        assert_eq!([1, 5, 6].map(|at| clears(&state, Some("a"), at)), [true, true, false]);
        assert_eq!([Some("b"), None].map(|group| clears(&state, group, 1)), [false, false]);
        assert_eq!(clear(&state, &groups(&["a"]), Position(4)), Ok(Vec::new()), "no news");
        state = told(state.clone(), clear(&state, &[], Position(7)));
        assert_eq!(state.cleared.len(), 0, "all is more than one");
        assert_eq!([Some("a"), Some("b"), None].map(|group| clears(&state, group, 7)), [true; 3]);
        assert_eq!(clear(&state, &[], Position(7)), Ok(Vec::new()));
        assert_eq!(clear(&state, &groups(&["b"]), Position(7)), Ok(Vec::new()));
        state = told(state.clone(), clear(&state, &groups(&["b", "b"]), Position(9)));
        assert_eq!([Some("a"), Some("b")].map(|group| clears(&state, group, 9)), [false, true]);
        assert!(state.deletes() && !State::default().deletes());
    }

    #[test]
    fn what_was_cleared_comes_back() {
        let mut state = State::default();
        assert_eq!((restore(&state, None), restore(&state, Some("a"))), (vec![], vec![]));
        state = told(state.clone(), clear(&state, &groups(&["a", "b"]), Position(5)));
        state = told(state.clone(), Ok(restore(&state, Some("a"))));
        assert_eq!([Some("a"), Some("b")].map(|group| state.clears(group, Position(1))), [false, true]);
        state = told(state.clone(), clear(&state, &[], Position(7)));
        assert_eq!(restore(&state, Some("a")), [], "it was cleared with all");
        state = told(state.clone(), Ok(restore(&state, None)));
        assert_eq!(state, State::default());
    }

    #[test]
    fn at_a_bound_a_wish_is_refused_and_nothing_is_dropped() {
        let names: Vec<String> = (0..CLEARED_MAX).map(|number| format!("g{number}")).collect();
        let state = told(State::default(), clear(&State::default(), &names, Position(1)));
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
        state = told(state.clone(), delete_fact(&state, fact));
        assert_eq!(delete_fact(&state, fact), Ok(Vec::new()));
        let events = restore_fact(&state, fact);
        assert_eq!(events, [Event::FactRestored { fact }]);
        assert_eq!(told(state, Ok(events)), State::default());
    }

    #[test]
    fn only_the_first_recall_in_another_project_is_an_event() {
        let (entity, mut state) = (Uuid::from_u128(7), State::default());
        for project in ["/a", "/b", "/a", "/c", "/b"] {
            state = told(state.clone(), Ok(recall(&state, entity, project)));
        }
        assert_eq!((state.recalled_in(entity), state.recalled_in(Uuid::max())), (3, 0));
        assert_eq!(recall(&state, entity, "/c"), []);
        for number in 0..2 * RECALLED_IN_MAX {
            state = told(state.clone(), Ok(recall(&state, entity, &format!("/more/{number}"))));
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
        // The second one is in a new project: it is the youngest now, and the first one goes for it.
        let (known, of_it) = recalled(1, "/b");
        assert_eq!((known.len(), known[0], *known.last().unwrap(), of_it), (RECALLS_MAX - 1, 2, 1, 2));
        // What is new gets as far as being shared, however much was before it.
        let new = u128::MAX;
        let shared = ["/a", "/b", "/c"].map(|project| recalled(new, project).1);
        assert_eq!(shared, [1, 2, 3]);
        // One of several projects goes whole, and is not put in pieces.
        let (known, _) = (6..RECALLS_MAX as u128).map(|entity| recalled(entity, "/z")).last().unwrap();
        assert!(!known.contains(&2) && known.contains(&new), "{known:?}");
        // What has gone is news again.
        assert_eq!(recalled(0, "/a").1, 1);
    }
}
