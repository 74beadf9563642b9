//! Rules of corrections: what changes nothing is not recorded again.

use crate::session::correction::{Correction, MAX_CORRECTIONS};
use crate::session::{Event, Rejection, State};
use baton_conversation::record::Timestamp;

/// Records the corrections that change something. Refused as a whole if there is no episode, or if they would be too
/// many.
pub(super) fn decide_correct(
    state: &State,
    corrections: &[Correction],
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if state.episode.is_none() {
        return Err(Rejection::NoSuchContent);
    }
    let mut after = state.corrections.clone();
    let mut events = Vec::new();
    for correction in corrections {
        if !after.holds(correction) {
            after.apply(correction, now);
            events.push(Event::Corrected { correction: *correction, at: now });
        }
    }
    match after.entries.len() > MAX_CORRECTIONS {
        true => Err(Rejection::TooManyCorrections),
        false => Ok(events),
    }
}
