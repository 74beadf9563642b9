//! What a session is told of the one before it in its project: offered when it begins, claimed when somebody types a prompt
//! in it, once in its life; and the same for whoever asks, which is recorded nowhere.
//!
//! The candidate is the newest session of the project that is over and in whose episode something happened. A session that
//! still runs, or in which nothing happened, is passed over, and takes nothing away. What one session has claimed is not
//! offered to another, also when that one is over. All of that stands in the states of sessions, so that no restart repeats or forgets it; the
//! decision and its record are made under one lock.
//!
//! An offer is recorded before its text is given, so one may stand of which nobody was told: the record was late, or the
//! hook had stopped waiting and came again by the spool. This daemon remembers whose; the next typed prompt of that session
//! gives the text, and claims it. Another daemon does not know it any more: told once at most, rather than twice.

mod candidate;
mod changes;
mod prepared;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{SequenceNumber, SessionId, StreamId, Timestamp};
use baton_episode::handoff;
use baton_episode::handoff::{About, Facts, Occasion};
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{EpisodeRef, Event, Handoff, SignalDetail, SignalKind, State};
use baton_protocol::answer;
use baton_views::claim::claimer;
use tokio::time::Instant;

pub(super) use self::candidate::runs;
use self::candidate::{Candidate, Wanted, candidates, ended_at, is_under_way};
pub use self::prepared::{Handoffs, prepare};
use super::Services;
use baton_journal::session_stream;
use baton_tracking::hooks::Told;
use baton_tracking::session::{HandOver, Signalled};

/// Least time that must be left to record an offer: one that is recorded and not delivered is lost.
const RECORD: Duration = Duration::from_millis(5);
/// Typed prompts and answers that a transcript may hold when the hook of its first prompt is heard.
const FIRST_MESSAGES: u64 = 1;
/// Events of a session by its first prompt, generously.
const FIRST_EVENTS: usize = 64;

/// What is told to a session that begins or goes on, if it is ready before `until`. What is told of another session is
/// durable in the state of this one when this returns. What is not ready then is told at the first prompt.
pub(crate) async fn for_start(services: &Arc<Services>, told: &Told, until: Instant) -> Option<String> {
    let (id, place, detail) = (&told.session, told.place.as_ref()?, told.detail);
    services.hooks.closed(told, patience(until)).await;
    let row = services.table.now().get(id).cloned();
    if detail == Some(SignalDetail::Compact) {
        return own(services, id, until).await;
    }
    if row.as_ref().is_some_and(|row| row.state.handoff.is_some()) {
        return None;
    }
    let table = services.table.now();
    let wanted = wanted(&table, id, &place.project, detail)?;
    let chosen = choose(services, &wanted, until).await?;
    let text = text(services, &chosen, until).await;
    offer(services, id, &chosen, until).await.then_some(text).filter(|text| !text.is_empty())
}

/// Records that somebody typed a prompt in a session that was told something: that claims it, unless another session has. A session that was told nothing at its start is told it now, if this is its first prompt.
pub(crate) async fn for_prompt(services: &Arc<Services>, told: &Told, until: Instant) -> Option<String> {
    let id = &told.session;
    let row = services.table.now().get(id).cloned();
    let state = row.as_ref().map(|row| &row.state);
    if let Some(handoff) = state.and_then(|state| state.handoff.as_ref()) {
        let text = match handoff.claimed || !services.hooks.deliver(id) {
            true => None,
            false => again(services, id, handoff, until).await,
        };
        if !handoff.claimed {
            claim(services, id, until).await;
        }
        return text;
    }
    let is_first = state.is_none_or(|state| {
        state.counts.messages <= FIRST_MESSAGES && state.signals.active_at.is_none_or(|active| active >= told.at)
    });
    if !is_first {
        return None;
    }
    let place = told.place.as_ref()?;
    services.hooks.closed(told, patience(until)).await;
    let begun = begun(services, id, until).await;
    let table = services.table.now();
    let wanted = wanted(&table, id, &place.project, begun)?;
    let chosen = choose(services, &wanted, until).await?;
    let text = text(services, &chosen, until).await;
    if !offer(services, id, &chosen, until).await {
        return None;
    }
    claim(services, id, until).await;
    Some(text).filter(|text| !text.is_empty())
}

/// Whose work a session is told of that began like this; `None`: nobody's.
fn wanted<'a>(
    table: &'a SessionTable,
    id: &'a SessionId,
    project: &'a str,
    begun: Option<SignalDetail>,
) -> Option<Wanted<'a>> {
    let row = table.get(id).map(|row| &**row);
    let follows = row.and_then(|row| row.state.signals.follows.as_ref()).map(|follows| &follows.session);
    let wanted = Wanted { project, but: vec![id], first: None, after: None };
    Some(match begun {
        // It is told its own.
        Some(SignalDetail::Compact) => return None,
        // What it has read itself is no news.
        Some(SignalDetail::Resume) => Wanted { after: Some(known_to(row)?), ..wanted },
        Some(SignalDetail::Fork) => {
            let parent = follows.and_then(|follows| table.get(follows)).map(|row| &**row);
            let after = known_to(row).or_else(|| known_to(parent))?;
            Wanted { but: [id].into_iter().chain(follows).collect(), after: Some(after), ..wanted }
        }
        _ => Wanted { first: follows, ..wanted },
    })
}

/// How a session began or was last opened, as far as its hooks have said and that is read in time.
async fn begun(services: &Services, id: &SessionId, until: Instant) -> Option<SignalDetail> {
    let (journal, stream) = (services.journal.clone(), StreamId::session(id));
    let reading = tokio::task::spawn_blocking(move || {
        let records = journal.read_stream(&stream, SequenceNumber(0), FIRST_EVENTS).ok()?;
        let events = records.iter().rev().filter_map(|record| Some(session_stream::decode(record).ok()?.event));
        let starts = events.filter_map(|event| match event {
            Event::Signalled { signal } if signal.kind == SignalKind::SessionStart => Some(signal.detail),
            _ => None,
        });
        starts.take(1).next().flatten()
    });
    tokio::time::timeout_at(until, reading).await.ok()?.ok()?
}

/// The text of an offer that was recorded and not given, unless another has taken that over.
async fn again(services: &Arc<Services>, id: &SessionId, handoff: &Handoff, until: Instant) -> Option<String> {
    let table = services.table.now();
    if claimer(&table, &handoff.from, handoff.episode, Some(id)).is_some() {
        return None;
    }
    let row = table.get(&handoff.from)?.clone();
    let shown = |state: &State| !services.settings.now().excludes(state);
    let current = table.shown(&row).cloned().filter(|_| shown(&row.state))?;
    let Some((current, facts)) = prepared::facts(services, &handoff.from, current, until).await else {
        services.hooks.not_delivered(id);
        return None;
    };
    let chosen = Chosen { id: handoff.from.clone(), row, current, facts };
    Some(text(services, &chosen, until).await).filter(|text| !text.is_empty())
}

/// What there is to hand over in a project, to whoever asks; waits until `until` for a session that is just being indexed.
/// Recorded nowhere.
pub(super) async fn of_project(services: &Arc<Services>, project: &str, until: Instant) -> Option<answer::Handoff> {
    let wanted = Wanted { project, but: Vec::new(), first: None, after: None };
    let chosen = choose(services, &wanted, until).await?;
    let taken_by = claimer(&services.table.now(), &chosen.id, chosen.current.uuid, None);
    Some(written(services, &chosen, Occasion::Handoff, taken_by.as_ref(), until).await)
}

/// A session to be told of.
struct Chosen {
    id: SessionId,
    row: Arc<Row>,
    current: EpisodeRef,
    facts: Arc<Facts>,
}

/// Up to when a session knows what happened, if it has said anything.
fn known_to(row: Option<&Row>) -> Option<Timestamp> {
    row?.state.last_conversation_at
}

/// Until when others are waited for: half of the time is for what comes after.
fn patience(until: Instant) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now) / 2
}

/// The candidate. One that is just being indexed is waited for.
async fn choose(services: &Arc<Services>, wanted: &Wanted<'_>, until: Instant) -> Option<Chosen> {
    let mut table = services.table.clone();
    loop {
        let now = table.newest();
        let settings = services.settings.now();
        let mut waits = false;
        for candidate in candidates(&now, &settings, services.clock.now(), wanted) {
            let Candidate { id, row, under_way } = candidate;
            let current = now.shown(&row).cloned();
            let (false, Some(current)) = (under_way, current) else {
                waits = true;
                break;
            };
            let (current, facts) = prepared::facts(services, &id, current, until).await?;
            if facts.relevant {
                return Some(Chosen { id, row, current, facts });
            }
        }
        if !waits || !matches!(tokio::time::timeout_at(until, table.changed()).await, Ok(Ok(()))) {
            return None;
        }
    }
}

/// The session's own facts, as far as they are there in time.
async fn own(services: &Arc<Services>, id: &SessionId, until: Instant) -> Option<String> {
    let mut table = services.table.clone();
    loop {
        let row = table.newest().get(id).cloned()?;
        if is_under_way(&row.state)
            && matches!(tokio::time::timeout_at(patience(until), table.changed()).await, Ok(Ok(())))
        {
            continue;
        }
        let current = services.table.now().shown(&row).cloned()?;
        let (current, facts) = prepared::facts(services, id, current, until).await?;
        if !facts.relevant {
            return None;
        }
        let chosen = Chosen { id: id.clone(), row, current, facts };
        let text = written(services, &chosen, Occasion::Compaction, None, until).await.text;
        return Some(text).filter(|text| !text.is_empty());
    }
}

async fn text(services: &Arc<Services>, chosen: &Chosen, until: Instant) -> String {
    written(services, chosen, Occasion::Handoff, None, until).await.text
}

async fn written(
    services: &Arc<Services>,
    chosen: &Chosen,
    occasion: Occasion,
    claimed_by: Option<&SessionId>,
    until: Instant,
) -> answer::Handoff {
    let state = &chosen.row.state;
    let project = state.place.as_ref().map(|place| place.project.as_str());
    let changed = match occasion {
        Occasion::Handoff => changes::since(services.handoffs.looks(), state, &chosen.facts, until).await,
        Occasion::Compaction => Vec::new(),
    };
    let table = services.table.now();
    let about = About {
        occasion,
        session: &chosen.id,
        short: table.short_id(&chosen.id),
        episode: chosen.current.uuid,
        project,
        ended_at: Some(ended_at(state)),
        ended_by: state.end.map(|end| end.reason),
        claimed_by,
        changed: &changed,
        max_bytes: services.settings.now().handoff_bytes,
    };
    handoff::handoff(&chosen.facts, &about)
}

/// Records that a session is told of another. `false`: it was told something before, or another has claimed that meanwhile, or
/// it could not be recorded in time.
async fn offer(services: &Arc<Services>, id: &SessionId, chosen: &Chosen, until: Instant) -> bool {
    let Ok(_turn) = tokio::time::timeout_at(until, services.hooks.turn()).await else { return false };
    let table = services.table.now();
    let told_before = table.get(id).is_some_and(|row| row.state.handoff.is_some());
    let left = until.saturating_duration_since(Instant::now());
    if told_before || left < RECORD || claimer(&table, &chosen.id, chosen.current.uuid, Some(id)).is_some() {
        return false;
    }
    let what = HandOver::Offered { episode: chosen.current.uuid, from: chosen.id.clone() };
    // Until it is known to be recorded in time: whoever waits for it may be gone by then, and nobody is given the text.
    services.hooks.not_delivered(id);
    match services.supervisor.hand_over(id, what, left).await {
        Ok(Signalled::Recorded) => {
            services.hooks.deliver(id);
            tracing::info!(session = %id, from = %chosen.id, episode = %chosen.current.uuid, "handoff offered");
            true
        }
        Ok(Signalled::Known | Signalled::Refused(_)) => false,
        not_recorded => {
            tracing::debug!(session = %id, ?not_recorded, "handoff not offered");
            false
        }
    }
}

/// As [`Hooks::claim`](baton_tracking::hooks::Hooks::claim); what takes longer is done all the same.
async fn claim(services: &Arc<Services>, id: &SessionId, until: Instant) {
    let (hooks, id) = (services.hooks.clone(), id.clone());
    let claiming = tokio::spawn(async move { hooks.claim(&id).await });
    let _ = tokio::time::timeout_at(until, claiming).await;
}
