//! Where a session belongs.

use crate::session::{Phase, Place, State};

/// Where a session belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Belonging {
    /// The group it was put into, if any.
    pub group: Option<String>,
    /// Where it works, once known.
    pub place: Option<Place>,
    /// True if it is forgotten.
    pub is_forgotten: bool,
}

impl Belonging {
    pub(super) fn is_of(&self, state: &State) -> bool {
        self.group == state.group && self.place == state.place && self.is_forgotten == (state.phase == Phase::Forgotten)
    }
}

impl From<&State> for Belonging {
    fn from(state: &State) -> Self {
        let (group, place) = (state.group.clone(), state.place.clone());
        Self { group, place, is_forgotten: state.phase == Phase::Forgotten }
    }
}
