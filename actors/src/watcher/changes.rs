//! Change notification: hints only. The thread of `notify` does nothing but put paths in a bounded set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use notify::event::{CreateKind, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use ractor::ActorRef;

use super::{Msg, Nudge, Root};
use crate::limits;

pub(super) struct Changes {
    gathered: Arc<Gathered>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Roots for which watching failed, so that it is said once.
    failed: BTreeSet<PathBuf>,
}

struct Gathered {
    paths: Mutex<BTreeSet<PathBuf>>,
    /// Something happened that paths do not tell: look at everything.
    everything: AtomicBool,
    /// A nudge is on its way.
    nudged: AtomicBool,
    nudge: Nudge,
}

impl Changes {
    pub(super) fn new(watcher: ActorRef<Msg>) -> Self {
        let nudge: Nudge = Arc::new(move || drop(watcher.send_message(Msg::Changed)));
        let gathered = Arc::new(Gathered {
            paths: Mutex::default(),
            everything: AtomicBool::new(false),
            nudged: AtomicBool::new(false),
            nudge,
        });
        let handler = gathered.clone();
        let watcher = notify::recommended_watcher(move |event| handler.take_in(event));
        let watcher =
            watcher.inspect_err(|error| tracing::warn!(%error, "no change notification; sweeping instead")).ok();
        Self { gathered, watcher, watched: BTreeSet::new(), failed: BTreeSet::new() }
    }

    /// Watches every root that is there and is not watched yet, and no other any more.
    pub(super) fn watch(&mut self, roots: &[Root]) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|watched| {
            let wanted = roots.iter().any(|root| root.projects == *watched);
            if !wanted {
                // It may have gone with its directory.
                let _ = watcher.unwatch(watched);
            }
            wanted
        });
        for root in roots {
            if !root.projects.is_dir() {
                self.watched.remove(&root.projects);
                continue;
            }
            if self.watched.contains(&root.projects) {
                continue;
            }
            match watcher.watch(&root.projects, RecursiveMode::Recursive) {
                Ok(()) => {
                    self.failed.remove(&root.projects);
                    self.watched.insert(root.projects.clone());
                }
                Err(error) if self.failed.insert(root.projects.clone()) => {
                    tracing::warn!(root = %root.projects.display(), %error, "root not watched; sweeping instead");
                }
                Err(_) => {}
            }
        }
    }

    pub(super) fn watches(&self, root: &Path) -> bool {
        self.watched.contains(root)
    }

    /// What was gathered; `None` when only a look at everything will do.
    pub(super) fn take(&self) -> Option<Vec<PathBuf>> {
        // In this order: what comes after the first line nudges again.
        self.gathered.nudged.store(false, Ordering::SeqCst);
        let everything = self.gathered.everything.swap(false, Ordering::SeqCst);
        let paths = std::mem::take(&mut *self.gathered.lock());
        (!everything).then(|| paths.into_iter().collect())
    }
}

impl Gathered {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        self.paths.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take_in(&self, event: notify::Result<notify::Event>) {
        let worth_a_look = match event {
            // Our own reading makes access events.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
            Ok(event) => {
                // Files made in a new directory before it was watched made no event of their own.
                let unsure = event.need_rescan()
                    || matches!(
                        event.kind,
                        EventKind::Create(CreateKind::Folder | CreateKind::Any | CreateKind::Other)
                    );
                self.gather(event.paths, unsure)
            }
            Err(_) => {
                self.everything.store(true, Ordering::SeqCst);
                true
            }
        };
        if worth_a_look && !self.nudged.swap(true, Ordering::SeqCst) {
            (self.nudge)();
        }
    }

    fn gather(&self, paths: Vec<PathBuf>, unsure: bool) -> bool {
        let mut gathered = self.lock();
        let transcripts = paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        let before = gathered.len();
        gathered.extend(transcripts);
        let more = gathered.len() > before;
        if unsure || gathered.len() > limits::GATHERED_PATHS {
            gathered.clear();
            self.everything.store(true, Ordering::SeqCst);
            return true;
        }
        more
    }
}
