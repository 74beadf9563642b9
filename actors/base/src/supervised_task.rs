//! Work that lives as long as the daemon and is not an actor.
//!
//! A task that returns is done, one that panics is restarted within a budget, and beyond that the daemon ends with the
//! reason.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::Timestamp;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::limits;
use crate::restart_budget::{RestartBudget, Verdict};
use crate::task::{self, Task};

/// Pause between a panic and the restart, so that a task that fails at once does not occupy a processor.
const PAUSE: Duration = Duration::from_millis(100);

/// One run of a task.
type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts tasks and observes how they end. Cheap to clone.
#[derive(Clone)]
pub struct TaskSupervisor(Arc<Inner>);

struct Inner {
    end_daemon: Box<dyn Fn(String) + Send + Sync>,
    #[cfg(any(test, feature = "faults"))]
    running: faults::Running,
}

impl TaskSupervisor {
    /// Calls `end_daemon` with the reason when a task exceeds its budget.
    pub fn new(end_daemon: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            end_daemon: Box::new(end_daemon),
            #[cfg(any(test, feature = "faults"))]
            running: faults::Running::default(),
        }))
    }

    /// Runs `work` until it returns, restarting it after each panic. Aborting the handle aborts the work.
    pub fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &'static str,
        mut work: impl FnMut() -> F + Send + 'static,
    ) -> Task<()> {
        task::spawn(self.clone().keep_running(name, Box::new(move || Box::pin(work()))))
    }

    async fn keep_running(self, name: &'static str, mut work: Box<dyn FnMut() -> Run + Send>) {
        let window_ms = i64::try_from(limits::RESTART_WINDOW.as_millis()).unwrap_or(i64::MAX);
        let (mut budget, begun) = (RestartBudget::new(limits::RESTARTS, window_ms), Instant::now());
        loop {
            // Dropping it with this task aborts the work.
            let mut running = JoinSet::new();
            running.spawn(self.breakable(name, work()));
            let Some(Err(error)) = running.join_next().await else { return };
            if error.is_cancelled() {
                return;
            }
            let now = Timestamp(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
            if budget.failed(&name, now) == Verdict::GiveUp {
                return (self.0.end_daemon)(format!("its task {name} keeps failing"));
            }
            tracing::error!(task = name, "task panicked, restarting it");
            tokio::time::sleep(PAUSE).await;
        }
    }

    #[cfg(not(any(test, feature = "faults")))]
    fn breakable(&self, _: &'static str, work: Run) -> Run {
        work
    }
}

/// Lets tests make a running task panic at any point.
#[cfg(any(test, feature = "faults"))]
mod faults {
    use std::collections::BTreeMap;
    use std::future::Future;
    use std::sync::{Arc, Mutex, PoisonError};

    use tokio::sync::watch;

    use super::{Run, TaskSupervisor};

    #[derive(Clone, Default)]
    struct Task {
        starts: u32,
        broken: watch::Sender<u32>,
        ended: bool,
    }

    #[derive(Default)]
    pub(super) struct Running(Mutex<BTreeMap<&'static str, Task>>);

    impl TaskSupervisor {
        pub(super) fn breakable(&self, name: &'static str, work: Run) -> impl Future<Output = ()> + Send + 'static {
            let mut broken = self.change(name, |task| {
                task.starts += 1;
                task.broken.subscribe()
            });
            let inner = Arc::clone(&self.0);
            async move {
                tokio::select! {
                    () = work => {}
                    changed = broken.changed() => if changed.is_ok() { panic!("broken by a test") },
                }
                TaskSupervisor(inner).change(name, |task| task.ended = true);
            }
        }

        /// Makes the current run of a task panic.
        pub fn break_task(&self, name: &'static str) {
            self.change(name, |task| task.broken.send_modify(|times| *times += 1));
        }

        /// The tasks that have not returned, each with its number of starts.
        pub fn running(&self) -> BTreeMap<&'static str, u32> {
            let tasks = self.0.running.0.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.iter().filter(|(_, task)| !task.ended).map(|(name, task)| (*name, task.starts)).collect()
        }

        fn change<T>(&self, name: &'static str, change: impl FnOnce(&mut Task) -> T) -> T {
            let mut tasks = self.0.running.0.lock().unwrap_or_else(PoisonError::into_inner);
            change(tasks.entry(name).or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn supervisor() -> (TaskSupervisor, Arc<Mutex<Vec<String>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let reasons = told.clone();
        (TaskSupervisor::new(move |reason| reasons.lock().unwrap().push(reason)), told)
    }

    /// A task that panics in its first `failures` runs and then returns.
    async fn run(failures: u32) -> (u32, Vec<String>) {
        let (supervisor, told) = supervisor();
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        let task = supervisor.spawn("test", move || {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(run >= failures, "run {run} fails") }
        });
        task.await.unwrap();
        let told = told.lock().unwrap().clone();
        (runs.load(Ordering::Relaxed), told)
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_returns_is_done_and_one_that_panics_is_started_anew() {
        assert_eq!(run(0).await, (1, vec![]));
        assert_eq!(run(1).await, (2, vec![]));
        let most = u32::try_from(limits::RESTARTS).unwrap();
        assert_eq!(run(most).await, (most + 1, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_keeps_failing_ends_the_daemon_with_the_reason() {
        let most = u32::try_from(limits::RESTARTS).unwrap();
        assert_eq!(run(most + 1).await, (most + 1, vec!["its task test keeps failing".to_owned()]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_is_aborted_is_not_started_anew() {
        let (supervisor, told) = supervisor();
        let task = supervisor.spawn("test", std::future::pending);
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!((supervisor.running()["test"], told.lock().unwrap().len()), (1, 0));
    }
}
