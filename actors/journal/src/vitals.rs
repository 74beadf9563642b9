//! What the daemon cannot go on without: its home, and a log that takes writes. When one of them is lost the process is to end
//! at once, as by a kill: everything that was acknowledged is durable, the next start recovers, and taking the daemon down in
//! order would write to a home that is not its own any more.
//!
//! # Hazards
//!
//! - A copy of a file system in use is of no one instant and may hold what no disk ever held, so the power-cut
//!   test holds the daemon still. It does not see what is made durable by other ways than `durable` and the
//!   journal's `Files`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::Journal;
use baton_base::pinned_folder::PinnedFolder;

/// How often both are looked at. Whatever is acknowledged in between is checked for itself.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at both, and says when one is lost.
pub struct Vitals {
    home: Option<PinnedFolder>,
    journal: Arc<dyn Journal>,
    lost: watch::Sender<Option<String>>,
}

impl Vitals {
    /// Of a home that is locked, and of its log.
    pub fn new(home: Option<PinnedFolder>, journal: Arc<dyn Journal>) -> Self {
        Self { home, journal, lost: watch::Sender::new(None) }
    }

    /// Why the daemon cannot go on, by a look at both now: one call to the file system that the log is written to. `None`: it can.
    pub fn failure(&self) -> Option<String> {
        let moved = self.home.as_ref().filter(|home| home.is_moved());
        let moved = moved.map(|home| format!("BATON_HOME, {}, was moved, removed or replaced", home.path().display()));
        moved.or_else(|| self.journal.failure())
    }

    /// Ends the wait for a loss, if there is one by now. Whether there is.
    pub fn look(&self) -> bool {
        match self.failure() {
            Some(reason) => {
                self.lost.send_if_modified(|lost| lost.replace(reason).is_none());
                true
            }
            None => false,
        }
    }

    /// Ends the daemon for another reason.
    pub fn end(&self, reason: String) {
        self.lost.send_if_modified(|lost| lost.is_none() && lost.replace(reason).is_none());
    }

    /// Completes when one is lost, with the reason.
    pub async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        loop {
            if let Some(reason) = lost.borrow_and_update().clone() {
                return reason;
            }
            // The sender lives as long as this.
            let _ = lost.changed().await;
        }
    }

    /// Looks now and then until one is lost or the daemon stops.
    pub async fn watch(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            let vitals = Arc::clone(&self);
            if tokio::task::spawn_blocking(move || vitals.look()).await.unwrap_or(false) {
                return;
            }
        }
    }
}
