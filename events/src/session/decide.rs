//! The rules: which events follow from a command in a state. They may refuse and change nothing.
//!
//! # Decisions
//!
//! - A lazy query that finds nothing to do, or a running job that covers everything, records nothing: recording it as
//!   skipped would grow the log with each query. After a failed index job, queries do not retry; the retry deadline, a
//!   change of the file or a close does.

mod correction;
mod enrichment;
mod signal;

use super::command::{Asleep, Close, Command, Complete, Discover, Observe, Redact, ReplacedConversation};
use super::event::{Event, Kind};
use super::reason::{CloseReason, FailureReason, UnindexedReason};
use super::state::{Phase, State, evolve};
use super::value::{EffectId, EpisodeRef, Tier};
use super::{
    Policy, Rejection, disconnect_deadline, idle_deadline, late_deadline, may_be_indexed_late, owed_close,
    timeout_deadline,
};
use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};

/// How far a record may be dated in the future: clocks differ, and zones are mistaken.
const DAY_MS: i64 = 24 * 3_600_000;

/// Returns the events that follow from `command` in `state`, or why it is refused. No events: nothing to change.
pub fn decide(
    id: &SessionId,
    state: &State,
    command: &Command,
    policy: &Policy,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    // An abandoned session without a transcript is as unknown as a new one.
    let phase = if state.is_unseen() { Phase::New } else { state.phase };
    if !allowed_in_rest(phase, command) {
        return Err(match phase {
            Phase::New => Rejection::NotDiscovered,
            Phase::Forgotten => Rejection::Forgotten,
            _ => Rejection::Untracked,
        });
    }
    // Switches are configuration, not events: they apply while they are set. A running job may finish, so that its work
    // is not repeated.
    let is_of_tracked = matches!(
        command,
        Command::Close(_)
            | Command::Reindex
            | Command::Signal(_)
            | Command::Offer { .. }
            | Command::Claim
            | Command::Enrich
            | Command::CallModel(_)
    );
    if !policy.tracked && is_of_tracked {
        return Err(Rejection::SwitchedOff);
    }
    match command {
        Command::Discover(discover) => decide_discover(state, discover, now),
        Command::Observe(observe) => decide_observe(state, observe, policy, now),
        Command::Rewrite { identity } => {
            Ok(vec![Event::Rewritten { generation: state.generation + 1, identity: *identity }])
        }
        Command::Vanish => Ok(decide_vanish(state)),
        Command::Close(close) => Ok(decide_close(state, close, policy, now)),
        Command::Wake { unread, asleep } => Ok(decide_wake(state, *unread, *asleep, policy, now)),
        Command::Complete(complete) => decide_complete(id, state, complete, policy, now),
        Command::Fail { effect, why } => decide_fail(id, state, *effect, *why, policy, now),
        Command::Reindex => Ok(decide_reindex(state)),
        Command::Untrack => Ok(match state.phase {
            Phase::Unindexed(UnindexedReason::Untracked) => Vec::new(),
            _ => vec![Event::TrackingStopped],
        }),
        Command::Track { force } => Ok(decide_track(state, *force)),
        Command::Assign { group } => Ok(match state.group.as_deref() == Some(group) {
            true => Vec::new(),
            false => vec![Event::GroupAssigned { group: group.clone() }],
        }),
        Command::Forget => Ok(match state.phase {
            Phase::Forgotten => Vec::new(),
            _ => vec![Event::Forgotten],
        }),
        Command::Restore { file_exists } => match state.phase {
            Phase::Forgotten => {
                Ok(vec![Event::Restored { generation: state.generation + 1, file_exists: *file_exists }])
            }
            _ => Err(Rejection::NotForgotten),
        },
        Command::Signal(signal) => Ok(signal::decide_signal(state, signal, policy, now)),
        Command::Offer { episode, from } => Ok(match state.handoff {
            None => vec![Event::HandoffOffered { episode: *episode, from: from.clone(), at: now }],
            Some(_) => Vec::new(),
        }),
        Command::Claim => Ok(match &state.handoff {
            Some(handoff) if !handoff.claimed => vec![Event::HandoffClaimed { episode: handoff.episode }],
            _ => Vec::new(),
        }),
        Command::DeleteEpisode { episode } => match &state.episode {
            Some(current) if current.uuid != *episode => Err(Rejection::WrongEpisode),
            None => Err(Rejection::WrongEpisode),
            Some(_) if state.deleted == Some(*episode) => Ok(Vec::new()),
            Some(_) => Ok(vec![Event::EpisodeDeleted { episode: *episode }]),
        },
        Command::RestoreEpisode { episode, is_cleared } => match &state.episode {
            Some(current) if current.uuid == *episode => {
                let is_hidden = *is_cleared || state.deleted == Some(*episode);
                Ok(is_hidden.then_some(Event::EpisodeRestored { episode: *episode }).into_iter().collect())
            }
            _ => Err(Rejection::WrongEpisode),
        },
        Command::Correct(corrections) => correction::decide_correct(state, corrections, now),
        Command::Redact(redact) => decide_redact(id, state, redact),
        Command::Shorten(conversation) => decide_shorten(id, state, conversation),
        Command::Enrich => enrichment::decide_enrich(state, now),
        Command::CallModel(call) => enrichment::decide_call(state, call, now),
        Command::TakeAnswer(taken) => enrichment::decide_answer(id, state, taken, policy, now),
        Command::LoseCall { id: call } => Ok(enrichment::decide_lost_call(id, state, *call, policy, now)),
        Command::GiveUpEnrichment { content, why } => Ok(enrichment::decide_give_up(state, *content, *why)),
    }
}

/// True if the command is allowed in this phase; new, forgotten and untracked sessions allow few.
fn allowed_in_rest(phase: Phase, command: &Command) -> bool {
    match phase {
        Phase::New => {
            // A session known only from hooks can be forgotten too, because its transcript may still come.
            matches!(
                command,
                Command::Discover(_)
                    | Command::Signal(_)
                    | Command::Offer { .. }
                    | Command::Claim
                    | Command::Forget
                    | Command::Wake { .. }
            )
        }
        // A tombstone survives rediscovery: finding the file again causes neither an event nor an error.
        Phase::Forgotten => {
            // The cost of a call is recorded whatever happened to its session.
            matches!(
                command,
                Command::Discover(_)
                    | Command::Forget
                    | Command::Restore { .. }
                    | Command::Wake { .. }
                    | Command::TakeAnswer(_)
                    | Command::LoseCall { .. }
            )
        }
        Phase::Unindexed(UnindexedReason::Untracked) => matches!(
            command,
            Command::Discover(_)
                | Command::Track { .. }
                | Command::Untrack
                | Command::Forget
                | Command::DeleteEpisode { .. }
                | Command::RestoreEpisode { .. }
                | Command::Correct(_)
                | Command::Redact(_)
                | Command::Shorten(_)
                | Command::Assign { .. }
                | Command::Wake { .. }
                | Command::TakeAnswer(_)
                | Command::LoseCall { .. }
        ),
        _ => true,
    }
}

fn decide_track(state: &State, force: bool) -> Vec<Event> {
    let stopped = state.phase == Phase::Unindexed(UnindexedReason::Untracked);
    let resumed = stopped.then_some(Event::TrackingResumed);
    resumed.into_iter().chain((force && !state.forced).then_some(Event::TrackingForced)).collect()
}

fn decide_discover(state: &State, discover: &Discover, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    if state.phase == Phase::Forgotten {
        return Ok(Vec::new());
    }
    let Some(known) = &state.transcript else {
        return Ok(vec![Event::Discovered {
            agent: discover.agent,
            path: discover.path.clone(),
            identity: discover.identity,
            kind: discover.kind.clone(),
            at: discover.written_at.map_or(now, |at| at.min(now)),
        }]);
    };
    let moved = known.path != discover.path;
    if moved && !discover.takes_over {
        return Err(Rejection::SecondFile { known: known.path.clone() });
    }
    let moved = moved.then(|| Event::Moved { path: discover.path.clone(), identity: discover.identity });
    // The missing file is back, though perhaps with nothing new in it: without this event, what was read before would
    // never be indexed.
    let found = (state.phase == Phase::Unindexed(UnindexedReason::Gone)).then_some(Event::Resumed);
    // The running job reads the old path, so its result says nothing about this file.
    let anew = state.job.filter(|_| moved.is_some()).map(|job| start_index(state, job.again.unwrap_or(job.reason)));
    Ok(moved.into_iter().chain(found).chain(anew).collect())
}

fn decide_observe(state: &State, observe: &Observe, policy: &Policy, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    if observe.generation != state.generation
        || observe.from != state.read.offset
        || observe.to.offset < observe.from
        || observe.to.line < state.read.line
    {
        return Err(Rejection::StaleRange { generation: state.generation, offset: state.read.offset });
    }
    let mut events = Vec::new();
    if let (None, Some(place)) = (&state.place, &observe.place) {
        events.push(Event::Located { place: place.clone() });
    }
    if let (Some(transcript), Some(parent)) = (&state.transcript, &observe.parent) {
        // Only the records of a Codex transcript show that it is a subagent's: they name a parent.
        let may_have_one = match transcript.kind {
            Kind::Subagent { parent: None } => true,
            Kind::Main => transcript.agent == Agent::Codex,
            Kind::Subagent { .. } => false,
        };
        if may_have_one {
            events.push(Event::ParentFound { parent: parent.clone() });
        }
    }
    if observe.to.offset == observe.from {
        return Ok(events);
    }
    let spoke = observe.counts.conversation > 0;
    // A record dated in the future would keep its session open for ever.
    let last_conversation_at = spoke.then(|| observe.last_conversation_at.unwrap_or(now).min(now));
    let late = spoke && is_late(state, observe, last_conversation_at, policy);
    events.push(Event::RecordsAppended {
        generation: observe.generation,
        from: observe.from,
        to: Box::new(observe.to.clone()),
        tail: observe.tail,
        counts: observe.counts.clone(),
        first_at: observe.first_at.filter(|at| at.since_ms(now) <= DAY_MS),
        last_at: observe.last_at.map(|at| at.min(now)),
        last_conversation_at,
        late_index_at: (late && may_be_indexed_late(state, &observe.counts))
            .then(|| now.plus_ms(policy.check_interval_ms)),
    });
    let open_again = match state.phase {
        Phase::Indexed | Phase::Failed | Phase::Unindexed(_) => true,
        Phase::Indexing => state.job.is_some_and(|job| !job.resumed),
        // Lifts an end that was recorded without an index: of an empty session, or one that a hook has just reported.
        _ => state.end.is_some(),
    };
    if spoke && !late && open_again {
        events.push(Event::Resumed);
        if let Some(reason) = left_again(state).filter(|_| policy.tracked) {
            let after = events.iter().fold(state.clone(), evolve);
            let close = Close { reason, note: None, by_self: false, unread: false };
            events.extend(decide_close(&after, &close, policy, now));
        }
    }
    Ok(events)
}

/// The owed close of a session that goes on after its end but is over all the same: a hook reported a later end while
/// the first one stood, before the lines in between were read. `None` if the session was started again since.
fn left_again(state: &State) -> Option<CloseReason> {
    let end = state.end.filter(|end| state.signals.started_at.is_none_or(|began| began <= end.at))?;
    owed_close(state).filter(|owed| owed.ends_session() && *owed != end.reason)
}

/// True if the records still belong to the recorded end: a transcript may lag behind its hook, and an agent that closes
/// its own session still writes a final message.
fn is_late(state: &State, observe: &Observe, last_at: Option<Timestamp>, policy: &Policy) -> bool {
    // Late records of an abandoned session are indexed only if it was empty, or if an owed close indexes them.
    let is_let_go =
        matches!(state.phase, Phase::Unindexed(why) if why != UnindexedReason::Empty) && owed_close(state).is_none();
    let Some(end) = state.end.filter(|_| !is_let_go) else { return false };
    if end.by_self && observe.counts.prompts == 0 {
        return true;
    }
    // A prompt typed after the end is not part of it.
    let typed_after = observe.counts.prompts > 0 && last_at.is_some_and(|at| at > end.at);
    !typed_after && last_at.is_some_and(|at| at < end.at.plus_ms(policy.late_grace_ms))
}

fn decide_vanish(state: &State) -> Vec<Event> {
    let unread = match state.phase {
        Phase::Active | Phase::Inactive | Phase::Failed => state.unindexed > 0 || state.episode.is_none(),
        _ => false,
    };
    match unread {
        true => vec![Event::Abandoned { why: UnindexedReason::Gone }],
        false => Vec::new(),
    }
}

fn decide_close(state: &State, close: &Close, policy: &Policy, now: Timestamp) -> Vec<Event> {
    let mut events = vec![Event::CloseRequested { reason: close.reason, note: close.note }];
    // A standing end keeps its reason and time: the first signal was the real one.
    let end = (close.reason.ends_session() && state.end.is_none()).then_some(Event::Ended {
        reason: close.reason,
        at: now,
        by_self: close.by_self,
    });
    match state.phase {
        Phase::Indexing => events.extend(end),
        // A file that could not be read may have grown: the job finds out, and fails if it still cannot be read.
        Phase::Indexed if state.unindexed == 0 && !close.unread && state.filter_is(policy.filter_version) => {
            if let Some(episode) = &state.episode {
                events.push(Event::IndexSkipped { effect: None, episode: episode.uuid, to: state.read.offset });
            }
            events.extend(end);
        }
        // Nothing to index; an episode from before a rewrite stays current.
        Phase::New | Phase::Active | Phase::Inactive | Phase::Failed | Phase::Unindexed(_)
            if state.counts.messages == 0 && (!close.unread || state.transcript.is_none()) =>
        {
            events.extend(end);
            if !matches!(state.phase, Phase::Unindexed(UnindexedReason::Empty | UnindexedReason::Gone)) {
                events.push(Event::Abandoned { why: UnindexedReason::Empty });
            }
            return events;
        }
        _ => {
            events.extend(end);
            events.push(start_index(state, close.reason));
        }
    }
    events.extend(enrichment::owed_by_close(state, close.reason, policy, now));
    events
}

fn start_index(state: &State, reason: CloseReason) -> Event {
    Event::IndexingStarted {
        effect: EffectId { generation: state.generation, start: state.starts + 1 },
        reason,
        to: state.read.offset,
    }
}

fn decide_wake(state: &State, unread: bool, asleep: Asleep, policy: &Policy, now: Timestamp) -> Vec<Event> {
    if !policy.tracked {
        return Vec::new();
    }
    let awake_now = now.plus_ms(-asleep.since_sign_ms.max(0));
    let awake_apart = now.plus_ms(-asleep.since_disconnect_ms.max(0));
    let disconnected = disconnect_deadline(state, policy).is_some_and(|at| awake_apart >= at);
    if let Some(reason) = owed_close(state).or(disconnected.then_some(CloseReason::McpDisconnect)) {
        return decide_close(state, &Close { reason, note: None, by_self: false, unread }, policy, now);
    }
    if timeout_deadline(state, policy).is_some_and(|at| awake_now >= at) {
        return match policy.timeout_disabled() {
            // An owed close stays owed: the transcript may still come.
            _ if state.phase == Phase::New && (state.end.is_some() || policy.timeout_disabled()) => {
                vec![Event::Abandoned { why: UnindexedReason::Empty }]
            }
            true => vec![Event::Abandoned { why: UnindexedReason::TimeoutDisabled }],
            false => {
                let close = Close { reason: CloseReason::InactivityTimeout, note: None, by_self: false, unread };
                decide_close(state, &close, policy, now)
            }
        };
    }
    let retry = state.phase == Phase::Failed && state.failure.is_some_and(|failure| now >= failure.retry_at);
    let late = late_deadline(state).is_some_and(|at| now >= at);
    if retry || late {
        return vec![start_index(state, state.last_close.unwrap_or(CloseReason::InactivityTimeout))];
    }
    if idle_deadline(state, policy).is_some_and(|at| awake_now >= at) {
        return vec![Event::WentIdle];
    }
    Vec::new()
}

fn decide_complete(
    id: &SessionId,
    state: &State,
    complete: &Complete,
    policy: &Policy,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let job = match state.job {
        Some(job) if job.effect == complete.effect && complete.generation == state.generation => job,
        _ => return Err(Rejection::UnknownEffect),
    };
    let first = match (&complete.stored, &state.episode) {
        (Some(stored), _) => {
            if stored.episode != super::episode_uuid(id, &complete.hash) {
                return Err(Rejection::WrongEpisode);
            }
            Event::Indexed {
                effect: job.effect,
                episode: EpisodeRef {
                    uuid: stored.episode,
                    tier: tier(state, complete),
                    hash: complete.hash,
                    filter_version: complete.filter_version,
                    generation: complete.generation,
                    to: complete.to,
                    manifest: stored.manifest,
                    items: stored.items,
                    at: now,
                },
            }
        }
        (None, Some(episode)) if episode.hash == complete.hash && episode.filter_version == complete.filter_version => {
            Event::IndexSkipped { effect: Some(job.effect), episode: episode.uuid, to: complete.to }
        }
        (None, _) => return Err(Rejection::WrongEpisode),
    };
    let after = evolve(state.clone(), &first);
    let mut events = vec![first];
    events.extend(enrichment::owed_by_index(state, &after, policy, now));
    if let (Some(reason), true) = (job.again, after.unindexed > 0) {
        events.push(start_index(&after, reason));
    }
    Ok(events)
}

fn decide_fail(
    id: &SessionId,
    state: &State,
    effect: EffectId,
    why: FailureReason,
    policy: &Policy,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if state.job.is_none_or(|job| job.effect != effect) {
        return Err(Rejection::UnknownEffect);
    }
    let attempts = state.failure.map_or(0, |failure| failure.attempts) + 1;
    let retry_at = now.plus_ms(policy.backoff_ms(id, attempts));
    let mut events = vec![Event::IndexingFailed { effect, why, attempts, retry_at }];
    if why == FailureReason::Gone {
        events.push(Event::Abandoned { why: UnindexedReason::Gone });
    }
    Ok(events)
}

/// Keeps the tier of an episode of the same content, or of the same bytes filtered by other rules. New conversation
/// makes a model's result stale.
fn tier(state: &State, complete: &Complete) -> Tier {
    let is_same =
        |old: &&EpisodeRef| old.hash == complete.hash || (old.generation, old.to) == (complete.generation, complete.to);
    state.episode.as_ref().filter(is_same).map_or(Tier::Extractive, |old| old.tier)
}

/// Ignores the tracking switches: stored data must hold no secret.
fn decide_redact(id: &SessionId, state: &State, redact: &Redact) -> Result<Vec<Event>, Rejection> {
    let mut episode = None;
    if let Some(conversation) = &redact.conversation {
        episode = Some(replaced_episode(id, state, conversation)?);
    }
    let notes: Vec<_> = redact.notes.iter().filter(|(old, new)| old != new).copied().collect();
    Ok(match episode.is_none() && notes.is_empty() {
        true => Vec::new(),
        false => vec![Event::Redacted { episode, notes }],
    })
}

/// Refused while a job runs, whose result would be built on what is replaced.
fn decide_shorten(id: &SessionId, state: &State, shorter: &ReplacedConversation) -> Result<Vec<Event>, Rejection> {
    let episode = replaced_episode(id, state, shorter)?;
    let is_same = state.job.is_none() && state.episode.as_ref().is_some_and(|current| current.hash == shorter.hash);
    if is_same { Ok(vec![Event::Shortened { episode }]) } else { Err(Rejection::WrongEpisode) }
}

/// The current episode with other files. Refused if they replace a conversation that is not current.
fn replaced_episode(id: &SessionId, state: &State, by: &ReplacedConversation) -> Result<EpisodeRef, Rejection> {
    let current = state.episode.as_ref().filter(|current| current.manifest == by.of);
    let uuid = super::episode_uuid(id, &by.hash);
    let current = current.filter(|_| by.stored.episode == uuid).ok_or(Rejection::WrongEpisode)?;
    let (manifest, items) = (by.stored.manifest, by.stored.items);
    Ok(EpisodeRef { uuid, hash: by.hash, manifest, items, ..current.clone() })
}

/// Starts a job after a failed one, and wherever there is an episode and this generation of the file has messages.
fn decide_reindex(state: &State) -> Vec<Event> {
    let has_both = state.episode.is_some() && state.counts.messages > 0;
    match state.phase {
        Phase::Failed => vec![start_index(state, CloseReason::Reindex)],
        Phase::Active
        | Phase::Inactive
        | Phase::Indexed
        | Phase::Unindexed(UnindexedReason::TimeoutDisabled | UnindexedReason::Gone | UnindexedReason::Empty)
            if has_both =>
        {
            vec![start_index(state, CloseReason::Reindex)]
        }
        _ => Vec::new(),
    }
}
