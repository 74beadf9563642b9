//! Rules of signals. Each signal is recorded; the end that it causes is recorded before it, so that the fold of the
//! signal can tell whether it was one.

use crate::session::{Event, Policy, Signal, State};
use baton_conversation::record::Timestamp;

/// Returns the events that follow. A signal cannot have been noticed later than now.
pub(super) fn decide_signal(state: &State, signal: &Signal, policy: &Policy, now: Timestamp) -> Vec<Event> {
    let signal = Signal { at: signal.at.min(now), ..signal.clone() };
    let went_on = went_on_unread(state, &signal);
    // A standing end keeps its reason and time.
    let end = signal.end().filter(|_| (state.end.is_none() || went_on) && !is_stale(state, &signal, policy));
    let mut events = Vec::new();
    if let Some(reason) = end {
        events.extend(went_on.then_some(Event::Resumed));
        events.push(Event::Ended { reason, at: signal.at, by_self: false });
    }
    events.push(Event::Signalled { signal });
    events
}

/// True if there was activity after the standing end: what was said then may not be read yet, and this signal is its
/// end. Merely opening the session is not activity.
fn went_on_unread(state: &State, signal: &Signal) -> bool {
    let Some(end) = state.end.filter(|_| state.transcript.is_some()) else { return false };
    let since = |at: Option<Timestamp>| at.is_some_and(|at| end.at < at && at <= signal.at);
    // An agent that closed its own session still answers, so activity after its close means nothing by itself.
    since(state.signals.active_at) && (!end.by_self || since(state.signals.started_at))
}

/// True if the session is known to have gone on after the end was noticed: the signal was delayed.
fn is_stale(state: &State, signal: &Signal, policy: &Policy) -> bool {
    let began_again = state.signals.started_at > Some(signal.at);
    let went_on = state.last_conversation_at > Some(signal.at.plus_ms(policy.late_grace_ms));
    began_again || went_on
}
