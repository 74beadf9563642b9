//! Starting work on the runtime.
//!
//! Both functions box what they are given. The runtime's code for a task is compiled once for each type of the task; with
//! one type for each type of a result it is compiled a few dozen times instead of once for each call.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

/// Starts `work` beside the caller. Dropping the handle does not end it.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    #[expect(clippy::disallowed_methods, reason = "the only place that calls it")]
    tokio::spawn(Box::pin(work) as Pin<Box<dyn Future<Output = T> + Send>>)
}

/// Runs `work`, which may block, on a thread that may block.
pub fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    #[expect(clippy::disallowed_methods, reason = "the only place that calls it")]
    tokio::task::spawn_blocking(Box::new(work) as Box<dyn FnOnce() -> T + Send>)
}
