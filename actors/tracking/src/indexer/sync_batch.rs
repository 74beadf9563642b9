//! Written conversations that are not durable yet: those waiting when the disk is free are made durable together, and
//! only then reported to their sessions, so that events name only durable files.

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::SessionId;
use baton_events::session::{EffectId, FailureReason};
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::job::{self, Caches, Prepared};
use super::under_way::UnderWay;
use super::{JobOutcome, JobRequest, Reply, broken};
use baton_base::condition::Condition;
use baton_base::limits;

/// A job whose session waits for the outcome.
pub(super) struct PendingJob {
    session: SessionId,
    effect: EffectId,
    reply: Reply,
    under_way: UnderWay,
}

impl PendingJob {
    pub(super) fn new(request: &JobRequest, under_way: UnderWay) -> Self {
        let (session, effect) = (request.session.clone(), request.job.effect);
        Self { session, effect, reply: request.reply.clone(), under_way }
    }

    /// Reports the outcome.
    pub(super) fn done(self, outcome: JobOutcome) {
        let stored = match &outcome {
            JobOutcome::Complete(complete) => complete.stored.as_ref().map(|stored| (self.effect, stored.manifest)),
            _ => None,
        };
        // In this order, so that nothing is collected between the job's end and the session's answer.
        self.under_way.end(&self.session, stored);
        (self.reply)(outcome);
    }
}

/// A queue of such conversations. Holds [`limits::STORED_TOGETHER`] beside those being stored.
#[derive(Clone)]
pub(super) struct SyncQueue {
    pending: mpsc::Sender<(Prepared, PendingJob)>,
    /// Whether conversations can be stored.
    storing: Arc<Condition>,
}

impl SyncQueue {
    /// Creates an empty queue, served by a task as long as a sender exists. The task waits `gather` for more before it
    /// stores a batch.
    pub(super) fn new(caches: Caches, storing: Arc<Condition>, gather: Duration) -> Self {
        let (queue, pending) = mpsc::channel(limits::STORED_TOGETHER);
        baton_base::task::spawn(store_batches(pending, caches, storing.clone(), gather));
        Self { pending: queue, storing }
    }

    /// Queues the prepared conversation of a job, waiting while the queue is full, or reports any other outcome at
    /// once.
    pub(super) async fn add(&self, come_to: Result<Result<Prepared, JobOutcome>, JoinError>, pending: PendingJob) {
        match come_to {
            // The receiving task ends only with the runtime.
            Ok(Ok(prepared)) => drop(self.pending.send((prepared, pending)).await),
            Ok(Err(outcome)) => {
                note(&self.storing, &outcome);
                pending.done(outcome);
            }
            Err(_) => {
                let outcome = broken(pending.effect);
                pending.done(outcome);
            }
        }
    }
}

/// Notes whether the disk accepted what the job had to store.
fn note(storing: &Condition, outcome: &JobOutcome) {
    match outcome {
        JobOutcome::Complete(complete) if complete.stored.is_some() => storing.succeeded(),
        JobOutcome::Failed { why: FailureReason::NotStored, reason, .. } => storing.failed(reason),
        _ => {}
    }
}

async fn store_batches(
    mut queue: mpsc::Receiver<(Prepared, PendingJob)>,
    caches: Caches,
    storing: Arc<Condition>,
    gather: Duration,
) {
    let mut taken = Vec::with_capacity(limits::STORED_TOGETHER);
    while queue.recv_many(&mut taken, limits::STORED_TOGETHER).await > 0 {
        let until = tokio::time::Instant::now() + gather;
        while let missing @ 1.. = limits::STORED_TOGETHER.saturating_sub(taken.len())
            && matches!(tokio::time::timeout_at(until, queue.recv_many(&mut taken, missing)).await, Ok(1..))
        {}
        let (prepared, pending): (Vec<_>, Vec<_>) = taken.drain(..).unzip();
        tracing::debug!(sessions = pending.len(), "conversations stored together");
        let caches = caches.clone();
        let stored = baton_base::task::spawn_blocking(move || job::store(prepared, &caches)).await;
        let mut outcomes = stored.unwrap_or_default().into_iter();
        for pending in pending {
            let outcome = outcomes.next().unwrap_or_else(|| broken(pending.effect));
            note(&storing, &outcome);
            pending.done(outcome);
        }
    }
}
