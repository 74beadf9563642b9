//! The interface of the memory's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, RwLock};

use baton_conversation::record::{Position, SessionId};
use tokio::sync::oneshot;

use super::coverage::{Coverage, Covered, Want};
use super::purging::Purge;
use crate::indexer::Options;
use baton_base::condition::Condition;
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_memory::Searcher;

/// Sends commands to the memory's thread and reads its state.
#[derive(Clone)]
pub(in crate::indexer) struct Port {
    pub(super) commands: Sender<Command>,
    pub(super) nudged: Arc<AtomicBool>,
    /// Absent until the memory was opened.
    pub(super) searcher: Arc<RwLock<Option<Searcher>>>,
    pub(super) coverage: Arc<Coverage>,
    pub(super) trouble: Arc<Condition>,
}

pub(super) enum Command {
    /// The journal may have more events.
    Nudge,
    Ensure(Wait),
    /// Remove all text of these sessions from the files; their tombstones lie up to the position.
    Purge(Purge),
    Close(oneshot::Sender<()>),
}

/// A caller that waits until searches cover the log up to a position.
pub(super) struct Wait {
    pub(super) at_least: Position,
    pub(super) want: Want,
    pub(super) reply: oneshot::Sender<Position>,
}

impl Port {
    pub(in crate::indexer) fn ensure(&self, at_least: Position, want: Want, reply: oneshot::Sender<Position>) {
        let covered = self.covered().of(want);
        if covered >= at_least {
            let _ = reply.send(covered);
            return;
        }
        self.coverage.ask(at_least);
        let _ = self.commands.send(Command::Ensure(Wait { at_least, want, reply }));
    }

    /// Returns `None` while the memory cannot be opened.
    pub(in crate::indexer) fn searcher(&self) -> Option<Searcher> {
        self.searcher.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// How far searches cover the log, and why they do not cover more.
    pub(in crate::indexer) fn state(&self) -> (Position, Option<String>) {
        (self.covered().whole, self.trouble.reason())
    }

    pub(in crate::indexer) fn covered(&self) -> Covered {
        self.coverage.covered()
    }

    pub(in crate::indexer) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        self.coverage.close();
        if self.commands.send(Command::Close(reply)).is_ok() {
            let _ = tokio::time::timeout(limits::DRAIN, closed).await;
        }
    }

    /// How far the log has been applied, committed or not.
    pub(in crate::indexer) fn reached(&self) -> Position {
        self.coverage.taken()
    }

    pub(in crate::indexer) fn nudge(&self) {
        if !self.nudged.swap(true, Ordering::SeqCst) {
            let _ = self.commands.send(Command::Nudge);
        }
    }

    /// Purges sessions forgotten up to a position. The reply is dropped if the memory breaks or is not open.
    pub(in crate::indexer) fn purge(
        &self,
        sessions: Vec<SessionId>,
        at_least: Position,
        reply: oneshot::Sender<Result<(), String>>,
    ) {
        self.coverage.ask(at_least);
        let _ = self.commands.send(Command::Purge(Purge { sessions, at_least, reply }));
    }
}

/// Closes a memory and waits for it. Blocks.
pub(in crate::indexer) fn close_now(port: &Port) {
    let (reply, closed) = oneshot::channel();
    port.coverage.close();
    if port.commands.send(Command::Close(reply)).is_ok() {
        let _ = closed.blocking_recv();
    }
}

/// Nudges the memory whenever the table or the sessions of others have changed.
pub(in crate::indexer) fn follow(options: &Options, tasks: &TaskSupervisor, port: &Port) {
    let (table, others, port) = (options.table.clone(), options.others.clone(), port.clone());
    tasks.spawn("nudges", move || {
        let (mut table, mut others, port) = (table.clone(), others.clone(), port.clone());
        async move {
            loop {
                let changed = tokio::select! {
                    changed = table.changed() => changed,
                    changed = others.changed() => changed,
                };
                if changed.is_err() {
                    return;
                }
                port.nudge();
            }
        }
    });
}
