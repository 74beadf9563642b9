//! The memory's thread: applies the journal to the search index, in order, and commits it together with the position
//! reached.
//!
//! It sleeps until the table changes or a caller waits. What it has not applied yet is lag, shown in `status`; nothing
//! else depends on it. After an error it discards what is not committed and starts over from its checkpoint, with
//! pauses that grow while no caller waits, because a full disk stays full for a while. A memory that cannot be opened
//! (no room, a read-only file system) is retried in the same way, and everything else goes on without it.
//!
//! Forgotten sessions are purged from its files when a caller waits for that, otherwise when it is idle, and once at
//! the start.

mod append;
mod apply;
mod change;
mod coverage;
mod failure;
mod interrupt;
mod large;
mod memos;
mod missing;
mod others;
mod outline;
mod port;
mod purging;
mod recent;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, SessionId};

use super::Options;
use super::fresh::FreshConversations;
use super::large::LargeConversations;
use super::left_out::LeftOut;
use super::restore::Restorer;
use baton_base::condition::Condition;
use baton_base::io_remedy;
use baton_base::limits;
use baton_memory::{Checkpoint, Error as MemoryError, Store};
use coverage::Coverage;
pub use coverage::{Covered, Want};
use failure::{Failures, pause, wait_to_open};
use interrupt::Interrupt;
pub use memos::{as_episode, items as memo_items};
use others::OthersPut;
use port::{Command, Wait};
pub(super) use port::{Port, close_now, follow};
use purging::Purge;
use recent::Recent;

/// How long the indexer's start waits for the memory to be opened.
const OPENING: Duration = Duration::from_secs(2);
/// After this long without work segments are merged, and then the writer's memory is released.
const IDLE: Duration = Duration::from_secs(10);
/// Interval at which that merge is checked for its end.
const SETTLING: Duration = Duration::from_millis(200);
/// Delay before unreadable conversations are tried again …
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// … and how many of them at once.
const LOOKED_AT: usize = 32;
/// Limit of sessions whose last entry is remembered.
const REMEMBERED: usize = 10_000;

pub(super) struct Projector<C> {
    options: Options,
    fresh: Arc<FreshConversations>,
    collect: C,
    store: Store,
    /// The last event applied, committed or not.
    applied: Position,
    /// Unordered: there are at most as many as connections.
    waiting: Vec<Wait>,
    /// Callers that wait for a purge, equally few.
    purges: Vec<Purge>,
    /// Sessions that were removed because they are forgotten, and may still be in files.
    forgotten: BTreeSet<SessionId>,
    dirty_since: Option<Instant>,
    /// When the last changes were committed.
    committed_at: Option<Instant>,
    /// Since when the writer has been open without work.
    writer_since: Option<Instant>,
    /// The last entry of each session, so that an append rewrites only its end.
    put: BTreeMap<SessionId, Put>,
    recent: Recent,
    /// Sessions whose older chunks can be collected after the commit.
    superseded: Vec<SessionId>,
    /// Conversations put off. The checkpoint stays before them.
    large: Arc<LargeConversations>,
    left_out: Arc<LeftOut>,
    restorer: Restorer,
    nudged: Arc<AtomicBool>,
    coverage: Arc<Coverage>,
    trouble: Arc<Condition>,
    failures: Failures,
    /// When missing sessions were last looked for.
    missing_added_at: Option<Instant>,
    others: OthersPut,
}

#[derive(Clone, Copy)]
struct Put {
    generation: u32,
    filter_version: u32,
    items: usize,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Starts the memory's thread, which opens the memory and retries if that fails. Waits for the first attempt, except
    /// for a large memory that has to be checked. If the thread panics, the memory is deleted, to be rebuilt from the
    /// log, and `broke` is called.
    pub(super) fn start(
        options: Options,
        fresh: Arc<FreshConversations>,
        large: Arc<LargeConversations>,
        left_out: Arc<LeftOut>,
        restorer: Restorer,
        collect: C,
        broke: impl FnOnce() + Send + 'static,
    ) -> Result<Port, MemoryError> {
        let (commands, inbox) = channel();
        let port = Port {
            commands,
            nudged: Arc::new(AtomicBool::new(true)),
            searcher: Arc::default(),
            coverage: Arc::default(),
            trouble: Arc::new(Condition::new("the searchable memory does not follow the log")),
        };
        let (trying, tried) = channel::<()>();
        let shared = port.clone();
        let _ = port.commands.send(Command::Nudge);
        let (memory, coverage) = (options.memory.clone(), port.coverage.clone());
        large.clear();
        let work = move || {
            let mut tries = 0;
            let mut opened = open(&options, &shared);
            drop(trying);
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
                committed_at: None,
                writer_since: None,
                put: BTreeMap::new(),
                recent: Recent::default(),
                superseded: Vec::new(),
                large,
                left_out,
                restorer,
                nudged: shared.nudged,
                coverage: shared.coverage,
                trouble: shared.trouble,
                failures: Failures::default(),
                missing_added_at: None,
                others: OthersPut::default(),
            };
            projector.run(&inbox)
        };
        std::thread::Builder::new()
            .name("baton-memory".to_owned())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(work)).unwrap_or(true) {
                    tracing::error!("memory broke, rebuilding it from the log");
                    let _ = std::fs::remove_dir_all(memory);
                    coverage.set_covered(Covered::default());
                    broke();
                }
            })
            .map_err(MemoryError::from)?;
        let _ = tried.recv_timeout(OPENING);
        Ok(port)
    }

    /// Runs until the memory is closed. Returns true if the memory on disk is gone and must be rebuilt.
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
                    // Drop callers that have given up; they may ask again.
                    self.waiting.retain(|wait| !wait.reply.is_closed());
                    self.waiting.push(wait);
                }
                Ok(Command::Purge(purge)) => {
                    self.purges.retain(|purge| !purge.reply.is_closed());
                    self.purges.push(purge);
                }
                Ok(Command::Close(reply)) => {
                    let closed = self.commit().and_then(|()| Ok(self.store.close()?));
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
                    self.note_success();
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

    /// Applies a few events and commits if it is time to. Returns how long to wait for the next command; `None` for
    /// ever.
    fn advance(&mut self) -> Result<Option<Duration>, Error> {
        let mut more = self.take_in()?;
        if !more {
            self.add_missing()?;
            more = self.follow_others()?;
        }
        let is_backfill = more || (self.options.is_backfill)();
        self.store.set_filling(is_backfill);
        let taken = self.taken_in();
        // No caller can wait for sessions of others, so commit them without delay.
        let is_awaited =
            self.waiting.iter().any(|wait| wait.at_least <= taken.of(wait.want)) || self.others.is_commit_due();
        // Without changes the commit only publishes the position.
        if self.dirty_since.is_none_or(|since| self.until_commit(since, is_backfill, is_awaited).is_zero()) {
            self.commit()?;
        }
        if self.purges.iter().any(|purge| self.is_ready(purge)) {
            self.commit()?;
            self.purge()?;
        }
        if !more && (self.take_in_large()? || self.follow_large_other()?) {
            return Ok(Some(Duration::ZERO));
        }
        let pause = self.large.pause(Instant::now());
        let wait = self.wait(more, is_backfill, is_awaited)?;
        Ok(wait.map_or(pause, |wait| Some(pause.map_or(wait, |pause| pause.min(wait)))))
    }

    /// How long changes made since `since` may still be collected.
    fn until_commit(&self, since: Instant, is_backfill: bool, is_awaited: bool) -> Duration {
        let (from, most) = match (is_backfill, is_awaited) {
            (false, true) => return Duration::ZERO,
            (false, false) => (since, limits::MEMORY_COMMIT),
            (true, true) => (self.committed_at.unwrap_or(since), limits::MEMORY_COMMIT),
            (true, false) => (since, limits::BACKFILL_COMMIT),
        };
        most.saturating_sub(from.elapsed())
    }

    /// How long to wait for the next command, apart from what is put off; `None` for ever.
    fn wait(&mut self, more: bool, is_backfill: bool, is_awaited: bool) -> Result<Option<Duration>, Error> {
        Ok(match (more, self.dirty_since, self.writer_since) {
            (true, ..) => Some(Duration::ZERO),
            // A backfill may end without a further command.
            (false, Some(since), _) => {
                Some(self.until_commit(since, is_backfill, is_awaited).min(limits::MEMORY_COMMIT))
            }
            // Idle: keep the writer for a moment, then release its memory and sleep.
            (false, None, Some(since)) if since.elapsed() < IDLE => Some(IDLE.saturating_sub(since.elapsed())),
            (false, None, Some(_)) if self.store.settle()? => Some(SETTLING),
            (false, None, Some(_)) => {
                self.store.idle()?;
                self.writer_since = None;
                // Superseded before they were taken.
                self.fresh.clear();
                self.recent.let_go();
                // Purge subagents that were forgotten later, and what a caller that gave up had asked for.
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

    /// Applies the next events. Returns true if there are more.
    fn take_in(&mut self) -> Result<bool, Error> {
        // The log may be ahead of the published table, which judges the events. Stop at the table's position; its
        // publication nudges this thread.
        let known = self.options.table.now().position();
        let records = self.options.journal.read(self.applied.next(), limits::MEMORY_STEP)?;
        for record in records.iter().filter(|record| record.position <= known) {
            self.apply(record)?;
            self.applied = record.position;
            self.coverage.take(record.position);
        }
        // A read may return fewer events than requested, but none only at the end of the log.
        Ok(!records.is_empty() && self.applied < known)
    }

    fn dirty(&mut self) {
        self.dirty_since.get_or_insert_with(Instant::now);
    }

    /// Commits what was applied and answers the callers that waited for it.
    fn commit(&mut self) -> Result<(), Error> {
        if self.dirty_since.is_some() {
            let position = self.taken_in().whole;
            if let Some(chain) = self.options.journal.chain_at(position)? {
                self.store.commit(Checkpoint { position, chain: chain.0 })?;
            }
            self.dirty_since = None;
            self.others.committed();
            self.committed_at = Some(Instant::now());
            self.writer_since = self.committed_at;
            for session in std::mem::take(&mut self.superseded) {
                (self.collect)(session);
            }
        }
        let covered = self.taken_in();
        self.coverage.set_covered(covered);
        let is_ready = |wait: &Wait| wait.at_least <= covered.of(wait.want);
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_ready);
        self.waiting = waiting;
        for Wait { want, reply, .. } in ready {
            let _: Result<(), Position> = reply.send(covered.of(want));
        }
        Ok(())
    }
}

/// Opens the memory and publishes its searcher.
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
    port.coverage.set_covered(Covered { whole: applied, turns: applied, but_large: applied });
    *port.searcher.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(store.searcher());
    Ok((store, applied))
}

/// Why the memory could not follow the log.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Journal(#[from] baton_journal::ReadError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

#[cfg(test)]
mod tests;
