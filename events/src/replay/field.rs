//! A session's state as named fields, to show what an event changed.

use crate::prices::usd;
use crate::session::{Enrichment, Kind, Owed, Phase, State};
use baton_conversation::record::Timestamp;
use baton_protocol::answer::Change;
use baton_redaction::redact;

/// The fields of a state as text, without empty ones and without digests and fingerprints, which mean nothing to a
/// reader.
fn fields(state: &State) -> Vec<(&'static str, String)> {
    // Names every field, so that a new one must be added here or left out on purpose.
    let State {
        phase,
        transcript,
        place,
        group,
        forced,
        generation,
        read,
        tail: _,
        counts,
        first_at,
        discovered_at,
        last_at,
        last_conversation_at,
        end,
        last_close,
        close_note,
        episode,
        deleted,
        corrections,
        checked,
        unindexed,
        late_index_at,
        job,
        failure,
        starts,
        signals,
        handoff,
        enrichment,
    } = state;
    let mut fields = vec![("state", phase_name(*phase)), ("generation", generation.to_string())];
    let mut add = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
    let count = |count: u64| (count > 0).then(|| count.to_string());
    let moment = |at: &Option<Timestamp>| at.map(|at| at.to_string());
    if let Some(found) = transcript {
        add("agent", Some(found.agent.as_str().to_owned()));
        add("transcript", Some(redact(&found.path).into_owned()));
        add("file", Some(format!("device {} inode {}", found.identity.device, found.identity.inode)));
        add("discovered_at", Some(discovered_at.to_string()));
        if let Kind::Subagent { parent } = &found.kind {
            add("subagent_of", Some(parent.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string)));
        }
    }
    add("cwd", place.as_ref().map(|place| redact(&place.cwd).into_owned()));
    add("project", place.as_ref().map(|place| redact(&place.project).into_owned()));
    add("group", group.as_deref().map(|group| redact(group).into_owned()));
    add("forced", forced.then(|| "yes".to_owned()));
    add("read", (read.offset > 0).then(|| format!("byte {}, line {}", read.offset, read.line)));
    add("calls_in_flight", count(read.calls_in_flight() as u64));
    add("records", count(counts.records));
    add("conversation", count(counts.conversation));
    add("messages", count(counts.messages));
    add("typed", count(counts.prompts));
    add("malformed", count(counts.malformed));
    add("oversize", count(counts.oversize));
    let unknown: Vec<_> = counts.unknown.iter().map(|(kind, count)| format!("{kind:?} {count}")).collect();
    add("unknown", (!unknown.is_empty()).then(|| redact(&unknown.join(", ")).into_owned()));
    add("agent_version", counts.agent_version.as_ref().map(|version| redact(&format!("{version:?}")).into_owned()));
    add("first_at", moment(first_at));
    add("last_at", moment(last_at));
    add("last_conversation_at", moment(last_conversation_at));
    add(
        "end",
        end.map(|end| {
            format!("{} at {}{}", end.reason, end.at, if end.by_self { ", by the session itself" } else { "" })
        }),
    );
    add("last_close", last_close.map(|reason| reason.to_string()));
    add("close_note", close_note.map(|hash| hash.short()));
    add(
        "episode",
        episode.as_ref().map(|episode| {
            let (uuid, tier, to) = (episode.uuid, episode.tier.as_str(), episode.to);
            format!("{uuid} {tier}, generation {} to byte {to}, {} items", episode.generation, episode.items)
        }),
    );
    add("episode_deleted", deleted.map(|uuid| uuid.to_string()));
    add("title", corrections.title.map(|title| title.short()));
    add("corrected", count(corrections.entries.len() as u64));
    add("checked", checked.map(|checked| format!("generation {} to byte {}", checked.generation, checked.to)));
    add("unindexed", count(*unindexed));
    add("late_index_at", moment(late_index_at));
    add(
        "job",
        job.map(|job| {
            let mut text = format!("{} to byte {} for {}, covers {}", job.effect, job.to, job.reason, job.covers);
            if let Some(again) = job.again {
                text.push_str(&format!(", again for {again}"));
            }
            if job.resumed {
                text.push_str(", grown");
            }
            text
        }),
    );
    add(
        "failure",
        failure.map(|failure| format!("{}, {} in a row, next at {}", failure.why, failure.attempts, failure.retry_at)),
    );
    add("jobs_started", count(u64::from(*starts)));
    add("started_at", moment(&signals.started_at));
    add("follows", signals.follows.as_ref().map(|follows| format!("{} since {}", follows.session, follows.at)));
    add("active_at", moment(&signals.active_at));
    add("disconnected_at", moment(&signals.disconnected_at));
    add("close_owed", signals.close_owed.map(|reason| reason.to_string()));
    add(
        "handoff",
        handoff.as_ref().map(|handoff| {
            let what = if handoff.claimed { "taken over" } else { "told of" };
            format!("{what} episode {} of {} at {}", handoff.episode, handoff.from, handoff.at)
        }),
    );
    if let Some(known) = enrichment {
        add_enrichment(known, &mut add);
    }
    fields
}

/// The fields of the enrichment.
fn add_enrichment(known: &Enrichment, add: &mut impl FnMut(&'static str, Option<String>)) {
    let asked = |owed: Owed| if owed.asked { ", asked for" } else { "" };
    add("enrich", known.owed.map(|owed| format!("owed since {}{}", owed.at, asked(owed))));
    add("model_call", known.call.as_ref().map(|call| format!("{call} of {} since {}", call.model, call.at)));
    add("parts_answered", (!known.answers.is_empty()).then(|| known.answers.len().to_string()));
    add("complaint", known.complaint.map(|outcome| outcome.to_string()));
    let next = known.retry_at.map_or_else(String::new, |at| format!(", next at {at}"));
    let failed = known.failed.filter(|_| known.failures > 0);
    add("model_failure", failed.map(|failed| format!("{failed}, {} in a row{next}", known.failures)));
    let name = if known.current.is_some() { "asked_again_in_vain" } else { "not_enriched" };
    add(name, known.given_up.map(|(_, why)| why.to_string()));
    add(
        "enriched_by",
        known.current.as_ref().map(|by| format!("{} at {}, answer {}", by.model, by.at, by.answer.short())),
    );
    add("model_calls", (known.calls > 0).then(|| known.calls.to_string()));
    add("spent", (!known.costs.is_empty()).then(|| usd(known.spent_nanos())));
}

/// The name of the phase with its reason, if it has one. A session without events is `new`.
pub(super) fn phase_name(phase: Phase) -> String {
    match phase {
        Phase::New => "new".to_owned(),
        Phase::Unindexed(why) => format!("unindexed ({why})"),
        phase => phase.as_str().to_owned(),
    }
}

/// The fields in which two states differ: existing ones in their order, then new ones.
pub(super) fn changes(before: &State, after: &State) -> Vec<Change> {
    let (mut old, mut changes) = (fields(before), Vec::new());
    for (name, value) in fields(after) {
        let was = old.iter().position(|(known, _)| *known == name).map(|at| old.remove(at).1);
        if was.as_ref() != Some(&value) {
            changes.push(Change { field: name.to_owned(), before: was, after: Some(value) });
        }
    }
    changes.extend(old.into_iter().map(|(name, was)| Change {
        field: name.to_owned(),
        before: Some(was),
        after: None,
    }));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{CloseReason, End, UnindexedReason, evolve};

    fn check(before: &State, after: &State, expected: &[&str]) {
        let found: Vec<String> = changes(before, after)
            .into_iter()
            .map(|change| {
                let dash = || "-".to_owned();
                format!("{} {} {}", change.field, change.before.unwrap_or_else(dash), change.after.unwrap_or_else(dash))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_came_what_changed_and_what_went_is_told() {
        let new = State::default();
        check(&new, &new, &[]);
        let end = End { reason: CloseReason::Explicit, at: Timestamp(0), by_self: true };
        let over =
            State { phase: Phase::Unindexed(UnindexedReason::Empty), end: Some(end), unindexed: 2, ..State::default() };
        check(
            &new,
            &over,
            &[
                "state new unindexed (empty)",
                "end - explicit at 1970-01-01T00:00:00.000Z, by the session itself",
                "unindexed - 2",
            ],
        );
        check(
            &over,
            &evolve(over.clone(), &crate::session::Event::Resumed),
            &["state unindexed (empty) active", "end explicit at 1970-01-01T00:00:00.000Z, by the session itself -"],
        );
    }

    #[test]
    fn a_secret_in_a_path_is_not_told() {
        let place = |path: &str| crate::session::Place::new(path, path);
        let state = State { place: Some(place("/srv/sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6")), ..State::default() };
        for change in changes(&State::default(), &state) {
            assert!(change.after.as_deref().is_some_and(|text| text.starts_with("/srv/[redacted:")), "{change:?}");
        }
    }
}
