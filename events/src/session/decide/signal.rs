//! What follows from what a hook or a connection says. It is recorded in any case; the end of a session comes before the word
//! that brings it about, so that whoever folds the word knows whether it was one.

use crate::session::{Event, Policy, Signal, State};
use baton_conversation::record::Timestamp;

/// The facts that follow. A signal cannot have been noticed later than now.
pub(super) fn decide_signal(state: &State, signal: &Signal, policy: &Policy, now: Timestamp) -> Vec<Event> {
    let signal = Signal { at: signal.at.min(now), ..signal.clone() };
    let went_on = went_on_unread(state, &signal);
    // An end that already stands keeps its own reason and time.
    let end = signal.end().filter(|_| (state.end.is_none() || went_on) && !is_stale(state, &signal, policy));
    let mut events = Vec::new();
    if let Some(reason) = end {
        events.extend(went_on.then_some(Event::Resumed));
        events.push(Event::Ended { reason, at: signal.at, by_self: false });
    }
    events.push(Event::Signalled { signal });
    events
}

/// Whether somebody was at work in the session after the end that stands: what was said then may not be read yet, and what
/// is noticed now is its end. That somebody opened it says nothing; it may have been left without a word.
fn went_on_unread(state: &State, signal: &Signal) -> bool {
    let Some(end) = state.end.filter(|_| state.transcript.is_some()) else { return false };
    let since = |at: Option<Timestamp>| at.is_some_and(|at| end.at < at && at <= signal.at);
    // An agent that closed its own session still answers: that it was at work after its close is no sign of more.
    since(state.signals.active_at) && (!end.by_self || since(state.signals.started_at))
}

/// Whether the session is known to have gone on after an end was noticed: the word was long on its way.
fn is_stale(state: &State, signal: &Signal, policy: &Policy) -> bool {
    let began_again = state.signals.started_at > Some(signal.at);
    let went_on = state.last_conversation_at > Some(signal.at.plus_ms(policy.late_grace_ms));
    began_again || went_on
}
