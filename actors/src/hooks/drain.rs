//! Taking in what lies in the spool: when the daemon starts, and whenever the folder has changed since.
//!
//! # Hazards
//!
//! - A session that alone takes nothing holds up no other; after five minutes its files are put aside in
//!   `spool/unreadable/`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use baton_protocol::Spooled;
use tokio::sync::watch;

use super::spool::Unfit;
use super::{Hooks, Taken};

/// How often it is looked whether the folder has changed: one `stat`.
const LOOK: Duration = Duration::from_secs(1);
/// How long the log takes no signal before those in the spool are tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How often in a row a session takes nothing that the log would take, before what waits of it is put aside: five minutes.
const TRIES: u32 = 60;

/// What of the spool is known.
#[derive(Default)]
pub(super) struct Drained {
    /// The folder as it was when there was nothing in it.
    stamp: Option<SystemTime>,
    /// Whether it was looked into at all.
    looked: bool,
    /// Not before then.
    retry_at: Option<tokio::time::Instant>,
    /// Sessions that took nothing the last time.
    stuck: Stuck,
}

/// Sessions whose own trouble it is that they take nothing, each with how often in a row that was tried. They hold up no
/// other.
#[derive(Default)]
struct Stuck(BTreeMap<String, u32>);

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
        let mut stuck = Stuck::default();
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
        *drained = Drained { stamp: listed.stamp, looked: true, ..Drained::default() };
    }

    /// Takes in one file. `false`: the log takes nothing at the moment, and it stays where it is. So does one of a session that
    /// alone takes nothing, until it was tried often enough.
    async fn take_file(&self, path: PathBuf, before: &Stuck, stuck: &mut Stuck) -> bool {
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
        if stuck.has(&hook.session_id) {
            // Not before what came before it.
            return true;
        }
        let taken = self.take(&hook).await;
        if let Taken::Recorded(told) | Taken::Known(told) | Taken::Accepted(told) = &taken {
            self.came_late(told).await;
        }
        match taken {
            Taken::Failed(_) if self.options.outage.lasts() || *self.options.stopping.borrow() => false,
            Taken::Failed(_) => {
                if !stuck.tried(&hook.session_id, before) {
                    self.put_aside(path, "its session takes nothing").await;
                }
                true
            }
            _ => {
                self.statistics.failed(&hook.event, &why, took_us);
                if let Some(Err(error)) = self.blocking(move |spool| spool.remove(&path)).await {
                    tracing::warn!(%error, "file of the spool not removed");
                }
                true
            }
        }
    }

    async fn put_aside(&self, path: PathBuf, reason: &'static str) {
        tracing::warn!(reason, "file of the spool put aside");
        self.statistics.unreadable(1);
        self.blocking(move |spool| spool.put_aside(&path)).await;
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

impl Stuck {
    fn has(&self, session: &str) -> bool {
        self.0.contains_key(session)
    }

    /// Something of the session was tried in vain. Whether it is to be tried again.
    fn tried(&mut self, session: &str, before: &Self) -> bool {
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
        let mut before = Stuck::default();
        for _ in 1..TRIES {
            let mut stuck = Stuck::default();
            assert!(stuck.tried("a", &before) && stuck.has("a") && !stuck.has("b"));
            before = stuck;
        }
        let mut last = Stuck::default();
        assert!(!last.tried("a", &before) && !last.has("a"), "what else waits of it is put aside as well");
        assert!(last.tried("b", &before), "another is counted for itself");
        assert!(Stuck::default().tried("a", &Stuck::default()), "once it has taken something it is counted anew");
    }
}
