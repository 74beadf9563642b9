//! What follows from what a hook or a connection says. It is recorded in any case; the end of a session comes before the word
//! that brings it about, so that whoever folds the word knows whether it was one.

use crate::record::Timestamp;
use crate::session::{Event, Policy, Signal, State};

/// The facts that follow. A signal cannot have been noticed later than now.
pub(super) fn decide_signal(state: &State, signal: &Signal, policy: &Policy, now: Timestamp) -> Vec<Event> {
    let signal = Signal { at: signal.at.min(now), ..signal.clone() };
    // An end that already stands keeps its own reason and time.
    let end = signal.end().filter(|_| state.end.is_none() && !is_stale(state, &signal, policy));
    let ended = end.map(|reason| Event::Ended { reason, at: signal.at, by_self: false });
    ended.into_iter().chain([Event::Signalled { signal }]).collect()
}

/// Whether the session is known to have gone on after an end was noticed: the word was long on its way.
fn is_stale(state: &State, signal: &Signal, policy: &Policy) -> bool {
    let began_again = state.signals.started_at > Some(signal.at);
    let went_on = state.last_conversation_at > Some(signal.at.plus_ms(policy.late_grace_ms));
    began_again || went_on
}
