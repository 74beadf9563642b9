//! What concerns the whole home and no session: the directories that clients have named.
//!
//! Decided and folded like a session, only smaller. Whether a directory may be read is for the shell to find out first;
//! here it is only told once, and counted.

use std::fmt;

/// Roots that clients may name: their agents' settings are not ours to trust without a bound.
pub const ROOTS_MAX: usize = 8;

/// Something that happened to the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client named a directory whose transcripts are read from now on.
    RootAdded(NamedRoot),
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
    /// One line; the path as it was recorded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::RootAdded(root) = self;
        write!(f, "transcripts below {} are read too, named by {}", root.config_dir, root.named_by)
    }
}

/// What is so now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// In the order in which they were named.
    pub roots: Vec<NamedRoot>,
}

/// Why a directory was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There are [`ROOTS_MAX`] already.
    #[error("{ROOTS_MAX} directories were named by clients already")]
    TooManyRoots,
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

/// Folds one event in. Total.
pub fn evolve(mut state: State, event: Event) -> State {
    match event {
        Event::RootAdded(root) => state.roots.push(root),
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
}
