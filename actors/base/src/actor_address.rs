//! A stable address of an actor across restarts: the supervisor stores each new incarnation in it.

use std::sync::Arc;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{ActorRef, Message, RpcReplyPort};
use tokio::sync::watch;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It is not running, or ended before it answered.
    #[error("it is being restarted; try again")]
    Gone,
    /// It did not answer in time.
    #[error("it did not answer in time")]
    TimedOut,
}

/// How long a call waits for the successor of an actor that ended during it.
const SUCCESSOR: Duration = Duration::from_secs(2);

/// Holds the current incarnation of an actor.
pub struct ActorAddress<M: Message>(Arc<watch::Sender<Option<ActorRef<M>>>>);

impl<M: Message> Clone for ActorAddress<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Message> Default for ActorAddress<M> {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl<M: Message> ActorAddress<M> {
    /// Stores a new incarnation.
    pub fn put(&self, actor: ActorRef<M>) {
        self.0.send_replace(Some(actor));
    }

    /// The current incarnation.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.borrow().clone()
    }

    /// Sends without waiting for an answer. Without an incarnation the message is dropped: a restarted actor reads what
    /// it missed from the log or the disk.
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

    /// Like [`Self::call`], but if the actor ends before it answers, asks its successor once. For requests that may be
    /// repeated.
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
