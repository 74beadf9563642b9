//! Taking in what lies in the spool: when the daemon starts, and whenever the folder has changed since.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use baton_events::protocol::Spooled;
use tokio::sync::watch;

use super::spool::Unfit;
use super::{Hooks, Taken};

/// How often it is looked whether the folder has changed: one `stat`.
const LOOK: Duration = Duration::from_secs(1);
/// How long the log takes no signal before those in the spool are tried again.
const RETRY: Duration = Duration::from_secs(5);

/// What of the spool is known.
#[derive(Default)]
pub(super) struct Drained {
    /// The folder as it was when there was nothing in it.
    stamp: Option<SystemTime>,
    /// Whether it was looked into at all.
    looked: bool,
    /// Not before then.
    retry_at: Option<tokio::time::Instant>,
}

impl Drained {
    /// Whether nothing has come since there was nothing.
    fn is_as_it_was(&self, stamp: Option<SystemTime>) -> bool {
        self.looked && (stamp.is_none() || self.stamp == stamp)
    }
}

/// Looks after the spool until the daemon stops or nobody uses it any more.
pub(crate) async fn watch(hooks: Weak<Hooks>, mut stop: watch::Receiver<bool>) {
    loop {
        let Some(hooks) = hooks.upgrade() else { return };
        hooks.drain().await;
        hooks.save(false).await;
        drop(hooks);
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

impl Hooks {
    /// Takes in what lies in the spool, if that has changed. When it comes back, what was there before it was called is
    /// taken in, as far as the log takes it.
    pub async fn drain(self: &Arc<Self>) {
        // One `stat`, so that a hook which finds nothing there does not wait for a thread.
        if self.draining.try_lock().is_ok_and(|drained| drained.is_as_it_was(self.spool.stamp())) {
            return;
        }
        let hooks = self.clone();
        // A task of its own: whoever waits may stop waiting, and a signal is not taken in halfway.
        let _ = tokio::spawn(async move { hooks.drain_changed().await }).await;
    }

    async fn drain_changed(&self) {
        let mut drained = self.draining.lock().await;
        let stamp = self.blocking(|hooks| hooks.stamp()).await.flatten();
        let is_waiting = drained.retry_at.is_some_and(|at| tokio::time::Instant::now() < at);
        if drained.is_as_it_was(stamp) || is_waiting {
            return;
        }
        let listed = match self.blocking(|spool| spool.list(SystemTime::now())).await {
            Some(Ok(listed)) => listed,
            Some(Err(error)) => return tracing::warn!(%error, "spool not read"),
            None => return,
        };
        self.statistics.unreadable(listed.unreadable);
        let dropped = self.blocking(|spool| spool.take_dropped()).await.unwrap_or_default();
        self.statistics.dropped(dropped);
        let found = listed.files.len();
        for path in listed.files {
            if !self.take_file(path).await {
                drained.retry_at = Some(tokio::time::Instant::now() + RETRY);
                return;
            }
        }
        if found > 0 || listed.unreadable > 0 || dropped > 0 {
            tracing::info!(signals = found, unreadable = listed.unreadable, dropped, "spool taken in");
        }
        *drained = Drained { stamp: listed.stamp, looked: true, retry_at: None };
    }

    /// Takes in one file. `false`: the log takes nothing at the moment, and it stays where it is.
    async fn take_file(&self, path: PathBuf) -> bool {
        let read = {
            let path = path.clone();
            self.blocking(move |spool| spool.read(&path)).await
        };
        let Spooled { why, hook, .. } = match read {
            Some(Ok(spooled)) => spooled,
            Some(Err(Unfit::NotNow(error))) => {
                tracing::debug!(%error, "file of the spool not read");
                return true;
            }
            Some(Err(Unfit::Never(reason))) => {
                tracing::warn!(reason, "file of the spool put aside");
                self.statistics.unreadable(1);
                self.blocking(move |spool| spool.put_aside(&path)).await;
                return true;
            }
            None => return true,
        };
        match self.take(&hook).await {
            Taken::Failed(_) => false,
            _ => {
                self.statistics.failed(&hook.event, &why);
                if let Some(Err(error)) = self.blocking(move |spool| spool.remove(&path)).await {
                    tracing::warn!(%error, "file of the spool not removed");
                }
                true
            }
        }
    }

    /// Runs something on the spool that blocks for short disk accesses.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&super::spool::Spool) -> T + Send + 'static,
    ) -> Option<T> {
        let spool = self.spool.clone();
        tokio::task::spawn_blocking(move || run(&spool)).await.ok()
    }
}
