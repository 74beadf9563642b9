//! Change notifications for the folders of writers, so that a change on this machine is noticed at once. Changes by
//! other machines in a network file system are not announced, so polling is still needed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// See the module.
#[derive(Default)]
pub(super) struct News {
    came: Arc<Notify>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    /// Absent if the system offers none.
    watcher: Option<RecommendedWatcher>,
    is_begun: bool,
    folders: BTreeSet<PathBuf>,
    /// Folders removed or renamed since the last look.
    gone: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl News {
    /// Watches folders from now on, except those that cannot be watched. Returns true if one was not watched before.
    /// Blocks for a moment.
    pub(super) fn watch(&self, folders: impl Iterator<Item = PathBuf>) -> bool {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.is_begun {
            let (came, gone) = (self.came.clone(), watched.gone.clone());
            let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // Reads are not changes.
                let Ok(event) = event.as_ref() else { return };
                if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
                    gone.lock().unwrap_or_else(PoisonError::into_inner).extend(event.paths.iter().cloned());
                }
                if !event.kind.is_access() {
                    came.notify_one();
                }
            });
            (watched.watcher, watched.is_begun) = (watcher.ok(), true);
        }
        let gone = std::mem::take(&mut *watched.gone.lock().unwrap_or_else(PoisonError::into_inner));
        let Watched { watcher: Some(watcher), folders: known, .. } = &mut *watched else { return false };
        // Another folder may have taken its name.
        known.retain(|folder| !gone.contains(folder));
        let mut is_new = false;
        for folder in folders {
            if !known.contains(&folder) && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                known.insert(folder);
                is_new = true;
            }
        }
        is_new
    }

    /// Resolves when something has changed, or after `most`.
    pub(super) async fn changed_or_timeout(&self, most: Duration) {
        let _ = tokio::time::timeout(most, self.came.notified()).await;
    }
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("News")
    }
}
