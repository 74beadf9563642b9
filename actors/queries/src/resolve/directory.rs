//! Finds the session of a directory, for callers that are otherwise unknown.
//!
//! # Decisions
//!
//! - A call without an id from a session that was left by `/clear` or `/resume`, without a known successor, is an error
//!   that lists the open sessions of its directory.

use baton_views::{clones, visibility};
use std::cmp::Reverse;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, Place, State};
use baton_protocol::{Failure, code};

use crate::SESSIONS_NAMED;
use crate::client::failure;
use baton_base::project;
use baton_config::settings::Settings;

/// A session that may be the requested one.
struct Candidate<'a> {
    id: &'a SessionId,
    state: &'a State,
    /// Its directory.
    cwd: Option<String>,
    /// Time of its last activity, from its transcript and its hooks.
    at: Timestamp,
}

/// The only open session of a directory. Sessions in the directory itself take precedence over those elsewhere in its
/// project, and sessions active within the inactivity timeout over others. `begun` returns the place that hooks
/// reported for a session without a transcript. If several remain, the error lists them without any of their content.
pub(super) fn only_session(
    table: &SessionTable,
    settings: &Settings,
    begun: &dyn Fn(&SessionId) -> Option<Place>,
    now: Timestamp,
    directory: &str,
) -> Result<SessionId, Failure> {
    let candidates = candidates(table, settings, begun, now, directory);
    match candidates.as_slice() {
        [] => Err(failure(
            code::NOT_FOUND,
            format!(
                "no open session works in {directory}{}; give a session's id; `baton sessions` lists them",
                project::unresponsive_note(directory)
            ),
        )),
        [only] => Ok(only.id.clone()),
        several => {
            let (count, listed) = (several.len(), listed(several));
            let message = format!("{count} open sessions work in {directory}; give the id of one:{listed}");
            Err(failure(code::NOT_FOUND, message))
        }
    }
}

/// The failure for a caller whose own session is not the requested one, with the reason: lists the open sessions of its
/// directory.
pub(super) fn not_this_session(
    table: &SessionTable,
    settings: &Settings,
    begun: &dyn Fn(&SessionId) -> Option<Place>,
    now: Timestamp,
    (own, why): (&SessionId, &str),
    directory: Option<&str>,
) -> Failure {
    let candidates = directory.map(|directory| candidates(table, settings, begun, now, directory)).unwrap_or_default();
    let message = match candidates.as_slice() {
        [] => format!("session {own} {why}; give the id of the one that is meant; `baton sessions` lists them"),
        some => format!("session {own} {why}; give the id of the one that is meant:{}", listed(some)),
    };
    failure(code::NOT_FOUND, message)
}

/// The candidates, the last active first.
fn candidates<'a>(
    table: &'a SessionTable,
    settings: &Settings,
    begun: &dyn Fn(&SessionId) -> Option<Place>,
    now: Timestamp,
    directory: &str,
) -> Vec<Candidate<'a>> {
    let place = clones::joined(table, project::resolve_or_as_written(directory));
    let mut candidates: Vec<Candidate<'_>> =
        table.iter().filter_map(|(id, row)| candidate(id, &row.state, settings, begun, &place)).collect();
    let prefer = |candidates: &mut Vec<Candidate<'_>>, wanted: &dyn Fn(&Candidate<'_>) -> bool| {
        if candidates.iter().any(wanted) {
            candidates.retain(wanted);
        }
    };
    prefer(&mut candidates, &|candidate| candidate.cwd.as_deref() == Some(directory));
    let policy = &settings.policy;
    let within_ms = if policy.timeout_disabled() { policy.abandoned_after_ms } else { policy.inactivity_timeout_ms };
    prefer(&mut candidates, &|candidate| now.since_ms(candidate.at) < within_ms);
    candidates.sort_by_key(|candidate| (Reverse(candidate.at), candidate.id));
    candidates
}

/// The first candidates, one per line.
fn listed(candidates: &[Candidate<'_>]) -> String {
    let named = candidates.iter().take(SESSIONS_NAMED).map(|Candidate { id, state, at, .. }| {
        let phase = if state.is_unseen() { "just begun" } else { state.phase.as_str() };
        format!("\n  {id}  {phase}, last activity {at}")
    });
    let more = if candidates.len() > SESSIONS_NAMED { "\n  …" } else { "" };
    named.chain([more.to_owned()]).collect()
}

fn candidate<'a>(
    id: &'a SessionId,
    state: &'a State,
    settings: &Settings,
    begun: &dyn Fn(&SessionId) -> Option<Place>,
    place: &Place,
) -> Option<Candidate<'a>> {
    if state.end.is_some() || state.phase == Phase::Forgotten || state.is_subagent() || settings.excludes(state) {
        return None;
    }
    let signalled = state.signals.started_at.max(state.signals.active_at);
    if state.place.is_some() {
        let cwd = state.place.as_ref().map(|place| place.cwd.clone());
        let at = state.last_activity().max(signalled.unwrap_or(state.last_activity()));
        return visibility::is_in(state, &place.project).then_some(Candidate { id, state, cwd, at });
    }
    // The first records of a transcript may not contain the directory.
    let (at, begun) = (signalled?, begun(id)?);
    (begun.project == place.project).then_some(Candidate { id, state, cwd: Some(begun.cwd), at })
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::Agent;
    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::session::{CloseReason, Event, FileIdentity, Kind, Signal, SignalKind};

    use super::*;

    const MINUTE: i64 = 60_000;

    /// A session in a directory, discovered so many minutes ago.
    fn found(minutes: i64, cwd: &str) -> Vec<Event> {
        let (identity, kind, at) = (FileIdentity::default(), Kind::Main, Timestamp(-minutes * MINUTE));
        let place = Place::new(cwd, "/p");
        let discovered = Event::Discovered { agent: Agent::ClaudeCode, path: "/t".to_owned(), identity, kind, at };
        vec![discovered, Event::Located { place }]
    }

    fn signalled(kind: SignalKind, minutes: i64) -> Event {
        let at = Timestamp(-minutes * MINUTE);
        Event::Signalled { signal: Signal { kind, detail: None, at, follows: None } }
    }

    fn ended(mut events: Vec<Event>) -> Vec<Event> {
        events.push(Event::Ended { reason: CloseReason::HookClear, at: Timestamp(-1), by_self: false });
        events
    }

    fn and(mut events: Vec<Event>, event: Event) -> Vec<Event> {
        events.push(event);
        events
    }

    #[test]
    fn the_only_session_that_may_be_meant_is() {
        let check = |sessions: Vec<(&str, Vec<Event>)>, directory: &str, expected: Result<&str, &[&str]>| {
            let mut table = SessionTable::default();
            for (id, events) in &sessions {
                for (number, event) in (1..).zip(events) {
                    table.apply(Position(number), &SessionId::new(id).unwrap(), SequenceNumber(number), event);
                }
            }
            let begun = |id: &SessionId| {
                let place = Place::new("/p", "/p");
                id.as_str().starts_with("new").then_some(place)
            };
            let meant = only_session(&table, &Settings::default(), &begun, Timestamp(0), directory);
            match expected {
                Ok(id) => assert_eq!(meant.unwrap().as_str(), id, "{sessions:?}"),
                Err(said) => {
                    let message = meant.unwrap_err().message;
                    assert!(said.iter().all(|said| message.contains(said)), "{message}");
                }
            }
        };
        let start = || vec![signalled(SignalKind::SessionStart, 0)];
        check(vec![], "/p", Err(&["no open session works in /p"]));
        check(vec![("a", found(500, "/p"))], "/p", Ok("a"));
        check(vec![("a", found(5, "/p")), ("b", ended(found(1, "/p")))], "/p", Ok("a"));
        check(vec![("a", found(5, "/p")), ("b", found(6, "/p/b"))], "/p", Ok("a"));
        check(vec![("a", found(5, "/p")), ("b", found(40, "/p"))], "/p", Ok("a"));
        check(
            vec![("a", found(9, "/p")), ("b", found(5, "/p"))],
            "/p",
            Err(&["2 open sessions", "\n  b  active, last activity", "\n  a  active"]),
        );
        check(vec![("a", found(90, "/p")), ("b", found(40, "/p"))], "/p", Err(&["2 open sessions"]));
        // Hooks show activity in the session.
        let at_work = and(found(90, "/p"), signalled(SignalKind::UserPromptSubmit, 1));
        check(vec![("a", at_work), ("b", found(40, "/p"))], "/p", Ok("a"));
        // A session that has just begun has no transcript.
        check(vec![("new", start()), ("b", found(40, "/p"))], "/p", Ok("new"));
        check(vec![("new", start()), ("b", ended(found(1, "/p")))], "/p", Ok("new"));
        check(vec![("new", start()), ("b", found(2, "/p"))], "/p", Err(&["new  just begun", "b  active"]));
        check(vec![("other", start())], "/p", Err(&["no open session"]));
    }

    #[test]
    fn whoever_was_left_for_another_is_told_which_it_may_be() {
        let mut table = SessionTable::default();
        for (id, events) in [("a", ended(found(3, "/p"))), ("b", found(2, "/p")), ("c", found(1, "/q"))] {
            for (number, event) in (1..).zip(&events) {
                table.apply(Position(number), &SessionId::new(id).unwrap(), SequenceNumber(number), event);
            }
        }
        let (settings, left) = (Settings::default(), SessionId::new("a").unwrap());
        for (directory, named) in [(Some("/p"), true), (Some("/r"), false), (None, false)] {
            let meant = (&left, "was left for another");
            let said = not_this_session(&table, &settings, &|_| None, Timestamp(0), meant, directory).message;
            assert!(said.starts_with("session a was left for another; give "), "{said}");
            assert_eq!(said.contains("\n  b  active"), named, "{said}");
        }
    }
}
