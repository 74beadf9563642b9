//! Which events of a session are published, and how.

use baton_conversation::transcript::Cursor;
use baton_events::session::{Correction, Event, FileIdentity, TailDigest};

use crate::paths::Paths;

/// The event as it is published; `None` if it means something on the writer's machine alone: where files lie, who
/// asked for what, what a model cost.
pub fn published(event: &Event, paths: &Paths) -> Option<Event> {
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
