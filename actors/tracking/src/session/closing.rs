//! Closes and the callers that wait for them.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::Position;
use baton_events::session::{Aggregate, Close, CloseReason, Command, Phase, Rejection};
use ractor::RpcReplyPort;
use uuid::Uuid;

use super::{CloseCall, Closed, Outcome, State, answer};
use baton_base::limits;
use baton_journal::AppendError;

/// A caller that is answered once no job runs.
pub(super) struct Waiter {
    reply: RpcReplyPort<Closed>,
    before: Option<Uuid>,
}

impl State {
    pub(super) async fn close(&mut self, call: CloseCall, reply: RpcReplyPort<Closed>) -> Result<(), AppendError> {
        if self.waiting.len() >= limits::WAITERS_PER_SESSION {
            let _ = reply.send(self.closed(Outcome::Busy));
            return Ok(());
        }
        let before = self.aggregate().state().episode.as_ref().map(|episode| episode.uuid);
        match self.read_and_close(&call).await {
            Ok(None) => {
                self.waiting.push(Waiter { reply, before });
                if self.in_flight.is_some() {
                    self.options.indexer.hurry(&self.id);
                }
                Ok(())
            }
            Ok(Some(outcome)) => {
                let _ = reply.send(self.closed(outcome));
                Ok(())
            }
            // Return the conflict unanswered: the caller asks the next incarnation.
            Err(error @ AppendError::Conflict { .. }) => Err(error),
            Err(error) => {
                let _ = reply.send(self.closed(Outcome::NotRecorded { reason: error.to_string() }));
                Err(error)
            }
        }
    }

    async fn read_and_close(&mut self, call: &CloseCall) -> Result<Option<Outcome>, AppendError> {
        self.read_to_end().await?;
        self.submit_close(call).await
    }

    /// Records the close. Returns `None` if the answer depends on a job, and is given once none runs.
    pub(super) async fn submit_close(&mut self, call: &CloseCall) -> Result<Option<Outcome>, AppendError> {
        if call.reason == CloseReason::Reindex {
            return Ok(self.submit(&Command::Reindex, Some(&call.command)).await?.err().map(Outcome::Refused));
        }
        let state = self.aggregate().state();
        if state.phase == Phase::Forgotten {
            // Refuse before a note of it is stored.
            return Ok(Some(Outcome::Refused(Rejection::Forgotten)));
        }
        let nothing_to_do = match state.phase {
            Phase::Indexed => {
                state.unindexed == 0 && self.unreadable.is_none() && state.filter_is(self.policy().filter_version)
            }
            // It is retried at its own time; another request is no reason to retry early.
            Phase::Failed => {
                let waits = state.failure.is_some_and(|failure| self.options.clock.now() < failure.retry_at);
                waits && self.unreadable.is_some()
            }
            // The running job covers everything read so far.
            Phase::Indexing => state.job.is_some_and(|job| state.unindexed <= job.covers) && self.unreadable.is_none(),
            _ => false,
        };
        if call.reason == CloseReason::LazyQuery && nothing_to_do {
            // A query that finds nothing to do records nothing: it may run a thousand times an hour.
            return Ok(None);
        }
        if let (Some(reason), Phase::New) = (&self.unreadable, state.phase) {
            return Ok(Some(Outcome::Unreadable { reason: reason.clone() }));
        }
        let note = match &call.note {
            Some(text) => match self.store_note(text.clone()).await {
                Ok(hash) => Some(hash),
                Err(reason) => return Ok(Some(Outcome::NotRecorded { reason })),
            },
            None => None,
        };
        let close = Command::Close(Close {
            reason: call.reason,
            note,
            by_self: call.by_self,
            unread: self.unreadable.is_some(),
        });
        Ok(self.submit(&close, Some(&call.command)).await?.err().map(Outcome::Refused))
    }

    /// Stores a note beside the conversation, because the log holds no text. It is durable before an event names it.
    pub(super) async fn store_note(&self, text: String) -> Result<ContentHash, String> {
        let (chunks, id) = (self.options.chunks.clone(), self.id.clone());
        let stored = baton_base::task::spawn_blocking(move || chunks.put_note(&id, &text)).await;
        let not_stored = |error: &dyn std::fmt::Display| format!("its text cannot be stored: {error}");
        stored.map_err(|error| not_stored(&error))?.map_err(|error| not_stored(&error))
    }

    /// Refuses all waiters if a switch has stopped the session's job before it began: the job stays owed until the
    /// switch is lifted, which may take arbitrarily long.
    pub(super) fn refuse_waiters(&mut self) {
        if !self.policy().tracked {
            self.dismiss_waiters(&Outcome::Refused(Rejection::SwitchedOff));
        }
    }

    /// Answers all waiters, unless a job still runs.
    pub(super) fn answer_waiters(&mut self) {
        let state = self.aggregate().state();
        if state.phase == Phase::Indexing || self.waiting.is_empty() {
            return;
        }
        let reason = self.unreadable.clone();
        for waiter in std::mem::take(&mut self.waiting) {
            let outcome = answer::outcome(self.aggregate().state(), waiter.before, reason.as_deref());
            let _ = waiter.reply.send(self.closed(outcome));
        }
    }

    pub(super) fn closed(&self, outcome: Outcome) -> Closed {
        let state = self.aggregate.as_ref().map(Aggregate::state);
        Closed {
            episode: state.and_then(|state| state.episode.as_ref()).map(|episode| episode.uuid),
            messages: state.map_or(0, |state| state.counts.messages),
            unreadable_lines: state.map_or(0, |state| state.counts.malformed),
            position: self.aggregate.as_ref().map_or(Position(0), Aggregate::position),
            outcome,
        }
    }

    /// Answers all waiters with an outcome that is not in the state: nothing could be recorded, or the history is
    /// unreadable.
    pub(super) fn dismiss_waiters(&mut self, outcome: &Outcome) {
        for waiter in std::mem::take(&mut self.waiting) {
            let _ = waiter.reply.send(self.closed(outcome.clone()));
        }
    }
}
