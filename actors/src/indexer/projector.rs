//! The memory's own thread: takes what the journal says into the searchable memory, in order, and commits it together
//! with how far it came.
//!
//! It sleeps until the table changes or somebody waits. What it cannot take in is lag, shown in `status`; nothing else
//! depends on it. After an error it throws away what is not committed and starts over from its checkpoint.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use baton_events::conversation::{Agent, Item};
use baton_events::envelope::StoredRecord;
use baton_events::graph::Surroundings;
use baton_events::projection::table::Row;
use baton_events::record::{Position, SessionId};
use baton_events::session::{EpisodeRef, Event, Phase};
use baton_events::{digest, graph, turns};
use tokio::sync::oneshot;

use super::fresh::Fresh;
use super::left_out::LeftOut;
use super::{Options, episode};
use crate::limits;
use crate::memory::{Checkpoint, Entry, Error as MemoryError, Searcher, Store};
use crate::stream;
use crate::table::TableReader;

/// After an error the memory is tried again after this long.
const RETRY: Duration = Duration::from_secs(5);
/// After this long without work the writer's memory is given back.
const IDLE: Duration = Duration::from_secs(10);
/// Sessions of which it is remembered what was last put.
const REMEMBERED: usize = 10_000;

/// Talks to the projector's thread.
#[derive(Clone)]
pub(super) struct Port {
    commands: Sender<Command>,
    nudged: Arc<AtomicBool>,
    searcher: Searcher,
    state: Arc<Mutex<(Position, Option<String>)>>,
}

enum Command {
    /// The journal may have more.
    Nudge,
    Ensure(Position, oneshot::Sender<Position>),
    Close(oneshot::Sender<()>),
}

impl Port {
    pub(super) fn ensure(&self, at_least: Position, reply: oneshot::Sender<Position>) {
        let _ = self.commands.send(Command::Ensure(at_least, reply));
    }

    pub(super) fn searcher(&self) -> Searcher {
        self.searcher.clone()
    }

    pub(super) fn state(&self) -> (Position, Option<String>) {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(super) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.commands.send(Command::Close(reply)).is_ok() {
            let _ = tokio::time::timeout(limits::DRAIN, closed).await;
        }
    }

    fn nudge(&self) {
        if !self.nudged.swap(true, Ordering::SeqCst) {
            let _ = self.commands.send(Command::Nudge);
        }
    }
}

/// Nudges the projector whenever the table has moved on.
pub(super) fn follow(mut table: TableReader, port: Port) {
    tokio::spawn(async move {
        while table.changed().await.is_ok() {
            port.nudge();
        }
    });
}

pub(super) struct Projector<C> {
    options: Options,
    fresh: Arc<Fresh>,
    collect: C,
    store: Store,
    /// The last event taken in, committed or not.
    applied: Position,
    /// Waits for positions, in no order: there are at most as many as connections.
    waiting: Vec<(Position, oneshot::Sender<Position>)>,
    dirty_since: Option<Instant>,
    /// Since when the writer is open with nothing to write.
    writer_since: Option<Instant>,
    /// What of each session was put last, so that an append rewrites only its end.
    put: BTreeMap<SessionId, Put>,
    /// Sessions whose older chunks are superseded once the commit is through.
    superseded: Vec<SessionId>,
    left_out: Arc<LeftOut>,
    nudged: Arc<AtomicBool>,
    state: Arc<Mutex<(Position, Option<String>)>>,
}

#[derive(Clone, Copy)]
struct Put {
    generation: u32,
    filter_version: u32,
    items: usize,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Opens the memory and starts its thread. `broke` is called if the thread panics, after the memory was deleted:
    /// whatever it stumbled over, the log has it all.
    pub(super) fn start(
        options: Options,
        fresh: Arc<Fresh>,
        left_out: Arc<LeftOut>,
        collect: C,
        broke: impl FnOnce() + Send + 'static,
    ) -> Result<Port, MemoryError> {
        let opened = Store::open(&options.memory)?;
        if let Some(reason) = &opened.wiped {
            tracing::warn!(%reason, "memory put aside, rebuilding it from the log");
        }
        let mut store = opened.store;
        let checkpoint = opened.checkpoint.filter(|checkpoint| {
            let chain = options.journal.chain_at(checkpoint.position);
            matches!(chain, Ok(Some(chain)) if chain.0 == checkpoint.chain)
        });
        if checkpoint.is_none() && opened.checkpoint.is_some() {
            tracing::warn!("memory is not of this log, rebuilding it");
            store.clear()?;
        }
        let applied = checkpoint.map_or(Position(0), |checkpoint| checkpoint.position);
        let (commands, inbox) = channel();
        let port = Port {
            commands,
            nudged: Arc::new(AtomicBool::new(true)),
            searcher: store.searcher(),
            state: Arc::new(Mutex::new((applied, None))),
        };
        let projector = Self {
            options,
            fresh,
            collect,
            store,
            applied,
            waiting: Vec::new(),
            dirty_since: None,
            writer_since: None,
            put: BTreeMap::new(),
            superseded: Vec::new(),
            left_out,
            nudged: port.nudged.clone(),
            state: port.state.clone(),
        };
        let _ = port.commands.send(Command::Nudge);
        std::thread::Builder::new()
            .name("baton-memory".to_owned())
            .spawn(move || {
                let memory = projector.options.memory.clone();
                if catch_unwind(AssertUnwindSafe(|| projector.run(&inbox))).unwrap_or(true) {
                    tracing::error!("memory broke, rebuilding it from the log");
                    let _ = std::fs::remove_dir_all(memory);
                    broke();
                }
            })
            .map_err(MemoryError::from)?;
        Ok(port)
    }

    /// Until it is closed. Whether the memory on disk is gone and has to be begun anew.
    fn run(mut self, inbox: &Receiver<Command>) -> bool {
        let mut wait = Some(Duration::ZERO);
        loop {
            let command = match wait {
                Some(wait) => inbox.recv_timeout(wait),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match command {
                Ok(Command::Nudge) => self.nudged.store(false, Ordering::SeqCst),
                Ok(Command::Ensure(position, reply)) => self.waiting.push((position, reply)),
                Ok(Command::Close(reply)) => {
                    let closed = self.commit().and_then(|()| Ok(self.store.idle()?));
                    if let Err(error) = closed {
                        tracing::warn!(%error, "memory not committed at the end; it will catch up");
                    }
                    let _ = reply.send(());
                    return false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            wait = match self.advance() {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "memory did not follow the log, trying again");
                    if !self.options.memory.join("meta.json").exists() {
                        return true;
                    }
                    self.start_over(&error.to_string());
                    Some(RETRY)
                }
            };
        }
    }

    /// Takes in a few events and commits if it is time to. Answers how long to wait for the next command; `None`: until
    /// there is one.
    fn advance(&mut self) -> Result<Option<Duration>, Error> {
        let more = self.take_in()?;
        let wanted = self.waiting.iter().any(|(position, _)| *position <= self.applied);
        let ripe = self.dirty_since.is_some_and(|since| since.elapsed() >= limits::MEMORY_COMMIT);
        if wanted || ripe {
            self.commit()?;
        }
        Ok(match (more, self.dirty_since, self.writer_since) {
            (true, ..) => Some(Duration::ZERO),
            (false, Some(since), _) => Some(limits::MEMORY_COMMIT.saturating_sub(since.elapsed())),
            // Nothing to do: keep the writer for a moment, then give its memory back and sleep.
            (false, None, Some(since)) if since.elapsed() < IDLE => Some(IDLE.saturating_sub(since.elapsed())),
            (false, None, Some(_)) => {
                self.store.idle()?;
                self.writer_since = None;
                None
            }
            (false, None, None) => None,
        })
    }

    /// Whether there is more to take in.
    fn take_in(&mut self) -> Result<bool, Error> {
        // The log can be read a moment before the table is published: what the table does not know yet is not judged by
        // it. The publication nudges.
        let known = self.options.table.borrow().position();
        let records = self.options.journal.read(self.applied.next(), limits::MEMORY_STEP)?;
        for record in records.iter().filter(|record| record.position <= known) {
            self.apply(record)?;
            self.applied = record.position;
        }
        Ok(records.len() == limits::MEMORY_STEP && self.applied < known)
    }

    fn apply(&mut self, record: &StoredRecord) -> Result<(), Error> {
        let Some(session) = record.stream.session_id() else { return Ok(()) };
        let Ok(recorded) = stream::decode(record) else {
            // The session table counts it and says so.
            return Ok(());
        };
        let row = self.options.table.borrow().get(&session).cloned();
        match (&recorded.event, row) {
            (Event::Forgotten, _) => self.remove(&session),
            (Event::Indexed { episode, .. }, Some(row)) => match &row.state.episode {
                // Superseded meanwhile: its successor stands further on in the journal.
                Some(current) if current.manifest != episode.manifest => Ok(()),
                Some(current) => self.put(&session, &row, current),
                None => Ok(()),
            },
            (Event::GroupAssigned { .. } | Event::ParentFound { .. } | Event::Moved { .. }, Some(row)) => {
                self.put.remove(&session);
                match &row.state.episode {
                    Some(current) if row.state.phase != Phase::Forgotten => self.put(&session, &row, current),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, session: &SessionId, row: &Row, current: &EpisodeRef) -> Result<(), Error> {
        let items = match self.fresh.take(&current.manifest) {
            Some(items) => items,
            None => match episode::conversation(&self.options.chunks, session, current) {
                Ok(items) => Arc::new(items),
                // One damaged conversation must not hold up all others. It is named, and the next index mends it.
                Err(error) => {
                    tracing::error!(%session, %error, "conversation not readable, left out of the memory");
                    return self.remove(session);
                }
            },
        };
        if self.left_out.holds(session, current) {
            tracing::error!(%session, "conversation makes the memory break and is left out");
            return self.remove(session);
        }
        // Should anything below panic, the next memory begins without this conversation.
        self.left_out.suspect(session, current);
        let units = turns::units(&items);
        let changed_from =
            self.unchanged_items(session, current, &items).map_or(0, |old| turns::changed_from(old, &units));
        let episode = digest::digest(&items, &digest::Show::default());
        let state = &row.state;
        let project = state.place.as_ref().map(|place| place.project.as_str());
        let group = state.group_id().unwrap_or_default();
        let graph = graph::graph(&items, &episode, &Surroundings { session, group, project });
        let (content, title) = (episode.content(), episode.title);
        let entry = Entry {
            session,
            generation: current.generation,
            project,
            group_id: group,
            agent: state.transcript.as_ref().map_or(Agent::ClaudeCode, |transcript| transcript.agent),
            title: &title,
            episode_uuid: current.uuid,
            episode_text: &content,
            ended_at: state.last_conversation_at,
            indexed_at: current.at,
            parent: state.parent(),
            units: &units,
            changed_from,
            graph: &graph,
        };
        let stored = self.store.put(&entry);
        self.left_out.clear(session);
        stored?;
        self.dirty();
        self.superseded.push(session.clone());
        if self.put.len() >= REMEMBERED {
            self.put.clear();
        }
        let put = Put { generation: current.generation, filter_version: current.filter_version, items: items.len() };
        self.put.insert(session.clone(), put);
        Ok(())
    }

    /// The items that the memory already has of this very conversation, a prefix of the present ones.
    fn unchanged_items<'a>(&self, session: &SessionId, current: &EpisodeRef, items: &'a [Item]) -> Option<&'a [Item]> {
        let put = self.put.get(session)?;
        let same = put.generation == current.generation && put.filter_version == current.filter_version;
        items.get(..put.items).filter(|_| same)
    }

    fn remove(&mut self, session: &SessionId) -> Result<(), Error> {
        self.put.remove(session);
        self.store.remove(session)?;
        self.dirty();
        Ok(())
    }

    fn dirty(&mut self) {
        self.dirty_since.get_or_insert_with(Instant::now);
    }

    /// Commits what was taken in, and answers whoever waited for it.
    fn commit(&mut self) -> Result<(), Error> {
        if self.dirty_since.is_some() {
            if let Some(chain) = self.options.journal.chain_at(self.applied)? {
                self.store.commit(Checkpoint { position: self.applied, chain: chain.0 })?;
            }
            self.dirty_since = None;
            self.writer_since = Some(Instant::now());
            for session in std::mem::take(&mut self.superseded) {
                (self.collect)(session);
            }
        }
        let applied = self.applied;
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (applied, None);
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(at, _)| *at <= applied);
        self.waiting = waiting;
        for (_, reply) in ready {
            let _: Result<(), Position> = reply.send(applied);
        }
        Ok(())
    }

    /// What is not committed is gone from the store: take it in again.
    fn start_over(&mut self, problem: &str) {
        let committed = self.store.checkpoint().map_or(Position(0), |checkpoint| checkpoint.position);
        self.applied = committed;
        self.dirty_since = None;
        self.put.clear();
        self.superseded.clear();
        let problem = Some(problem.to_owned());
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (committed, problem);
    }
}

/// Why the memory could not follow.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Journal(#[from] crate::journal::ReadError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}
