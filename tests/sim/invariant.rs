//! What must hold after every step, by the ids of the invariants.

use std::collections::BTreeMap;

use baton_conversation::record::{CommandId, SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Aggregate, CloseReason, Event, Phase, State, Tier, episode_uuid};

use crate::log::{Kept, Log};

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) id: &'static str,
    pub(crate) what: String,
}

impl Broken {
    pub(crate) fn new(id: &'static str, what: impl Into<String>) -> Self {
        Self { id, what: what.into() }
    }
}

/// Fails with the invariant's id unless it holds.
pub(crate) fn ensure(id: &'static str, holds: bool, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(id, what())) }
}

/// A command that is repeated after this time counts as a new one.
const REMEMBERED_FOR_MS: i64 = 24 * 3_600_000;

/// What was seen of the log so far, so that each record is checked once.
#[derive(Default)]
pub(crate) struct Watch {
    seen: usize,
    /// Each command id with the append that answered it, and when.
    causes: BTreeMap<(String, CommandId), (u64, Timestamp)>,
    latest: BTreeMap<String, Timestamp>,
    ranges: BTreeMap<String, (u32, u64)>,
    sequences: BTreeMap<String, u64>,
    folds: BTreeMap<SessionId, State>,
    /// The last requested close of each stream, with its append.
    asked: BTreeMap<String, (u64, CloseReason)>,
    /// An end whose cause must follow.
    ended: BTreeMap<String, (u64, CloseReason, Timestamp)>,
}

impl Watch {
    /// Checks I-3, I-4, I-6, I-8 and I-11 for the new records.
    pub(crate) fn follow(&mut self, log: &Log) -> Result<(), Broken> {
        for index in self.seen..log.kept.len() {
            self.record(index, &log.kept[index])?;
        }
        self.seen = log.kept.len();
        Ok(())
    }

    fn record(&mut self, index: usize, kept: &Kept) -> Result<(), Broken> {
        let recorded = &kept.recorded;
        let stream = recorded.stream.to_string();
        ensure("I-3", recorded.position.0 == index as u64 + 1, || {
            format!("{:?} at place {}", recorded.position, index + 1)
        })?;
        let sequence = self.sequences.entry(stream.clone()).or_default();
        *sequence += 1;
        ensure("I-3", recorded.sequence.0 == *sequence, || {
            format!("{:?} in {stream} after {}", recorded.sequence, *sequence - 1)
        })?;
        let latest = self.latest.entry(stream.clone()).or_insert(recorded.at);
        *latest = recorded.at.max(*latest);
        if let Some(cause) = &recorded.metadata.cause {
            let first = self.causes.entry((stream.clone(), cause.clone())).or_insert((kept.append, recorded.at));
            let forgotten = latest.since_ms(first.1) > REMEMBERED_FOR_MS;
            ensure("I-4", first.0 == kept.append || forgotten, || {
                format!("{cause} has brought about events twice in {stream}")
            })?;
            if forgotten {
                *first = (kept.append, recorded.at);
            }
        }
        let Some(id) = recorded.stream.session_id() else { return Ok(()) };
        let before = self.folds.remove(&id).unwrap_or_default();
        let was_ended = self.ended.remove(&stream);
        match &recorded.event {
            Event::CloseRequested { reason, .. } => drop(self.asked.insert(stream.clone(), (kept.append, *reason))),
            // The reason of an end is that of the close in the same append, or of the hook's signal that follows at
            // once.
            Event::Ended { reason, at, .. } => {
                ensure("I-8", before.end.is_none(), || format!("{stream} ends twice: {:?}", before.end))?;
                if self.asked.get(&stream) != Some(&(kept.append, *reason)) {
                    self.ended.insert(stream.clone(), (kept.append, *reason, *at));
                }
            }
            Event::Signalled { signal } => {
                ensure("I-8", signal.at <= recorded.at, || format!("{stream}: {signal} is of the future"))?;
                let told = signal.end().map(|reason| (kept.append, reason, signal.at));
                ensure("I-8", was_ended.is_none() || was_ended == told, || {
                    format!("{stream} has ended by {was_ended:?}, and that was {told:?}")
                })?;
            }
            Event::RecordsAppended { generation, from, to, .. } => {
                let range = self.ranges.entry(stream.clone()).or_insert((*generation, 0));
                let expected = if range.0 == *generation { range.1 } else { 0 };
                ensure("I-6", *from == expected && *generation >= range.0, || {
                    format!("{stream} counts from {from} of generation {generation}, after {range:?}")
                })?;
                *range = (*generation, to.offset);
            }
            Event::Indexed { episode, .. } => {
                ensure("I-8", episode.uuid == episode_uuid(&id, &episode.hash), || {
                    format!("{stream}: the uuid of {episode:?}")
                })?;
                let same = before
                    .episode
                    .as_ref()
                    .is_some_and(|old| old.hash == episode.hash && old.filter_version == episode.filter_version);
                ensure("I-8", !same, || format!("{stream}: unchanged content was stored a second time: {episode:?}"))?;
            }
            // The model is not asked again about the same content, and never twice at once.
            Event::ModelCalled { call } => {
                let is_news = before
                    .episode
                    .as_ref()
                    .is_some_and(|episode| episode.hash == call.content && episode.tier == Tier::Extractive);
                ensure("I-8", is_news, || format!("{stream} asks a model about {:?}", before.episode))?;
                let running = before.enrichment().and_then(|known| known.call.as_ref());
                ensure("I-8", running.is_none(), || format!("{stream} asks twice at once: {running:?}"))?;
            }
            Event::Enriched { episode, .. } => {
                let current = before.episode.as_ref().map(|current| current.uuid);
                ensure("I-8", current == Some(*episode), || {
                    format!("{stream} enriches {episode}, and its episode is {current:?}")
                })?;
            }
            _ => {}
        }
        let has_cause = was_ended.is_none() || matches!(recorded.event, Event::Signalled { .. });
        ensure("I-8", has_cause, || format!("{stream} has ended by {was_ended:?} and nothing said so"))?;
        let before_spent = before.clone();
        let after = baton_events::session::evolve(before, &recorded.event);
        let spent = |state: &State| state.enrichment().map_or(0, |known| known.spent_nanos());
        let (had, has) = (spent(&before_spent), spent(&after));
        ensure("I-8", has + 1_000 >= had, || format!("{stream} has spent {has} after {had}: costs are lost"))?;
        ensure("I-11", after.phase != Phase::Forgotten || after.episode.is_none(), || {
            format!("{stream} is forgotten and has an episode")
        })?;
        self.folds.insert(id, after);
        Ok(())
    }

    /// The state by the records seen so far, which says how often a session's file was forgotten, read, or rewritten.
    pub(crate) fn state(&self, id: &SessionId) -> Option<&State> {
        self.folds.get(id)
    }
}

/// I-2: the live aggregate equals its history, as far as it has seen that.
pub(crate) fn live_is_rehydrated(log: &Log, live: &Aggregate) -> Result<(), Broken> {
    let stream = baton_conversation::record::StreamId::session(live.id());
    let rehydrated =
        Aggregate::rehydrate(live.id().clone(), log.history(&stream).take(live.version().0 as usize).cloned());
    ensure("I-2", rehydrated.as_ref() == Ok(live), || format!("live {live:?}\nrehydrated {rehydrated:?}"))
}

/// I-5: the maintained table equals one folded anew.
pub(crate) fn table_is_rebuilt(log: &Log, table: &SessionTable) -> Result<(), Broken> {
    let mut rebuilt = SessionTable::default();
    for kept in &log.kept {
        fold(&mut rebuilt, kept);
    }
    let same = rebuilt.position() == table.position() && rebuilt.state_hash() == table.state_hash();
    ensure("I-5", same, || {
        format!("the table at {:?} is not the one folded anew at {:?}", table.position(), rebuilt.position())
    })
}

/// Applies one record to the table.
pub(crate) fn fold(table: &mut SessionTable, kept: &Kept) {
    let recorded = &kept.recorded;
    match recorded.stream.session_id() {
        Some(id) => table.apply(recorded.position, &id, recorded.sequence, &recorded.event),
        None => table.skip(recorded.position, true),
    }
}
