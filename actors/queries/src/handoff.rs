//! The handoff: what a session learns about the one before it in its project. It is offered when the session begins,
//! claimed when a person types a prompt, and happens once per session. On request it is also returned to any caller,
//! without a record.
//!
//! The candidate is the newest ended session of the project whose episode contains work. A session that still runs, or
//! that contains no work, is skipped and claims nothing. What one session has claimed is not offered to another, even
//! after the claimer ended. All of this is in the states of sessions, so a restart neither repeats nor forgets it; the
//! decision and its record are made under one lock.
//!
//! An offer is recorded before its text is delivered, so a recorded offer may be undelivered: the record was late, or
//! the hook had stopped waiting and came again through the spool. This daemon remembers which; the next typed prompt of
//! that session delivers the text and claims the offer. Another daemon does not know: a text is delivered at most once
//! rather than twice.

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

pub(super) use self::candidate::may_be_in_use;
use self::candidate::{Candidate, Criteria, candidates, ended_at, is_under_way};
pub use self::prepared::Handoffs;
use baton_journal::session_stream;
use baton_tracking::hooks::CheckedHook;
use baton_tracking::session::{HandoffStep, Signalled};

/// Least time needed to record an offer: one that is recorded but not delivered is lost.
const RECORD: Duration = Duration::from_millis(5);
/// Most typed prompts and answers in the transcript when the hook of the first prompt arrives.
const FIRST_MESSAGES: u64 = 1;
/// Upper bound of a session's events by its first prompt.
const FIRST_EVENTS: usize = 64;

impl Handoffs {
    /// Returns the text for a session that begins or continues, if it is ready before `until`; otherwise it is delivered at
    /// the first prompt. The offer is durable in the session's state when this returns.
    pub(crate) async fn for_start(self: &Arc<Self>, signal: &CheckedHook, until: Instant) -> Option<String> {
        let (id, place, detail) = (&signal.session, signal.place.as_ref()?, signal.detail);
        self.hooks.wait_for_closes(signal, half_way_to(until)).await;
        let row = self.catalog().table.now().get(id).cloned();
        if detail == Some(SignalDetail::Compact) {
            return self.own_facts(id, until).await;
        }
        if row.as_ref().is_some_and(|row| row.state.handoff.is_some()) {
            return None;
        }
        let table = self.catalog().table.now();
        let wanted = criteria_for(&table, id, &place.project, detail)?;
        let chosen = self.choose(&wanted, until).await?;
        let text = self.text(&chosen, until).await;
        self.offer(id, &chosen, until).await.then_some(text).filter(|text| !text.is_empty())
    }

    /// Records that a person typed a prompt, which claims an offered handoff unless another session has claimed it. A
    /// session that was offered nothing at its start is offered one now, if this is its first prompt.
    pub(crate) async fn for_prompt(self: &Arc<Self>, signal: &CheckedHook, until: Instant) -> Option<String> {
        let id = &signal.session;
        let row = self.catalog().table.now().get(id).cloned();
        let state = row.as_ref().map(|row| &row.state);
        if let Some(handoff) = state.and_then(|state| state.handoff.as_ref()) {
            let text = match handoff.claimed || !self.hooks.take_undelivered(id) {
                true => None,
                false => self.undelivered_text(id, handoff, until).await,
            };
            if !handoff.claimed {
                self.claim(id, until).await;
            }
            return text;
        }
        let is_first = state.is_none_or(|state| {
            state.counts.messages <= FIRST_MESSAGES && state.signals.active_at.is_none_or(|active| active >= signal.at)
        });
        if !is_first {
            return None;
        }
        let place = signal.place.as_ref()?;
        self.hooks.wait_for_closes(signal, half_way_to(until)).await;
        let begun = self.beginning(id, until).await;
        let table = self.catalog().table.now();
        let wanted = criteria_for(&table, id, &place.project, begun)?;
        let chosen = self.choose(&wanted, until).await?;
        let text = self.text(&chosen, until).await;
        if !self.offer(id, &chosen, until).await {
            return None;
        }
        self.claim(id, until).await;
        Some(text).filter(|text| !text.is_empty())
    }

    /// How a session began or was last opened, if its hooks reported that and it can be read in time.
    async fn beginning(&self, id: &SessionId, until: Instant) -> Option<SignalDetail> {
        let (journal, stream) = (self.journal.clone(), StreamId::session(id));
        let reading = baton_base::task::spawn_blocking(move || {
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

    /// The text of an offer that was recorded but not delivered, unless another session has claimed it since.
    async fn undelivered_text(self: &Arc<Self>, id: &SessionId, handoff: &Handoff, until: Instant) -> Option<String> {
        let (table, _) = self.catalog().for_handoff();
        if claimer(&table, &handoff.from, handoff.episode, Some(id)).is_some() {
            return None;
        }
        let row = table.get(&handoff.from)?.clone();
        let shown = |state: &State| !self.catalog().settings.now().excludes(state);
        let current = table.visible_episode(&row).cloned().filter(|_| shown(&row.state))?;
        let Some((current, facts)) = self.facts(&handoff.from, current, until).await else {
            self.hooks.mark_undelivered(id);
            return None;
        };
        let chosen = HandoffSource { id: handoff.from.clone(), row, current, facts };
        Some(self.text(&chosen, until).await).filter(|text| !text.is_empty())
    }

    /// The handoff of a project for any caller; waits until `until` for a session that is being indexed. Not recorded.
    pub(crate) async fn project_handoff(self: &Arc<Self>, project: &str, until: Instant) -> Option<answer::Handoff> {
        let wanted = Criteria { project, excluded: Vec::new(), first: None, after: None };
        let chosen = self.choose(&wanted, until).await?;
        let taken_by = claimer(&self.catalog().table.now(), &chosen.id, chosen.current.uuid, None);
        Some(self.write_text(&chosen, Occasion::Handoff, taken_by.as_ref(), until).await)
    }

    /// Chooses the candidate. Waits for one that is being indexed.
    async fn choose(self: &Arc<Self>, wanted: &Criteria<'_>, until: Instant) -> Option<HandoffSource> {
        let mut table = self.catalog().table.clone();
        loop {
            table.newest();
            let (now, settings) = self.catalog().for_handoff();
            let mut waits = false;
            for candidate in candidates(&now, &settings, self.clock.now(), wanted) {
                let Candidate { id, row, under_way } = candidate;
                let current = now.visible_episode(&row).cloned();
                let (false, Some(current)) = (under_way, current) else {
                    waits = true;
                    break;
                };
                let (current, facts) = self.facts(&id, current, until).await?;
                if facts.relevant {
                    return Some(HandoffSource { id, row, current, facts });
                }
            }
            if !waits || !matches!(tokio::time::timeout_at(until, table.changed()).await, Ok(Ok(()))) {
                return None;
            }
        }
    }

    /// The session's own facts, if they are available in time.
    async fn own_facts(self: &Arc<Self>, id: &SessionId, until: Instant) -> Option<String> {
        let mut table = self.catalog().table.clone();
        loop {
            let row = table.newest().get(id).cloned()?;
            if is_under_way(&row.state)
                && matches!(tokio::time::timeout_at(half_way_to(until), table.changed()).await, Ok(Ok(())))
            {
                continue;
            }
            let current = self.catalog().table.now().visible_episode(&row).cloned()?;
            let (current, facts) = self.facts(id, current, until).await?;
            if !facts.relevant {
                return None;
            }
            let chosen = HandoffSource { id: id.clone(), row, current, facts };
            let text = self.write_text(&chosen, Occasion::Compaction, None, until).await.text;
            return Some(text).filter(|text| !text.is_empty());
        }
    }

    async fn text(self: &Arc<Self>, chosen: &HandoffSource, until: Instant) -> String {
        self.write_text(chosen, Occasion::Handoff, None, until).await.text
    }

    async fn write_text(
        self: &Arc<Self>,
        chosen: &HandoffSource,
        occasion: Occasion,
        claimed_by: Option<&SessionId>,
        until: Instant,
    ) -> answer::Handoff {
        let state = &chosen.row.state;
        let project = state.place.as_ref().map(|place| place.project.as_str());
        let (table, _) = self.catalog().for_handoff();
        let author = table.author(&chosen.id).cloned();
        let changed = match occasion {
            // Another machine's files are not looked at here.
            Occasion::Handoff if author.is_none() => {
                changes::changed_since(&self.looks, state, &chosen.facts, until).await
            }
            Occasion::Handoff | Occasion::Compaction => Vec::new(),
        };
        let about = About {
            occasion,
            session: &chosen.id,
            agent: state.transcript.as_ref().map(|transcript| transcript.agent),
            short: table.short_id(&chosen.id),
            episode: chosen.current.uuid,
            project,
            ended_at: Some(ended_at(state)),
            ended_by: state.end.map(|end| end.reason),
            author: author.as_ref().map(|author| (&*author.shown, &*author.machine)),
            claimed_by,
            changed: &changed,
            max_bytes: self.catalog().settings.now().handoff_bytes,
        };
        handoff::handoff(&chosen.facts, &about)
    }

    /// Records the offer. Returns `false` if the session had an offer before, if another session has claimed the handoff
    /// meanwhile, or if it could not be recorded in time.
    async fn offer(self: &Arc<Self>, id: &SessionId, chosen: &HandoffSource, until: Instant) -> bool {
        let Ok(_turn) = tokio::time::timeout_at(until, self.hooks.lock_handoffs()).await else { return false };
        let table = self.catalog().table.now();
        let told_before = table.get(id).is_some_and(|row| row.state.handoff.is_some());
        let left = until.saturating_duration_since(Instant::now());
        if told_before || left < RECORD || claimer(&table, &chosen.id, chosen.current.uuid, Some(id)).is_some() {
            return false;
        }
        let what = HandoffStep::Offered { episode: chosen.current.uuid, from: chosen.id.clone() };
        // Marks the offer as undelivered until it is known to be recorded in time; the hook may have stopped waiting by
        // then.
        self.hooks.mark_undelivered(id);
        match self.supervisor.record_handoff_step(id, what, left).await {
            Ok(Signalled::Recorded) => {
                self.hooks.take_undelivered(id);
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

    /// Calls [`Hooks::claim`](baton_tracking::hooks::Hooks::claim); the claim continues after the deadline.
    async fn claim(self: &Arc<Self>, id: &SessionId, until: Instant) {
        let (hooks, id) = (self.hooks.clone(), id.clone());
        let claiming = baton_base::task::spawn(async move { hooks.claim(&id).await });
        let _ = tokio::time::timeout_at(until, claiming).await;
    }
}

/// The handoff that a session with this beginning should get, or `None`.
fn criteria_for<'a>(
    table: &'a SessionTable,
    id: &'a SessionId,
    project: &'a str,
    begun: Option<SignalDetail>,
) -> Option<Criteria<'a>> {
    let row = table.get(id).map(|row| &**row);
    // A subagent works on what its parent tells it, and some agents continue one under its own id.
    if row.is_some_and(|row| row.state.is_subagent()) {
        return None;
    }
    let follows = row.and_then(|row| row.state.signals.follows.as_ref()).map(|follows| &follows.session);
    let wanted = Criteria { project, excluded: vec![id], first: None, after: None };
    Some(match begun {
        // After a compaction the session gets its own facts.
        Some(SignalDetail::Compact) => return None,
        // A resumed session knows its own history.
        Some(SignalDetail::Resume) => Criteria { after: Some(last_conversation_at(row)?), ..wanted },
        Some(SignalDetail::Fork) => {
            let parent = follows.and_then(|follows| table.get(follows)).map(|row| &**row);
            let after = last_conversation_at(row).or_else(|| last_conversation_at(parent))?;
            Criteria { excluded: [id].into_iter().chain(follows).collect(), after: Some(after), ..wanted }
        }
        _ => Criteria { first: follows, ..wanted },
    })
}

/// The session to hand over.
struct HandoffSource {
    id: SessionId,
    row: Arc<Row>,
    current: EpisodeRef,
    facts: Arc<Facts>,
}

/// Time of the last conversation in a session.
fn last_conversation_at(row: Option<&Row>) -> Option<Timestamp> {
    row?.state.last_conversation_at
}

/// Deadline for waiting on others; leaves half of the time for the following steps.
fn half_way_to(until: Instant) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now) / 2
}
