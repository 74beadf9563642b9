//! Starts index jobs: urgent ones first, the others as far as the memory and the processors keep up.

use std::collections::VecDeque;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::session::FailureReason;
use ractor::ActorRef;
use tokio::sync::Notify;

use super::fresh::FreshConversations;
use super::job::{self, JobGate};
use super::sync_batch::PendingJob;
use super::under_way::UnderWay;
use super::{JobOutcome, JobRequest, Msg, State, report};
use baton_base::io_remedy::IoCause;
use baton_base::limits;
use baton_base::throttle::{Permit, Throttle};

impl State {
    /// Moves a background job that a caller now waits for to the urgent ones.
    pub(super) fn hurry(&mut self, session: &SessionId) {
        let index = self.background.iter().position(|waiting| waiting.session == *session);
        if let Some(request) = index.and_then(|index| self.background.remove(index)) {
            self.urgent.push_back(request);
        } else if let Some(begun) = self.preparing.get(session) {
            begun.notify_one();
        }
    }

    pub(super) fn dispatch(&mut self, myself: &ActorRef<Msg>) {
        while self.urgent_under_way < limits::JOBS_UNDER_WAY
            && let Some(request) = Self::next(&mut self.urgent, &self.under_way)
        {
            self.urgent_under_way += 1;
            self.begin(request, myself.clone());
        }
        while self.preparing.len() < self.options.jobs_at_once
            && let Some(request) = Self::next(&mut self.background, &self.under_way)
        {
            self.begin_background(request, myself.clone());
        }
    }

    /// Takes the first job whose session has none running, and marks the session as busy.
    fn next(waiting: &mut VecDeque<Box<JobRequest>>, under_way: &UnderWay) -> Option<Box<JobRequest>> {
        let index = waiting.iter().position(|request| !under_way.holds(&request.session))?;
        let request = waiting.remove(index)?;
        under_way.begin(&request.session);
        Some(request)
    }

    fn gate(&self) -> JobGate {
        JobGate { table: self.options.table.clone(), settings: self.options.settings.clone() }
    }

    /// Starts an urgent job: waits for a processor, runs, and queues the result for storing.
    fn begin(&self, request: Box<JobRequest>, myself: ActorRef<Msg>) {
        let (chunks, at_work, queue) = (self.options.chunks.clone(), self.at_work.clone(), self.urgent_queue.clone());
        let (under_way, gate, slot) = (self.under_way.clone(), self.gate(), self.slot.clone());
        let append_states = self.caches.append_states.clone();
        baton_base::task::spawn(async move {
            let pending = PendingJob::new(&request, under_way);
            let room = at_work.acquire_owned().await;
            let preparing = move || job::prepare(&request, &chunks, &append_states, &gate);
            let prepared = baton_base::task::spawn_blocking(preparing).await;
            drop(room);
            queue.add(prepared, pending).await;
            report(&myself, &slot, Msg::Finished);
        });
    }

    /// Starts a background job. The next one may start once its conversation is queued for storing.
    fn begin_background(&mut self, request: Box<JobRequest>, myself: ActorRef<Msg>) {
        let hurried = Arc::new(Notify::new());
        self.preparing.insert(request.session.clone(), hurried.clone());
        let (under_way, gate) = (self.under_way.clone(), self.gate());
        let (chunks, caches, queue) = (self.options.chunks.clone(), self.caches.clone(), self.background_queue.clone());
        let (throttle, slot, storing) = (self.options.throttle.clone(), self.slot.clone(), self.storing.clone());
        baton_base::task::spawn(async move {
            let (session, pending) = (request.session.clone(), PendingJob::new(&request, under_way));
            let (request, chunks, gate) = (Arc::new(*request), Arc::new(chunks), Arc::new(gate));
            let prepared = loop {
                let room = wait_turn(&throttle, &caches.fresh, &hurried).await;
                let is_asked = room.is_none();
                let (request, chunks, gate) = (request.clone(), chunks.clone(), gate.clone());
                let append_states = caches.append_states.clone();
                let preparing = move || job::prepare(&request, &chunks, &append_states, &gate);
                let prepared = baton_base::task::spawn_blocking(preparing).await;
                drop(room);
                // Other background jobs would fail alike. Keep this one here until the disk has room.
                match no_room(&prepared).filter(|_| !is_asked) {
                    Some(reason) => storing.failed(reason),
                    None => break prepared,
                }
                tokio::select! {
                    () = tokio::time::sleep(limits::ROOM) => {}
                    () = hurried.notified() => hurried.notify_one(),
                }
            };
            queue.add(prepared, pending).await;
            report(&myself, &slot, Msg::Prepared(session));
        });
    }
}

/// Waits until the memory has caught up and a background processor is free. Returns `None` as soon as the job becomes
/// urgent.
async fn wait_turn(throttle: &Throttle, fresh: &FreshConversations, hurried: &Notify) -> Option<Permit> {
    let in_turn = async {
        let _ = tokio::time::timeout(limits::MEMORY_WAIT, fresh.below(limits::MEMORY_BEHIND)).await;
        throttle.wait_for_background().await
    };
    tokio::select! {
        room = in_turn => Some(room),
        () = hurried.notified() => None,
    }
}

/// Returns the reason if a job could not write because the whole disk takes nothing.
fn no_room(prepared: &Result<Result<job::Prepared, JobOutcome>, tokio::task::JoinError>) -> Option<&str> {
    match prepared {
        Ok(Err(JobOutcome::Failed { why: FailureReason::NotStored, reason, .. }))
            if IoCause::in_message(reason).is_of_the_disk() =>
        {
            Some(reason)
        }
        _ => None,
    }
}
