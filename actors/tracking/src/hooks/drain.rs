//! Takes in the spool: when the daemon starts, and whenever the folder has changed.
//!
//! # Hazards
//!
//! - A session that cannot record its signals does not block others; after five minutes its files are moved to
//!   `spool/unreadable/`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use baton_protocol::Spooled;
use tokio::sync::watch;

use super::spool::Unfit;
use super::{Hooks, Taken};

/// How often the folder is checked for changes, with one `stat`.
const LOOK: Duration = Duration::from_secs(1);
/// Delay before the spool is tried again after a failure.
const RETRY: Duration = Duration::from_secs(5);
/// Consecutive failures of one session, while the log accepts writes, before its files are put aside: five minutes.
const TRIES: u32 = 60;

/// What is known of the spool.
#[derive(Default)]
pub(super) struct DrainState {
    /// The folder's modification time when it was empty.
    stamp: Option<SystemTime>,
    /// True once it was looked into.
    looked: bool,
    /// Do not try again before this time.
    retry_at: Option<tokio::time::Instant>,
    /// Sessions that failed the last time.
    stuck: StuckSessions,
}

/// Sessions that fail for reasons of their own, each with the number of consecutive tries. They do not block others.
#[derive(Default)]
struct StuckSessions(BTreeMap<String, u32>);

impl DrainState {
    /// True if nothing was added since the spool was empty.
    fn is_unchanged(&self, stamp: Option<SystemTime>) -> bool {
        self.looked && (stamp.is_none() || self.stamp == stamp)
    }
}

/// Drains the spool until the daemon stops or the hooks are dropped.
pub async fn watch(hooks: Weak<Hooks>, mut stop: watch::Receiver<bool>) {
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
    /// Takes in the spool if it has changed. When this returns, everything spooled before the call has been taken in,
    /// as far as the log accepts it.
    pub async fn drain(self: &Arc<Self>) {
        // One `stat`, so that a hook with an empty spool does not wait for a thread.
        if self.draining.try_lock().is_ok_and(|drained| drained.is_unchanged(self.spool.stamp())) {
            return;
        }
        let hooks = self.clone();
        // In a task of its own, so that a caller that gives up does not interrupt it halfway.
        let _ = baton_base::task::spawn(async move { hooks.drain_changed().await }).await;
    }

    async fn drain_changed(&self) {
        let mut drained = self.draining.lock().await;
        let stamp = self.blocking(|hooks| hooks.stamp()).await.flatten();
        let is_waiting = drained.retry_at.is_some_and(|at| tokio::time::Instant::now() < at);
        if drained.is_unchanged(stamp) || is_waiting {
            return;
        }
        let listed = match self.blocking(|spool| spool.list(SystemTime::now())).await {
            Some(Ok(listed)) => listed,
            Some(Err(error)) => return tracing::warn!(%error, "spool not read"),
            None => return,
        };
        self.statistics.count_unreadable(listed.unreadable);
        let dropped = self.blocking(|spool| spool.take_dropped()).await.unwrap_or_default();
        self.statistics.count_dropped(dropped);
        let found = listed.files.len();
        let mut stuck = StuckSessions::default();
        for path in listed.files {
            if !self.take_file(path, &drained.stuck, &mut stuck).await {
                drained.retry_at = Some(tokio::time::Instant::now() + RETRY);
                return;
            }
        }
        if !stuck.0.is_empty() {
            drained.retry_at = Some(tokio::time::Instant::now() + RETRY);
            drained.stuck = stuck;
            return;
        }
        if found > 0 || listed.unreadable > 0 || dropped > 0 {
            tracing::info!(signals = found, unreadable = listed.unreadable, dropped, "spool taken in");
        }
        *drained = DrainState { stamp: listed.stamp, looked: true, ..DrainState::default() };
    }

    /// Takes in one file. Returns `false` if the log accepts nothing at the moment; the file stays. The file of a
    /// session that fails for reasons of its own stays until it was tried [`TRIES`] times.
    async fn take_file(&self, path: PathBuf, before: &StuckSessions, stuck: &mut StuckSessions) -> bool {
        let read = {
            let path = path.clone();
            self.blocking(move |spool| spool.read(&path)).await
        };
        let Spooled { why, took_us, hook, .. } = match read {
            Some(Ok(spooled)) => spooled,
            Some(Err(Unfit::NotNow(error))) => {
                tracing::debug!(%error, "file of the spool not read");
                return true;
            }
            Some(Err(Unfit::Never(reason))) => {
                self.put_aside(path, reason).await;
                return true;
            }
            None => return true,
        };
        if stuck.contains(&hook.session_id) {
            // Keep the order of the session's signals.
            return true;
        }
        let taken = self.handle(&hook).await;
        if let Taken::Recorded(checked) | Taken::Known(checked) | Taken::Accepted(checked) = &taken {
            self.take_spooled(checked).await;
        }
        match taken {
            Taken::Failed(_) if self.options.outage.lasts() || *self.options.stopping.borrow() => false,
            Taken::Failed(_) => {
                if !stuck.count_try(&hook.session_id, before) {
                    self.put_aside(path, "its session records nothing").await;
                }
                true
            }
            _ => {
                self.statistics.count_spooled(&hook.event, &why, took_us);
                if let Some(Err(error)) = self.blocking(move |spool| spool.remove(&path)).await {
                    tracing::warn!(%error, "file of the spool not removed");
                }
                true
            }
        }
    }

    async fn put_aside(&self, path: PathBuf, reason: &'static str) {
        tracing::warn!(reason, "file of the spool put aside");
        self.statistics.count_unreadable(1);
        self.blocking(move |spool| spool.put_aside(&path)).await;
    }

    /// Runs a blocking call on the spool.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&super::spool::Spool) -> T + Send + 'static,
    ) -> Option<T> {
        let spool = self.spool.clone();
        baton_base::task::spawn_blocking(move || run(&spool)).await.ok()
    }
}

impl StuckSessions {
    fn contains(&self, session: &str) -> bool {
        self.0.contains_key(session)
    }

    /// Counts a failed try of a session. Returns `true` if it is to be tried again.
    fn count_try(&mut self, session: &str, before: &Self) -> bool {
        let tries = before.0.get(session).map_or(1, |tries| tries + 1);
        let is_tried_again = tries < TRIES;
        if is_tried_again {
            self.0.insert(session.to_owned(), tries);
        }
        is_tried_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_takes_nothing_is_tried_so_often_in_a_row_and_no_more() {
        let mut before = StuckSessions::default();
        for _ in 1..TRIES {
            let mut stuck = StuckSessions::default();
            assert!(stuck.count_try("a", &before) && stuck.contains("a") && !stuck.contains("b"));
            before = stuck;
        }
        let mut last = StuckSessions::default();
        assert!(!last.count_try("a", &before) && !last.contains("a"), "what else waits of it is put aside as well");
        assert!(last.count_try("b", &before), "another is counted for itself");
        assert!(
            StuckSessions::default().count_try("a", &StuckSessions::default()),
            "once it has taken something it is counted anew"
        );
    }
}
