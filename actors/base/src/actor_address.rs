//! Where an actor can be reached although it may be restarted: the supervisor puts the new one in the same place.

use std::sync::Arc;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{ActorRef, Message, RpcReplyPort};
use tokio::sync::watch;

/// The actor is not there, has ended, or did not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It is not running, or ended before it answered.
    #[error("it is being restarted; try again")]
    Gone,
    /// It did not answer in time.
    #[error("it did not answer in time")]
    TimedOut,
}

/// How long a call waits for the successor of an actor that has ended under it.
const SUCCESSOR: Duration = Duration::from_secs(2);

/// A place that holds the current incarnation of an actor.
pub struct Slot<M: Message>(Arc<watch::Sender<Option<ActorRef<M>>>>);

impl<M: Message> Clone for Slot<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Message> Default for Slot<M> {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl<M: Message> Slot<M> {
    /// Puts an incarnation in place.
    pub fn put(&self, actor: ActorRef<M>) {
        self.0.send_replace(Some(actor));
    }

    /// The current incarnation.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.borrow().clone()
    }

    /// Sends without an answer. A message to nobody is dropped: whoever restarts reads what it missed from the log
    /// or the disk.
    pub fn cast(&self, message: M) {
        if let Some(actor) = self.get() {
            let _ = actor.send_message(message);
        }
    }

    /// Sends and waits for the answer.
    pub async fn call<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<T>) -> M + Send,
        within: Duration,
    ) -> Result<T, CallError> {
        let actor = self.get().ok_or(CallError::Gone)?;
        call(&actor, message, within).await
    }

    /// The same, and if the actor ends before it answers, asks its successor once. For questions that may be asked twice.
    pub async fn ask<T: Send + 'static>(
        &self,
        message: impl Fn(RpcReplyPort<T>) -> M + Send + Sync,
        within: Duration,
    ) -> Result<T, CallError> {
        let mut incarnations = self.0.subscribe();
        let asked = incarnations.borrow_and_update().clone();
        if let Some(actor) = asked {
            match call(&actor, &message, within).await {
                Err(CallError::Gone) => {}
                answer => return answer,
            }
        }
        match tokio::time::timeout(SUCCESSOR, incarnations.changed()).await {
            Ok(Ok(())) => self.call(message, within).await,
            _ => Err(CallError::Gone),
        }
    }
}

/// Sends to one incarnation and waits for the answer.
pub async fn call<M: Message, T: Send + 'static>(
    actor: &ActorRef<M>,
    message: impl FnOnce(RpcReplyPort<T>) -> M + Send,
    within: Duration,
) -> Result<T, CallError> {
    match actor.call(message, Some(within)).await {
        Ok(CallResult::Success(answer)) => Ok(answer),
        Ok(CallResult::Timeout) => Err(CallError::TimedOut),
        Ok(CallResult::SenderError) | Err(_) => Err(CallError::Gone),
    }
}
