//! Change notification: which paths may have changed since the last look. The thread of `notify` only adds paths to
//! bounded sets.
//!
//! Where notification is reliable ([`Changes::trusts`]) no full scan is needed: after [`Changes::barrier`] every
//! earlier change has been gathered. Events arrive in the order of the changes, so once the event of a newly made
//! marker file arrives, everything before it has arrived too. That holds for inotify on local file systems, as long as
//! no event was lost and every folder could be watched.
//!
//! # Hazards
//!
//! - notify misses files in directories that were just created, and watches a new folder only after its event: every
//!   query looks for itself, a sweep every 30 s covers the rest, and a look waits for the event of a new folder.
//! - At inotify's limit notify leaves half a tree watched: the root is unwatched at once and tried again after a while,
//!   never by a query. notify wakes for every directory that is opened, also by our own sweep.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_conversation::transcript::is_of_interest;
use baton_events::session::FileIdentity;
use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecursiveMode, Watcher};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Nudge;
use super::marker::Markers;
use crate::transcript_roots::{Looked, Swept};
use baton_base::limits;

pub(super) struct Changes {
    gathered: Arc<PendingChanges>,
    make: MakeNotifier,
    /// The notifier with its markers, or why there is none.
    notifier: Result<Notifier, Swept>,
    /// The watched roots, each with the identity of the directory when it was watched.
    watched: BTreeMap<PathBuf, FileIdentity>,
    /// Roots that could not be watched, with the reason.
    failed: BTreeMap<PathBuf, Swept>,
    /// When failed roots are tried again, and the delay after that.
    retry_at: Instant,
    pause: Duration,
    /// True if the last marker's event did not arrive.
    mute: bool,
}

struct Notifier {
    watcher: Box<dyn Watcher + Send>,
    markers: Markers,
}

/// Creates a notifier that passes each event to the given handler.
pub(super) type MakeNotifier = Box<dyn Fn(Handler) -> notify::Result<Box<dyn Watcher + Send>> + Send>;
type Handler = Box<dyn Fn(notify::Result<notify::Event>) + Send>;

/// The operating system's notifier.
pub(super) fn system_notifier() -> MakeNotifier {
    Box::new(|handler| {
        let watcher = notify::recommended_watcher(handler)?;
        Ok(Box::new(watcher))
    })
}

/// Paths to look at.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedPaths {
    /// Transcripts that were created, changed, renamed or removed.
    pub(super) files: BTreeSet<PathBuf>,
    /// Folders that were created, renamed or removed, and paths that may be folders.
    pub(super) folders: BTreeSet<PathBuf>,
}

struct PendingChanges {
    taken: Mutex<ChangedPaths>,
    /// True if paths do not tell what changed, so that everything must be scanned.
    everything: AtomicBool,
    /// True if something could not be watched.
    broken: AtomicBool,
    /// True if the watcher was nudged and has not taken the paths yet.
    nudged: AtomicBool,
    nudge: Nudge,
    /// The markers' folder, and below it the number of the last marker whose event arrived.
    markers: PathBuf,
    reached: watch::Sender<u64>,
}

impl Changes {
    pub(super) fn new(nudge: Nudge, markers: &Path, make: MakeNotifier) -> Self {
        let gathered = Arc::new(PendingChanges {
            taken: Mutex::default(),
            everything: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            nudged: AtomicBool::new(false),
            nudge,
            markers: markers.to_owned(),
            reached: watch::Sender::new(0),
        });
        let notifier = Notifier::begin(&make, &gathered);
        Self {
            gathered,
            make,
            notifier,
            watched: BTreeMap::new(),
            failed: BTreeMap::new(),
            retry_at: Instant::now() + limits::WATCH_RETRY,
            pause: limits::WATCH_RETRY,
            mute: false,
        }
    }

    /// Watches every existing root that is neither watched yet nor known to fail, and unwatches all others.
    pub(super) async fn watch(&mut self, roots: &[Looked]) {
        if self.notifier.is_err() {
            return;
        }
        let is_wanted = |path: &Path| roots.iter().any(|looked| looked.root.projects == *path);
        self.failed.retain(|path, _| is_wanted(path));
        let (mut off, mut on) = (Vec::new(), Vec::new());
        self.watched.retain(|watched, _| {
            let wanted = is_wanted(watched);
            if !wanted {
                // Unwatching fails if the watch went with its directory, which is fine.
                off.push(watched.clone());
            }
            wanted
        });
        for Looked { root, identity, .. } in roots {
            let Some(identity) = identity else {
                self.watched.remove(&root.projects);
                continue;
            };
            if self.watched.get(&root.projects) == Some(identity) || self.failed.contains_key(&root.projects) {
                continue;
            }
            // A new directory has replaced the one watched, whose events do not cover it.
            if self.watched.remove(&root.projects).is_some() {
                off.push(root.projects.clone());
            }
            // What else an agent keeps below may be large.
            let depth = if root.depth() > 1 { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            on.push((root.projects.clone(), *identity, depth));
        }
        if off.is_empty() && on.is_empty() {
            return;
        }
        let paths: Vec<(PathBuf, RecursiveMode)> = on.iter().map(|(path, _, depth)| (path.clone(), *depth)).collect();
        let asked = self.ask(move |watcher| {
            off.iter().for_each(|path| drop(watcher.unwatch(path)));
            let watch = |(path, depth): (PathBuf, RecursiveMode)| {
                let watched = watcher.watch(&path, depth);
                // Release a partial watch: it uses up watches that other roots need.
                watched.inspect_err(|_| drop(watcher.unwatch(&path)))
            };
            paths.into_iter().map(watch).collect::<Vec<_>>()
        });
        // A hanging root must not affect the others again at the next try.
        let hung = || on.iter().map(|_| Err(notify::Error::generic("its file system does not answer"))).collect();
        let results = asked.await.unwrap_or_else(hung);
        for ((path, identity, _), result) in on.into_iter().zip(results) {
            match result {
                Ok(()) => drop(self.watched.insert(path, identity)),
                Err(error) => {
                    tracing::warn!(root = %path.display(), %error, "root not watched; sweeping instead");
                    self.failed.insert(path, Swept::from_error(&error));
                }
            }
        }
    }

    /// Runs a blocking call on the notifier. Returns `None` if it took longer than [`limits::ROOT_WALK`]; the notifier
    /// is then replaced after a while.
    async fn ask<T: Send + 'static>(
        &mut self,
        what: impl FnOnce(&mut (dyn Watcher + Send)) -> T + Send + 'static,
    ) -> Option<T> {
        let mut tells = std::mem::replace(&mut self.notifier, Err(Swept::Silent)).ok()?;
        let asked = baton_base::task::spawn_blocking(move || {
            let answer = what(&mut *tells.watcher);
            (tells, answer)
        });
        match tokio::time::timeout(limits::ROOT_WALK, asked).await {
            Ok(Ok((tells, answer))) => {
                self.notifier = Ok(tells);
                Some(answer)
            }
            _ => {
                tracing::error!("change notification hangs; sweeping instead");
                self.watched.clear();
                None
            }
        }
    }

    /// Recovers a notifier that went silent and, after a growing delay, roots that could not be watched. A full scan
    /// must follow.
    pub(super) async fn mend(&mut self, roots: &[Looked]) {
        self.mute = false;
        if self.gathered.broken.swap(false, Ordering::SeqCst) {
            let watched: Vec<PathBuf> = std::mem::take(&mut self.watched).into_keys().collect();
            let _ = self.ask(move |watcher| watched.iter().for_each(|root| drop(watcher.unwatch(root)))).await;
            self.watch(roots).await;
        }
        let is_failing = self.notifier.is_err() || !self.failed.is_empty();
        if !is_failing {
            self.pause = limits::WATCH_RETRY;
            self.retry_at = Instant::now() + self.pause;
        } else if Instant::now() >= self.retry_at {
            self.pause = (self.pause * 2).min(limits::WATCH_RETRY_MAX);
            self.retry_at = Instant::now() + self.pause;
            if self.notifier.is_err() {
                self.notifier = Notifier::begin(&self.make, &self.gathered);
            }
            self.failed.clear();
            self.watch(roots).await;
            if self.notifier.is_ok() && self.failed.is_empty() {
                tracing::info!("changes are announced again");
            }
        }
    }

    /// Returns why changes below an existing root are not announced, or `None` if they are.
    pub(super) fn sweep_status(&self, looked: &Looked) -> Option<Swept> {
        let root = &looked.root.projects;
        if let Err(why) = &self.notifier {
            return Some(why.clone());
        }
        let failed = || self.failed.get(root).cloned();
        let silent = || (self.mute || self.is_broken() || !self.watched.contains_key(root)).then_some(Swept::Silent);
        failed().or_else(|| looked.shared.clone()).or_else(silent)
    }

    fn is_broken(&self) -> bool {
        self.gathered.broken.load(Ordering::SeqCst)
    }

    /// True if all changes below the roots are announced, in order.
    pub(super) fn trusts(&self, roots: &[Looked]) -> bool {
        let is_whole = |looked: &Looked| self.watched.get(&looked.root.projects).copied() == looked.identity;
        cfg!(target_os = "linux")
            && self.notifier.is_ok()
            && !self.mute
            && !self.is_broken()
            && roots.iter().all(|looked| is_whole(looked) && looked.shared.is_none())
    }

    /// Resolves once all earlier changes are gathered. Returns `false` if that cannot be guaranteed.
    pub(super) async fn barrier(&mut self) -> bool {
        let Ok(Notifier { markers, .. }) = &mut self.notifier else { return false };
        let mut reached = self.gathered.reached.subscribe();
        let came = match markers.make() {
            Ok(number) => {
                let came = tokio::time::timeout(limits::BARRIER, reached.wait_for(|reached| *reached >= number)).await;
                matches!(came, Ok(Ok(_)))
            }
            Err(_) => false,
        };
        if !came {
            tracing::warn!("change notification does not answer; sweeping instead");
            self.mute = true;
        }
        came
    }

    /// Resolves once all folders announced so far are watched; `notify` watches them only after their events.
    pub(super) async fn settle(&mut self) {
        let markers = self.gathered.markers.clone();
        // Any request that notify's thread must answer will do.
        let _ = self.ask(move |watcher| drop(watcher.watch(&markers, RecursiveMode::NonRecursive))).await;
    }

    /// Adds a path that another source reports as changed.
    pub(super) fn add(&self, path: PathBuf) {
        let kind = EventKind::Modify(ModifyKind::Data(notify::event::DataChange::Any));
        self.gathered.take_in(Ok(notify::Event::new(kind).add_path(path)));
    }

    /// Takes the gathered paths. Returns `None` if only a full scan will do.
    pub(super) fn take(&self) -> Option<ChangedPaths> {
        // Reset the flag first, so that whatever arrives afterwards nudges again.
        self.gathered.nudged.store(false, Ordering::SeqCst);
        let everything = self.gathered.everything.swap(false, Ordering::SeqCst);
        let taken = std::mem::take(&mut *self.gathered.lock());
        (!everything).then_some(taken)
    }
}

impl Notifier {
    fn begin(make: &MakeNotifier, gathered: &Arc<PendingChanges>) -> Result<Self, Swept> {
        let handler = gathered.clone();
        let begin = || -> notify::Result<Self> {
            let mut watcher = make(Box::new(move |event| handler.take_in(event)))?;
            let markers = Markers::open(&gathered.markers, *gathered.reached.borrow()).map_err(notify::Error::io)?;
            watcher.watch(&gathered.markers, RecursiveMode::NonRecursive)?;
            Ok(Self { watcher, markers })
        };
        begin().map_err(|error| {
            tracing::warn!(%error, "no change notification; sweeping instead");
            Swept::from_error(&error)
        })
    }
}

impl PendingChanges {
    fn lock(&self) -> std::sync::MutexGuard<'_, ChangedPaths> {
        self.taken.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take_in(&self, event: notify::Result<notify::Event>) {
        let worth_a_look = match event {
            // Our own reads cause access events.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
            Ok(event) if event.paths.iter().any(|path| path.starts_with(&self.markers)) => {
                self.pass_marker(&event);
                false
            }
            Ok(event) if event.need_rescan() => self.look_at_everything(),
            Ok(event) => self.gather(event),
            Err(_) => {
                self.broken.store(true, Ordering::SeqCst);
                self.look_at_everything()
            }
        };
        if worth_a_look && !self.nudged.swap(true, Ordering::SeqCst) {
            (self.nudge)();
        }
    }

    fn pass_marker(&self, event: &notify::Event) {
        let numbers = event.paths.iter().filter_map(|path| Markers::number(path));
        if let (EventKind::Create(_), Some(number)) = (event.kind, numbers.max()) {
            self.reached.send_if_modified(|reached| {
                let is_next = number > *reached;
                *reached = number.max(*reached);
                is_next
            });
        }
    }

    fn look_at_everything(&self) -> bool {
        self.everything.store(true, Ordering::SeqCst);
        true
    }

    fn gather(&self, event: notify::Event) -> bool {
        let may_be_folder = match event.kind {
            EventKind::Create(kind) => kind != CreateKind::File,
            EventKind::Remove(kind) => kind != RemoveKind::File,
            EventKind::Modify(ModifyKind::Data(_)) => false,
            // A folder may have become readable, and nothing in it is watched yet.
            EventKind::Modify(ModifyKind::Metadata(_)) if event.paths.iter().any(|path| path.is_dir()) => {
                self.broken.store(true, Ordering::SeqCst);
                return self.look_at_everything();
            }
            EventKind::Modify(ModifyKind::Metadata(_)) => false,
            _ => true,
        };
        let mut taken = self.lock();
        let before = taken.files.len() + taken.folders.len();
        for path in event.paths {
            let is_transcript = path.file_name().and_then(|name| name.to_str()).is_some_and(is_of_interest);
            if may_be_folder {
                taken.folders.insert(path.clone());
            }
            if is_transcript {
                taken.files.insert(path);
            }
        }
        let now = taken.files.len() + taken.folders.len();
        if now > limits::GATHERED_PATHS {
            *taken = ChangedPaths::default();
            return self.look_at_everything();
        }
        now > before
    }
}

#[cfg(test)]
mod tests;
