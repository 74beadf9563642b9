//! Starting work on the runtime.
//!
//! The runtime's code for a task is compiled once for each type of task and of result. Here both are boxed, so that it is
//! compiled once.

use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::{AbortHandle, JoinError, JoinHandle};

/// What a task returns, of any type.
type Returned = Box<dyn Any + Send>;

/// A task that was started, which returns a `T`. As a future it waits for the end. Dropping it does not end the task.
#[derive(Debug)]
pub struct Task<T> {
    handle: JoinHandle<Returned>,
    result: PhantomData<fn() -> T>,
}

impl<T> Task<T> {
    fn new(handle: JoinHandle<Returned>) -> Self {
        Self { handle, result: PhantomData }
    }

    /// Ends the task at its next pause.
    pub fn abort(&self) {
        self.handle.abort();
    }

    /// Ends the task at its next pause, wherever the task itself is.
    pub fn abort_handle(&self) -> AbortHandle {
        self.handle.abort_handle()
    }

    /// True if the task has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T: 'static> Future for Task<T> {
    /// An error if the task panicked or was aborted.
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let returned = ready!(Pin::new(&mut self.handle).poll(context));
        Poll::Ready(returned.map(|result| *result.downcast().expect("a task is started with the type of its result")))
    }
}

/// Starts `work` beside the caller.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let work = async { Box::new(work.await) as Returned };
    #[expect(clippy::disallowed_methods, reason = "the only place that calls it")]
    Task::new(tokio::spawn(Box::pin(work) as Pin<Box<dyn Future<Output = Returned> + Send>>))
}

/// Runs `work`, which may block, on a thread that may block.
pub fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    let work = || Box::new(work()) as Returned;
    #[expect(clippy::disallowed_methods, reason = "the only place that calls it")]
    Task::new(tokio::task::spawn_blocking(Box::new(work) as Box<dyn FnOnce() -> Returned + Send>))
}
