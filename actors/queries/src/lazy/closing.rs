//! Closes the sessions of one query.

use std::collections::{BTreeSet, VecDeque};

use baton_conversation::record::SessionId;
use baton_events::session::CloseReason;
use baton_protocol::Progress;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::stale::StaleSession;
use super::{PROGRESS_INTERVAL, Step};
use crate::client::{ClientRef, QueryError};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_tracking::session::{CloseCall, Closed, Outcome};
use baton_tracking::supervisor;

/// The closes of one query.
pub(super) struct QueryCloses<'a> {
    supervisor: &'a supervisor::Handle,
    client: &'a ClientRef,
    step: Step,
    /// Not begun yet: those that the answer waits for, and those it does not wait for.
    first: VecDeque<StaleSession>,
    beyond: VecDeque<StaleSession>,
    /// Deadline for beginning and awaiting `beyond`.
    until: Instant,
    at_work: JoinSet<(SessionId, Result<Closed, CallError>)>,
    /// In progress: those that the answer waits for, and the others.
    awaited: BTreeSet<SessionId>,
    optional: BTreeSet<SessionId>,
    done: u64,
    total: u64,
}

impl<'a> QueryCloses<'a> {
    pub(super) fn new(
        supervisor: &'a supervisor::Handle,
        client: &'a ClientRef,
        step: Step,
        first: Vec<StaleSession>,
        beyond: Vec<StaleSession>,
        until: Instant,
    ) -> Self {
        let total = (first.len() + beyond.len()) as u64;
        let (first, beyond) = (first.into(), beyond.into());
        let (awaited, optional, at_work) = (BTreeSet::new(), BTreeSet::new(), JoinSet::new());
        Self { supervisor, client, step, first, beyond, until, at_work, awaited, optional, done: 0, total }
    }

    pub(super) async fn run(mut self) -> Result<Step, QueryError> {
        let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
        loop {
            self.begin();
            let in_time = Instant::now() < self.until;
            if self.first.is_empty() && self.awaited.is_empty() && (self.optional.is_empty() || !in_time) {
                break;
            }
            tokio::select! {
                Some(closed) = self.at_work.join_next() => self.record_closed(closed),
                // At the deadline the others are no longer awaited.
                () = tokio::time::sleep_until(self.until), if in_time && !self.optional.is_empty() => {}
                _ = interval.tick() => {
                    if self.client.is_closed() {
                        self.hand_over_rest();
                        return Err(QueryError::ClientGone);
                    }
                    let (done, total) = (self.done, self.total);
                    if done > 0 {
                        self.client.progress(&Progress { what: "reading sessions".to_owned(), done, total });
                    }
                }
            }
        }
        self.hand_over_rest();
        Ok(self.step)
    }

    /// Starts closes up to [`limits::LAZY_AT_ONCE`].
    fn begin(&mut self) {
        while self.at_work.len() < limits::LAZY_AT_ONCE {
            let next = match self.first.pop_front() {
                Some(next) => {
                    self.awaited.insert(next.id.clone());
                    next
                }
                None if Instant::now() < self.until => {
                    let Some(next) = self.beyond.pop_front() else { return };
                    self.optional.insert(next.id.clone());
                    next
                }
                None => return,
            };
            let supervisor = self.supervisor.clone();
            self.at_work.spawn(async move {
                let call = CloseCall::new(CloseReason::LazyQuery);
                let closed = supervisor.close(&next.id, next.file, call, limits::SESSION_CALL).await;
                (next.id, closed)
            });
        }
    }

    fn record_closed(&mut self, closed: Result<(SessionId, Result<Closed, CallError>), JoinError>) {
        self.done += 1;
        // The session of a panicked task is unknown; it is counted as pending.
        let Ok((id, closed)) = closed else {
            self.step.pending += 1;
            return;
        };
        self.awaited.remove(&id);
        self.optional.remove(&id);
        match closed {
            Ok(closed) => {
                self.step.position = self.step.position.max(closed.position);
                match closed.outcome {
                    Outcome::Stored | Outcome::Replaced(_) => self.step.indexed += 1,
                    Outcome::NotRecorded { .. } | Outcome::Broken { .. } | Outcome::Busy => self.step.note_pending(&id),
                    _ => {}
                }
            }
            // It timed out, or its actor is down: the answer may lack it.
            Err(_) => self.step.note_pending(&id),
        }
    }

    /// Closes in progress continue, the rest goes to the backlog. The answer counts both as pending.
    fn hand_over_rest(&mut self) {
        self.at_work.detach_all();
        for id in self.awaited.iter().chain(&self.optional) {
            self.step.note_pending(id);
        }
        let mut rest: Vec<StaleSession> = self.first.drain(..).chain(self.beyond.drain(..)).collect();
        for wanted in &rest {
            self.step.note_pending(&wanted.id);
        }
        if self.step.is_backfill {
            // The others come in their turn, the newest first.
            rest.truncate(limits::LAZY_SESSIONS);
        }
        self.supervisor.wanted(rest.into_iter().map(|wanted| (wanted.id, wanted.file)).collect());
    }
}
