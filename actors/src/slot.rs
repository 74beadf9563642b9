//! Where an actor can be reached although it may be restarted: the supervisor puts the new one in the same place.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{ActorRef, Message, RpcReplyPort};

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

/// A place that holds the current incarnation of an actor.
pub struct Slot<M: Message>(Arc<RwLock<Option<ActorRef<M>>>>);

impl<M: Message> Clone for Slot<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Message> Default for Slot<M> {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(None)))
    }
}

impl<M: Message> Slot<M> {
    /// Puts an incarnation in place.
    pub fn put(&self, actor: ActorRef<M>) {
        *self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(actor);
    }

    /// The current incarnation.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
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
