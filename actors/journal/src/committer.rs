//! The one thread that writes. It drains the queue into a group, decides every append against the ledger, writes and
//! syncs the group once, adds it to the fold and to what readers find, publishes, and only then answers. Now and then it
//! flushes the index.

use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::NewRecord;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::checkpoint::{self, View};
use super::ledger::Ledger;
use super::sealer::Sealer;
use super::shared_state::SharedState;
use super::unflushed::FlushLimits;
use super::writer::Writer;
use super::{AppendError, Appended, Fold};
use baton_base::pinned_folder::PinnedFolder;

/// Most records of one group, which all its callers wait for.
const GROUP_MAX_RECORDS: usize = 1024;

/// A request to the committer.
pub(super) enum Request {
    Append(Append, Pending),
    /// Work to run between two groups.
    BetweenGroups(Box<dyn FnOnce(&mut Committer) + Send>),
}

/// One append.
pub(super) struct Append {
    pub(super) stream: StreamId,
    pub(super) expected: SequenceNumber,
    pub(super) batch: Vec<NewRecord>,
}

/// Who waits for an append that is queued.
pub(super) struct Pending {
    pub(super) reply: oneshot::Sender<Result<Appended, AppendError>>,
    /// Room in the queue, released when this is answered.
    pub(super) room: OwnedSemaphorePermit,
}

/// The thread's state. The thread ends when every sender is dropped and the queue is empty.
pub(super) struct Committer {
    pub(super) requests: Receiver<Request>,
    pub(super) writer: Writer,
    pub(super) ledger: Ledger,
    pub(super) fold: Box<dyn Fold>,
    pub(super) shared: Arc<SharedState>,
    pub(super) flush_limits: FlushLimits,
    /// Position up to which the index has the fold's rows; 0 for none. Must be reset whenever the committer gets another
    /// index.
    pub(super) saved: Position,
    /// Notified when segments are full.
    pub(super) sealer: Option<Arc<Sealer>>,
    /// The folder of the segments, held open: new segments are created by path, which may come to name another folder.
    pub(super) segments: PinnedFolder,
}

impl Committer {
    /// Runs until the journal is closed. If the thread panics or the folder is replaced, the journal fails, and appends
    /// that are still waiting are never answered.
    pub(super) fn run(self) {
        let shared = Arc::clone(&self.shared);
        match panic::catch_unwind(AssertUnwindSafe(|| self.commit_until_closed())) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(reason)) => shared.fail(reason),
            Err(_) => shared.fail("the thread that writes the log panicked; see `daemon.log`".to_owned()),
        }
    }

    fn commit_until_closed(mut self) -> ControlFlow<String> {
        while let Some(first) = self.next_request() {
            let (mut group, mut records, mut next) = (Vec::new(), 0, Some(first));
            let mut between = None;
            while let Some(request) = next.take() {
                match request {
                    Request::Append(append, pending) => {
                        records += append.batch.len();
                        group.push((append, pending));
                        if records < GROUP_MAX_RECORDS {
                            next = self.requests.try_recv().ok();
                        }
                    }
                    Request::BetweenGroups(work) => between = Some(work),
                }
            }
            if !group.is_empty() {
                self.commit(group)?;
            }
            if let Some(work) = between {
                work(&mut self);
            }
            if self.flush_due_in() == Some(Duration::ZERO) {
                self.flush();
            }
        }
        self.flush();
        ControlFlow::Continue(())
    }

    /// The next request; flushes the index when due while waiting. `None` when the journal is closed.
    fn next_request(&mut self) -> Option<Request> {
        loop {
            let Some(wait) = self.flush_due_in() else { return self.requests.recv().ok() };
            match self.requests.recv_timeout(wait) {
                Ok(request) => return Some(request),
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn flush_due_in(&self) -> Option<Duration> {
        self.shared.unflushed().due_in(self.flush_limits)
    }

    /// Brings everything into the index, durably, with the fold's rows.
    pub(super) fn flush(&mut self) {
        if self.flush_due_in().is_none() {
            return;
        }
        let Self { ledger, fold, shared, saved, .. } = self;
        let view = fold.rows().map(|rows| View { rows, ledger, saved: *saved });
        if shared.flush(|index, unflushed| checkpoint::save(index, unflushed, view.as_ref())) == Some(true) {
            *saved = ledger.tail().position;
        }
    }

    fn commit(&mut self, group: Vec<(Append, Pending)>) -> ControlFlow<String> {
        self.check_folder()?;
        let mut stage = self.ledger.stage();
        let mut verdicts = Vec::with_capacity(group.len());
        for (Append { stream, expected, batch }, pending) in group {
            verdicts.push((stage.place(&stream, expected, batch), pending));
        }
        let staged = stage.finish();
        if let Err(error) = self.writer.append(&staged.placed) {
            for (verdict, Pending { reply, room: _room }) in verdicts {
                // The conflict may have been with an append of this very group, which is not stored.
                let refused = match verdict {
                    Ok(_) | Err(AppendError::Conflict { .. }) => {
                        AppendError::Refused { reason: error.to_string(), retriable: true }
                    }
                    Err(own) => own,
                };
                let _ = reply.send(Err(refused));
            }
            return ControlFlow::Continue(());
        }
        // Checked again: a new segment may have been created in another folder under the same path.
        self.check_folder()?;
        if !staged.placed.is_empty() {
            self.ledger.accept(&staged);
            if let Some(sealer) = &self.sealer {
                sealer.full_below(self.writer.number());
            }
            staged.placed.iter().for_each(|placed| self.fold.apply(&placed.record));
            self.shared.take_in(staged.placed);
            self.shared.advance(staged.tail, &self.writer);
            self.fold.publish(staged.tail);
        }
        for (verdict, Pending { reply, room: _room }) in verdicts {
            // The caller may have stopped waiting.
            let _ = reply.send(verdict);
        }
        ControlFlow::Continue(())
    }

    fn check_folder(&self) -> ControlFlow<String> {
        match self.segments.check() {
            Err(error) if self.segments.is_moved() => ControlFlow::Break(error.to_string()),
            // If the folder cannot be checked, the next write reports why.
            _ => ControlFlow::Continue(()),
        }
    }
}
