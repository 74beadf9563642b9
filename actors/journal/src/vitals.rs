//! What the daemon cannot run without: its home, and a log that accepts writes. If one of them is lost, the process
//! must end at once, as if killed: everything acknowledged is durable, the next start recovers, and an orderly shutdown
//! would write to a home that no longer belongs to it.
//!
//! # Hazards
//!
//! - A copy of a file system in use shows no single instant and may contain states that no disk ever held, so the
//!   power-cut test pauses the daemon. It does not see what is made durable by other means than `durable` and the
//!   journal's `Files`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::Journal;
use baton_base::pinned_folder::PinnedFolder;

/// Interval between two checks. Whatever is acknowledged in between is checked by itself.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Checks the home and the log, and announces the loss of either.
pub struct Vitals {
    home: Option<PinnedFolder>,
    journal: Arc<dyn Journal>,
    lost: watch::Sender<Option<String>>,
}

impl Vitals {
    /// Vitals of a locked home and its log.
    pub fn new(home: Option<PinnedFolder>, journal: Arc<dyn Journal>) -> Self {
        Self { home, journal, lost: watch::Sender::new(None) }
    }

    /// Checks both now and returns why the daemon cannot go on, or `None`. Costs one call to the file system of the
    /// log.
    pub fn failure(&self) -> Option<String> {
        let moved = self.home.as_ref().filter(|home| home.is_moved());
        let moved = moved.map(|home| format!("BATON_HOME, {}, was moved, removed or replaced", home.path().display()));
        moved.or_else(|| self.journal.failure())
    }

    /// Checks both, and completes [`Vitals::lost`] if one is lost. Returns true in that case.
    pub fn check(&self) -> bool {
        match self.failure() {
            Some(reason) => {
                self.lost.send_if_modified(|lost| lost.replace(reason).is_none());
                true
            }
            None => false,
        }
    }

    /// Completes [`Vitals::lost`] for another reason, unless it has completed already.
    pub fn declare_lost(&self, reason: String) {
        self.lost.send_if_modified(|lost| lost.is_none() && lost.replace(reason).is_none());
    }

    /// Completes with the reason when the home or the log is lost.
    pub async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        loop {
            if let Some(reason) = lost.borrow_and_update().clone() {
                return reason;
            }
            // Cannot fail: `self` owns the sender.
            let _ = lost.changed().await;
        }
    }

    /// Checks both regularly until one is lost or the daemon stops.
    pub async fn watch(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            let vitals = Arc::clone(&self);
            if baton_base::task::spawn_blocking(move || vitals.check()).await.unwrap_or(false) {
                return;
            }
        }
    }
}
