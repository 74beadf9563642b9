//! One stream, event by event: its state after each, and what each changed.

use super::field::{changes, phase_name};
use super::{Fact, Occurrence, owed, reason};
use crate::session::{Policy, State, evolve};
use crate::{home, memo};
use baton_conversation::record::SequenceNumber;
use baton_protocol::answer::HistoryEvent;

/// A stream folded so far. Unreadable events leave the state as it is, as in the session table.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Number of the last event.
    pub sequence: SequenceNumber,
    /// Number of the last event that was folded in.
    pub version: SequenceNumber,
    /// The session; stays new for other kinds of streams.
    pub state: State,
    /// The memo, if it is a memo's stream.
    pub memo: memo::State,
    /// The home, if it is the home's stream.
    pub home: home::State,
}

impl History {
    /// Folds the next event in.
    pub fn apply(&mut self, occurrence: &Occurrence) {
        self.sequence = occurrence.sequence;
        match &occurrence.fact {
            Fact::Session(event) => self.state = evolve(std::mem::take(&mut self.state), event),
            Fact::Memo(event) => self.memo = memo::evolve(std::mem::take(&mut self.memo), event),
            Fact::Home(event) => self.home = home::evolve(std::mem::take(&mut self.home), event.clone()),
            Fact::Unreadable(_) => return,
        }
        self.version = occurrence.sequence;
    }

    /// Folds the next event in and reports what it did. All text is redacted by the current rules.
    pub fn apply_and_describe(&mut self, occurrence: &Occurrence, policy: &Policy) -> HistoryEvent {
        let before = self.state.clone();
        self.apply(occurrence);
        let mut happened = occurrence.describe();
        if let Fact::Session(event) = &occurrence.fact {
            happened.why = reason::explain(&before, event, policy);
            happened.changed = changes(&before, &self.state);
        }
        if occurrence.stream.session_id().is_some() {
            happened.before = Some(phase_name(before.phase));
            happened.after = Some(phase_name(self.state.phase));
            happened.owed = owed(&self.state, policy);
        }
        happened
    }
}
