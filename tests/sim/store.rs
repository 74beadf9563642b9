//! The stored conversations, and the memory, which follows the log with their help. Conversations are durable before an
//! event names them; those that no event names are collected; the memory has a checkpoint of its own.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use baton_conversation::transcript::Cursor;
use baton_events::envelope::Tail;
use baton_events::schema;
use baton_events::session::{EffectId, Event, Phase, State, TailDigest};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::invariant::Broken;
use crate::log::Log;
use crate::rng::Rng;

/// A stored conversation.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    pub(crate) items: Vec<Item>,
    pub(crate) cursor: Cursor,
    pub(crate) tail: TailDigest,
    is_synced: bool,
}

/// All stored conversations, by session and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    held: BTreeMap<(usize, ContentHash), Conversation>,
    /// What jobs have stored while it is unknown whether an event names it.
    unanswered: BTreeMap<usize, (EffectId, ContentHash)>,
}

impl Store {
    /// Writes a conversation under the name derived from its content.
    pub(crate) fn write(
        &mut self,
        session: usize,
        items: Vec<Item>,
        cursor: Cursor,
        tail: TailDigest,
    ) -> Result<ContentHash, Broken> {
        let mut bytes = Vec::new();
        for item in &items {
            let unwritten = |error| Broken::new("I-5", format!("item not written: {error}"));
            schema::item::encode(item, &mut bytes).map_err(unwritten)?;
        }
        let read: Result<Vec<Item>, _> = schema::item::decode_all(&bytes).collect();
        if read.as_ref().ok() != Some(&items) {
            return Err(Broken::new("I-5", format!("{items:?} were stored and {read:?} read back")));
        }
        bytes.extend_from_slice(&cursor.offset.to_be_bytes());
        bytes.extend_from_slice(&tail.0);
        let name = ContentHash(Sha256::digest(&bytes).into());
        self.held.entry((session, name)).or_insert(Conversation { items, cursor, tail, is_synced: false });
        Ok(name)
    }

    pub(crate) fn sync(&mut self, session: usize, name: &ContentHash) {
        if let Some(held) = self.held.get_mut(&(session, *name)) {
            held.is_synced = true;
        }
    }

    pub(crate) fn get(&self, session: usize, name: &ContentHash) -> Option<&Conversation> {
        self.held.get(&(session, *name))
    }

    pub(crate) fn has_any(&self, session: usize) -> bool {
        self.held.keys().any(|(owner, _)| *owner == session)
    }

    /// A job has ended and stored this; its session has not answered yet.
    pub(crate) fn stored(&mut self, session: usize, effect: EffectId, name: ContentHash) {
        self.unanswered.insert(session, (effect, name));
    }

    /// No event will name what this job has stored.
    pub(crate) fn disown(&mut self, session: usize, effect: EffectId) {
        if self.unanswered.get(&session).is_some_and(|(by, _)| *by == effect) {
            self.unanswered.remove(&session);
        }
    }

    /// Removes what the table does not name, unless a job's report is pending.
    pub(crate) fn collect(&mut self, session: usize, state: Option<&State>, is_rash: bool) {
        let named = state.and_then(|state| state.episode.as_ref()).map(|episode| episode.manifest);
        // The report of a job that is not the current one can only be refused.
        let runs = state.and_then(|state| state.job).map(|job| job.effect);
        if self.unanswered.get(&session).is_some_and(|(by, _)| Some(*by) != runs) {
            self.unanswered.remove(&session);
        }
        if !self.unanswered.contains_key(&session) || is_rash {
            self.held.retain(|(owner, name), _| *owner != session || Some(*name) == named);
        }
    }

    /// The process ends, perhaps with the power.
    pub(crate) fn crash(&mut self, power: bool, rng: &mut Rng) {
        self.unanswered.clear();
        self.held.retain(|_, held| !power || held.is_synced || rng.percent(50));
        self.held.values_mut().for_each(|held| held.is_synced = true);
    }
}

/// What searches find: for each session its episode and the content hash of that.
pub(crate) type Found = BTreeMap<usize, (Uuid, ContentHash)>;

/// The memory: folded from the log with the help of the store; uncommitted changes are lost with the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) found: Found,
    pub(crate) at: Tail,
    committed: (Found, Tail),
}

impl Memory {
    /// Applies some records of the log. `states` are the sessions according to the newest table.
    pub(crate) fn follow(
        &mut self,
        log: &Log,
        store: &Store,
        states: &[Option<State>],
        records: usize,
        misses_tombstones: bool,
    ) -> Result<(), Broken> {
        for kept in log.kept.iter().skip(self.at.position.0 as usize).take(records) {
            let Some(session) = session_of(kept.recorded.stream.as_str()) else { continue };
            let state = states.get(session).and_then(Option::as_ref);
            match &kept.recorded.event {
                Event::Indexed { episode, .. } => {
                    let is_current = state.and_then(|state| state.episode.as_ref()) == Some(episode);
                    match store.get(session, &episode.manifest) {
                        Some(held) => {
                            let hash = ContentHash::digest(&held.items);
                            if hash != episode.hash || held.items.len() as u64 != episode.items {
                                return Err(Broken::new(
                                    "I-5",
                                    format!("the conversation of s{session} is not what its episode says"),
                                ));
                            }
                            self.found.insert(session, (episode.uuid, hash));
                        }
                        None if is_current => {
                            return Err(Broken::new(
                                "I-7",
                                format!("the conversation that the log names for s{session} is missing"),
                            ));
                        }
                        // A newer conversation follows in the log.
                        None => {}
                    }
                }
                Event::Forgotten if !misses_tombstones => {
                    self.found.remove(&session);
                }
                _ => {}
            }
            self.at = Tail { position: kept.recorded.position, chain: kept.chain };
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self) {
        self.committed = (self.found.clone(), self.at);
    }

    /// Continues from the last commit, if that belongs to this log's history; else from nothing.
    pub(crate) fn restart(&mut self, log: &Log) {
        if log.chain_at(self.committed.1.position) != Some(self.committed.1.chain) {
            self.committed = Default::default();
        }
        (self.found, self.at) = self.committed.clone();
    }

    /// I-5 and I-11: once it has caught up, it holds what a rebuilt memory would hold.
    pub(crate) fn check(&self, log: &Log, store: &Store, states: &[Option<State>]) -> Result<(), Broken> {
        if self.at.position != log.tail().position {
            return Ok(());
        }
        let mut rebuilt = Found::new();
        for (session, state) in states.iter().enumerate() {
            let Some(state) = state else { continue };
            if state.phase == Phase::Forgotten && self.found.contains_key(&session) {
                return Err(Broken::new("I-11", format!("the memory still finds s{session}, which is forgotten")));
            }
            if let Some(episode) = &state.episode
                && let Some(held) = store.get(session, &episode.manifest)
            {
                rebuilt.insert(session, (episode.uuid, ContentHash::digest(&held.items)));
            }
        }
        if rebuilt == self.found {
            return Ok(());
        }
        let differ: BTreeSet<&usize> = rebuilt.keys().chain(self.found.keys()).collect();
        Err(Broken::new("I-5", format!("memory {:?}, built anew {rebuilt:?}, of sessions {differ:?}", self.found)))
    }
}

/// The number of a session, from its stream.
pub(crate) fn session_of(stream: &str) -> Option<usize> {
    stream.strip_prefix("session:s")?.parse().ok()
}
