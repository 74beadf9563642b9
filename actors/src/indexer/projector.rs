//! The memory's own thread: takes what the journal says into the searchable memory, in order, and commits it together
//! with how far it came.
//!
//! It sleeps until the table changes or somebody waits. What it cannot take in is lag, shown in `status`; nothing else
//! depends on it. After an error it throws away what is not committed and starts over from its checkpoint: seldom while
//! nobody waits, for a disk that is full stays so for a while. A memory that cannot even be opened (no room, a file system
//! that takes no writes) is tried again in the same way, and everything else goes on without it.
//!
//! What is forgotten is purged from its files: when somebody waits for that, else when nothing else is to be done, and once
//! at the start for all that is forgotten.

mod apply;
mod backoff;
mod change;
mod failure;
mod large;
mod memos;
mod outline;
mod port;
mod purging;
mod reach;
mod way;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, SessionId};

use super::Options;
use super::fresh::Fresh;
use super::large::Large;
use super::left_out::LeftOut;
use super::restore::Mender;
use backoff::{pause, wait_to_open};
use baton_base::condition::Condition;
use baton_base::io_remedy;
use baton_base::limits;
use baton_memory::{Checkpoint, Error as MemoryError, Store};
use failure::Failures;
pub(crate) use memos::{as_episode, items as memo_items};
use port::{Command, Wait};
pub(super) use port::{Port, close_now, follow};
use purging::Purge;
use reach::Reach;
pub(crate) use reach::{Covered, Want};
use way::Way;

/// After this long without work the writer's memory is given back.
const IDLE: Duration = Duration::from_secs(10);
/// How long after a stored conversation could not be read it is tried again …
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// … and how many of them at once.
const LOOKED_AT: usize = 32;
/// Sessions of which it is remembered what was last put.
const REMEMBERED: usize = 10_000;

pub(super) struct Projector<C> {
    options: Options,
    fresh: Arc<Fresh>,
    collect: C,
    store: Store,
    /// The last event taken in, committed or not.
    applied: Position,
    /// In no order: there are at most as many as connections.
    waiting: Vec<Wait>,
    /// Waits for sessions to be purged, at most as many.
    purges: Vec<Purge>,
    /// Sessions that were removed because they are forgotten, and may be in files still.
    forgotten: BTreeSet<SessionId>,
    dirty_since: Option<Instant>,
    /// Since when the writer is open with nothing to write.
    writer_since: Option<Instant>,
    /// What of each session was put last, so that an append rewrites only its end.
    put: BTreeMap<SessionId, Put>,
    /// Sessions whose older chunks are superseded once the commit is through.
    superseded: Vec<SessionId>,
    /// What is put off. The checkpoint stays before it.
    large: Arc<Large>,
    left_out: Arc<LeftOut>,
    mender: Mender,
    nudged: Arc<AtomicBool>,
    reach: Arc<Reach>,
    trouble: Arc<Condition>,
    failures: Failures,
    /// When it was last looked whether the memory lacks a session.
    made_whole: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Put {
    generation: u32,
    filter_version: u32,
    items: usize,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Opens the memory and starts its thread. If it cannot be opened the thread tries again until it can be. `broke` is
    /// called if the thread panics, after the memory was deleted: whatever it stumbled over, the log has it all.
    pub(super) fn start(
        options: Options,
        fresh: Arc<Fresh>,
        large: Arc<Large>,
        left_out: Arc<LeftOut>,
        mender: Mender,
        collect: C,
        broke: impl FnOnce() + Send + 'static,
    ) -> Result<Port, MemoryError> {
        let (commands, inbox) = channel();
        let port = Port {
            commands,
            nudged: Arc::new(AtomicBool::new(true)),
            searcher: Arc::default(),
            reach: Arc::default(),
            trouble: Arc::new(Condition::new("the searchable memory does not follow the log")),
        };
        let mut opened = open(&options, &port);
        let shared = port.clone();
        let _ = port.commands.send(Command::Nudge);
        let (memory, reach) = (options.memory.clone(), port.reach.clone());
        large.clear();
        let work = move || {
            let mut tries = 0;
            let (store, applied) = loop {
                match opened {
                    Ok(opened) => break opened,
                    Err(error) => shared.trouble.failed(&io_remedy::system_message(&error.to_string())),
                }
                tries += 1;
                if !wait_to_open(&inbox, &shared.nudged, pause(tries, false)) {
                    return false;
                }
                opened = open(&options, &shared);
            };
            shared.trouble.succeeded();
            let projector = Self {
                options,
                fresh,
                collect,
                store,
                applied,
                waiting: Vec::new(),
                purges: Vec::new(),
                forgotten: BTreeSet::new(),
                dirty_since: None,
                writer_since: None,
                put: BTreeMap::new(),
                superseded: Vec::new(),
                large,
                left_out,
                mender,
                nudged: shared.nudged,
                reach: shared.reach,
                trouble: shared.trouble,
                failures: Failures::default(),
                made_whole: None,
            };
            projector.run(&inbox)
        };
        std::thread::Builder::new()
            .name("baton-memory".to_owned())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(work)).unwrap_or(true) {
                    tracing::error!("memory broke, rebuilding it from the log");
                    let _ = std::fs::remove_dir_all(memory);
                    reach.set_covered(Covered::default());
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
                Ok(Command::Ensure(wait)) => {
                    // Who has stopped waiting asks again, or has gone.
                    self.waiting.retain(|wait| !wait.reply.is_closed());
                    self.waiting.push(wait);
                }
                Ok(Command::Purge(purge)) => {
                    self.purges.retain(|purge| !purge.reply.is_closed());
                    self.purges.push(purge);
                }
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
            let left = self.pause_left();
            if left > Duration::ZERO {
                wait = Some(left);
                continue;
            }
            wait = match self.advance() {
                Ok(wait) => {
                    self.went_well();
                    wait
                }
                Err(error) => {
                    if !self.options.memory.join("meta.json").exists() {
                        return true;
                    }
                    self.start_over(&error);
                    Some(self.pause_left())
                }
            };
        }
    }

    /// Takes in a few events and commits if it is time to. Answers how long to wait for the next command; `None`: until
    /// there is one.
    fn advance(&mut self) -> Result<Option<Duration>, Error> {
        let more = self.take_in()?;
        if !more {
            self.make_whole()?;
        }
        let taken = self.taken_in();
        let wanted = self.waiting.iter().any(|wait| wait.at_least <= taken.of(wait.want));
        let ripe = self.dirty_since.is_some_and(|since| since.elapsed() >= limits::MEMORY_COMMIT);
        // What changes nothing in it is covered as it is.
        if wanted || ripe || self.dirty_since.is_none() {
            self.commit()?;
        }
        if self.purges.iter().any(|purge| self.is_ready(purge)) {
            self.commit()?;
            self.purge()?;
        }
        if !more && self.take_in_large()? {
            return Ok(Some(Duration::ZERO));
        }
        let pause = self.large.pause(Instant::now());
        let wait = self.wait(more)?;
        Ok(wait.map_or(pause, |wait| Some(pause.map_or(wait, |pause| pause.min(wait)))))
    }

    /// How long to wait for the next command, but for what is put off; `None`: until there is one.
    fn wait(&mut self, more: bool) -> Result<Option<Duration>, Error> {
        Ok(match (more, self.dirty_since, self.writer_since) {
            (true, ..) => Some(Duration::ZERO),
            (false, Some(since), _) => Some(limits::MEMORY_COMMIT.saturating_sub(since.elapsed())),
            // Nothing to do: keep the writer for a moment, then give its memory back and sleep.
            (false, None, Some(since)) if since.elapsed() < IDLE => Some(IDLE.saturating_sub(since.elapsed())),
            (false, None, Some(_)) => {
                self.store.idle()?;
                self.writer_since = None;
                // Of subagents that came later, or where whoever waited has gone.
                self.purge()?;
                None
            }
            (false, None, None) if !self.forgotten.is_empty() => {
                self.purge()?;
                Some(Duration::ZERO)
            }
            (false, None, None) => (!self.left_out.all_unreadable().is_empty()).then_some(LOOK_AGAIN),
        })
    }

    /// Whether there is more to take in.
    fn take_in(&mut self) -> Result<bool, Error> {
        // The log can be read a moment before the table is published: what the table does not know yet is not judged by
        // it. The publication nudges.
        let known = self.options.table.now().position();
        let records = self.options.journal.read(self.applied.next(), limits::MEMORY_STEP)?;
        for record in records.iter().filter(|record| record.position <= known) {
            self.apply(record)?;
            self.applied = record.position;
            self.reach.take(record.position);
        }
        // A read may stop short of what it was asked for, but for the end it is never empty.
        Ok(!records.is_empty() && self.applied < known)
    }

    fn dirty(&mut self) {
        self.dirty_since.get_or_insert_with(Instant::now);
    }

    /// Commits what was taken in, and answers whoever waited for it.
    fn commit(&mut self) -> Result<(), Error> {
        if self.dirty_since.is_some() {
            let position = self.taken_in().whole;
            if let Some(chain) = self.options.journal.chain_at(position)? {
                self.store.commit(Checkpoint { position, chain: chain.0 })?;
            }
            self.dirty_since = None;
            self.writer_since = Some(Instant::now());
            for session in std::mem::take(&mut self.superseded) {
                (self.collect)(session);
            }
        }
        let covered = self.taken_in();
        self.reach.set_covered(covered);
        let is_ready = |wait: &Wait| wait.at_least <= covered.of(wait.want);
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_ready);
        self.waiting = waiting;
        for Wait { want, reply, .. } in ready {
            let _: Result<(), Position> = reply.send(covered.of(want));
        }
        Ok(())
    }
}

/// Opens the memory, and shows it to those who search.
fn open(options: &Options, port: &Port) -> Result<(Store, Position), MemoryError> {
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
    port.reach.set_covered(Covered { whole: applied, but_large: applied });
    *port.searcher.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(store.searcher());
    Ok((store, applied))
}

/// Why the memory could not follow.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Journal(#[from] baton_journal::ReadError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

#[cfg(test)]
mod tests;
