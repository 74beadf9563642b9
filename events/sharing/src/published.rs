//! Which events of a session are published, and how.

use baton_conversation::transcript::Cursor;
use baton_events::session::{Correction, Event, FileIdentity, MAX_CORRECTIONS, State, TailDigest};

use crate::batch::MAX_NAME_BYTES;
use crate::paths::Paths;

/// Longest directory of a published place, and longest address of a repository, in bytes.
const MAX_PLACE_BYTES: usize = 16 * MAX_NAME_BYTES;
const MAX_REMOTE_BYTES: usize = 512;

/// Checks an event of another writer: they may only say what this program would publish itself, and nothing without a
/// bound.
///
/// # Errors
///
/// What is wrong.
pub fn check(event: &Event) -> Result<(), &'static str> {
    let paths = Paths::default();
    let is_in_form = match event {
        // Redaction depends on the rules of the writer's version.
        Event::Located { place } => paths.relative_place(place) == *place,
        _ => publishable(event, &paths).as_ref() == Some(event),
    };
    if !is_in_form {
        return Err("it has an event that is not published, or not in this form");
    }
    match event {
        Event::Located { place } => {
            let remote = place.remote.as_ref().map_or(0, String::len);
            let longest = [&place.cwd, &place.project].map(String::len).into_iter().max();
            if remote > MAX_REMOTE_BYTES || longest > Some(MAX_PLACE_BYTES) {
                return Err("it names a place that is too long");
            }
        }
        Event::RecordsAppended { counts, .. } => {
            let names = counts.by_type.keys().chain(counts.unknown.keys()).chain(&counts.agent_version);
            if names.map(String::len).max() > Some(MAX_NAME_BYTES) {
                return Err("it counts by a name that is too long");
            }
        }
        _ => {}
    }
    Ok(())
}

/// Validates the state that another writer's events fold to.
///
/// # Errors
///
/// The first violated rule.
pub fn check_state(state: &State) -> Result<(), &'static str> {
    match state.corrections.entries.len() > MAX_CORRECTIONS {
        true => Err("it has more verdicts than a session may have"),
        false => Ok(()),
    }
}

/// The event as it is published; `None` if it means something on the writer's machine alone: where files lie, who
/// asked for what, what a model cost.
pub fn publishable(event: &Event, paths: &Paths) -> Option<Event> {
    let identity = FileIdentity::default();
    match event {
        Event::Discovered { agent, kind, at, .. } => {
            Some(Event::Discovered { agent: *agent, path: String::new(), identity, kind: kind.clone(), at: *at })
        }
        Event::Located { place } => Some(Event::Located { place: paths.place(place) }),
        Event::RecordsAppended { generation, from, to, counts, first_at, last_at, last_conversation_at, .. } => {
            Some(Event::RecordsAppended {
                generation: *generation,
                from: *from,
                to: Box::new(Cursor { offset: to.offset, line: to.line, ..Cursor::default() }),
                tail: TailDigest::default(),
                counts: counts.clone(),
                first_at: *first_at,
                last_at: *last_at,
                last_conversation_at: *last_conversation_at,
                late_index_at: None,
            })
        }
        Event::Rewritten { generation, .. } => Some(Event::Rewritten { generation: *generation, identity }),
        Event::Redacted { episode: Some(episode), .. } => {
            Some(Event::Redacted { episode: Some(episode.clone()), notes: Vec::new() })
        }
        Event::Corrected { correction: Correction::Title(_), .. } => None,
        Event::ParentFound { .. }
        | Event::Resumed
        | Event::Ended { .. }
        | Event::Indexed { .. }
        | Event::EpisodeDeleted { .. }
        | Event::EpisodeRestored { .. }
        | Event::Corrected { .. } => Some(event.clone()),
        Event::Moved { .. }
        | Event::WentIdle
        | Event::CloseRequested { .. }
        | Event::IndexingStarted { .. }
        | Event::IndexSkipped { .. }
        | Event::IndexingFailed { .. }
        | Event::Abandoned { .. }
        | Event::TrackingStopped
        | Event::TrackingResumed
        | Event::TrackingForced
        | Event::GroupAssigned { .. }
        | Event::Forgotten
        | Event::Restored { .. }
        | Event::Signalled { .. }
        | Event::HandoffOffered { .. }
        | Event::HandoffClaimed { .. }
        | Event::Redacted { episode: None, .. }
        // Others keep the whole conversation.
        | Event::Shortened { .. }
        | Event::EnrichmentOwed { .. }
        | Event::ModelCalled { .. }
        | Event::ModelAnswered { .. }
        | Event::Enriched { .. }
        | Event::EnrichmentGivenUp { .. } => None,
    }
}

/// Drops every event, given with its place, that names a conversation but the last one: the chunks of the others may
/// be collected already.
pub fn last_conversation_only<P>(events: &mut Vec<(P, Event)>) {
    let names_one = |event: &Event| matches!(event, Event::Indexed { .. } | Event::Redacted { .. });
    let Some(last) = events.iter().rposition(|(_, event)| names_one(event)) else { return };
    let mut at = 0;
    events.retain(|(_, event)| {
        at += 1;
        !names_one(event) || at == last + 1
    });
}

#[cfg(test)]
mod tests {
    use baton_events::session::{Counts, Place};

    use super::*;

    fn located(cwd: usize, project: usize, remote: usize) -> Event {
        let of = |bytes: usize| "x".repeat(bytes);
        Event::Located { place: Place::new(of(cwd), of(project)).with_remote(Some(of(remote))) }
    }

    fn appended(counts: Counts) -> Event {
        Event::RecordsAppended {
            generation: 1,
            from: 0,
            to: Box::default(),
            tail: TailDigest::default(),
            counts,
            first_at: None,
            last_at: None,
            last_conversation_at: None,
            late_index_at: None,
        }
    }

    #[test]
    fn what_others_say_is_bounded() {
        let by = |name: usize| [("x".repeat(name), 1)].into();
        let (name, place) = (MAX_NAME_BYTES, MAX_PLACE_BYTES);
        for (event, is_fine) in [
            (located(place, place, MAX_REMOTE_BYTES), true),
            (located(place + 1, 1, 1), false),
            (located(1, place + 1, 1), false),
            (located(1, 1, MAX_REMOTE_BYTES + 1), false),
            (appended(Counts { by_type: by(name), unknown: by(name), ..Counts::default() }), true),
            (appended(Counts { by_type: by(name + 1), ..Counts::default() }), false),
            (appended(Counts { unknown: by(name + 1), ..Counts::default() }), false),
            (appended(Counts { agent_version: Some("x".repeat(name + 1)), ..Counts::default() }), false),
            (Event::Forgotten, false),
        ] {
            assert_eq!(check(&event).is_ok(), is_fine, "{event:?}");
        }
    }
}
