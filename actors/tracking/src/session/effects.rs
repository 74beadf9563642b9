//! Starts the index jobs and closes that a session owes, and records the outcomes of jobs.

use std::sync::Arc;

use baton_conversation::item::Agent;
use baton_events::session::{Close, CloseReason, Command, Effect, FileIdentity};
use ractor::ActorRef;

use super::{Msg, State};
use crate::indexer::{JobOutcome, JobRequest};
use baton_base::throttle::Urgency;
use baton_journal::AppendError;

impl State {
    /// Starts the effects that are owed and not in flight. The supervisor schedules wake-ups from the session table.
    pub(super) fn start_effects(&mut self, myself: &ActorRef<Msg>) {
        let policy = self.policy();
        for effect in self.aggregate().pending(&policy) {
            let job = match effect {
                Effect::Index(job) => job,
                Effect::Close(_) => {
                    self.close_next(myself);
                    continue;
                }
                // The enricher and the supervisor find these in the session table.
                Effect::Enrich(_) | Effect::Wake(_) => continue,
            };
            if self.in_flight == Some(job.effect) {
                continue;
            }
            self.in_flight = Some(job.effect);
            let urgency = if self.waiting.is_empty() { Urgency::Background } else { Urgency::Asked };
            let state = self.aggregate().state();
            let myself = myself.clone();
            let reply = Arc::new(move |outcome| drop(myself.send_message(Msg::Done(Box::new(outcome)))));
            self.options.indexer.index(JobRequest {
                session: self.id.clone(),
                agent: state.transcript.as_ref().map_or(Agent::ClaudeCode, |transcript| transcript.agent),
                subagent: state.is_subagent(),
                job,
                filter_version: policy.filter_version,
                anew: state.job.is_some_and(|job| job.reason == CloseReason::Reindex),
                urgency,
                reply,
            });
        }
    }

    /// Schedules an owed close behind the messages already queued, because it reads the file.
    fn close_next(&mut self, myself: &ActorRef<Msg>) {
        if self.closing {
            return;
        }
        self.closing = myself.send_message(Msg::Wake).is_ok();
        if !self.closing {
            // This incarnation is draining and accepts no more messages.
            self.options.supervisor.owed(self.id.clone());
        }
    }

    pub(super) async fn done(&mut self, outcome: JobOutcome) -> Result<(), AppendError> {
        if self.in_flight != Some(outcome.effect()) {
            tracing::debug!(session = %self.id, "result of an outdated job ignored");
            self.options.indexer.disown(&self.id, outcome.effect());
            return Ok(());
        }
        self.in_flight = None;
        match outcome {
            JobOutcome::Complete(complete) => {
                let effect = complete.effect;
                if let Err(rejection) = self.submit(&Command::Complete(*complete), None).await? {
                    tracing::warn!(session = %self.id, ?effect, %rejection, "result of an index job refused");
                    self.options.indexer.disown(&self.id, effect);
                }
            }
            JobOutcome::Failed { effect, why, reason } => {
                tracing::warn!(session = %self.id, %why, %reason, "index job failed");
                self.unreadable = Some(reason);
                let why = self.recheck_gone(why).await;
                let _ = self.submit(&Command::Fail { effect, why }, None).await?;
            }
            JobOutcome::Rewritten { identity, .. } => self.begin_anew(identity).await?,
            JobOutcome::LetGo { .. } => self.refuse_waiters(),
        }
        Ok(())
    }

    /// Handles a file that no longer continues what was observed: observes it from the start and repeats the close.
    async fn begin_anew(&mut self, identity: FileIdentity) -> Result<(), AppendError> {
        let reason = self.aggregate().state().job.map(|job| job.again.unwrap_or(job.reason));
        if self.submit(&Command::Rewrite { identity }, None).await?.is_err() {
            return Ok(());
        }
        self.read_to_end().await?;
        self.repeat_close(reason).await
    }

    /// Repeats the close whose job was voided by a rewrite.
    pub(super) async fn repeat_close(&mut self, reason: Option<CloseReason>) -> Result<(), AppendError> {
        if let Some(reason) = reason {
            // A new generation is read from its start anyway, so it need not be a reindex.
            let reason = if reason == CloseReason::Reindex { CloseReason::Sync } else { reason };
            let close = Close { reason, note: None, by_self: false, unread: self.unreadable.is_some() };
            let _ = self.submit(&Command::Close(close), None).await?;
        }
        Ok(())
    }
}
