//! Change notification: what may have changed since one last looked. The thread of `notify` does nothing but put paths in
//! bounded sets.
//!
//! Where it can be relied upon ([`Changes::trusts`]) nobody need look at everything: after [`Changes::barrier`] every change
//! made before is among what was gathered. Its events come in the order in which things happened, so a marker file whose own
//! event has come has everything else behind it. That holds for inotify on file systems of this machine, while no event was
//! lost and every folder could be watched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_events::session::FileIdentity;
use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecursiveMode, Watcher};
use tokio::sync::watch;
use tokio::time::Instant;

use super::marker::Markers;
use super::swept::{self, Swept};
use super::{Nudge, Root};
use crate::files;
use crate::limits;

pub(super) struct Changes {
    gathered: Arc<Gathered>,
    make: Make,
    /// What tells of changes, and the markers by which it is trusted; or why there is none.
    told_by: Result<TellsOf, Swept>,
    /// The roots that are watched, each with the folder that was there then.
    watched: BTreeMap<PathBuf, FileIdentity>,
    /// Roots that could not be watched, and why.
    failed: BTreeMap<PathBuf, Swept>,
    /// When what failed is tried again, and how long it is waited after that.
    retry_at: Instant,
    pause: Duration,
    /// The last marker did not come through.
    mute: bool,
}

struct TellsOf {
    watcher: Box<dyn Watcher + Send>,
    markers: Markers,
}

/// Makes what tells of changes; it hands each to the function it is given.
pub(super) type Make = Box<dyn Fn(Handler) -> notify::Result<Box<dyn Watcher + Send>> + Send>;
type Handler = Box<dyn Fn(notify::Result<notify::Event>) + Send>;

/// The one that the system has.
pub(super) fn of_the_system() -> Make {
    Box::new(|handler| {
        let watcher = notify::recommended_watcher(handler)?;
        Ok(Box::new(watcher))
    })
}

/// What is worth a look.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Transcripts that were made, changed, renamed or removed.
    pub(super) files: BTreeSet<PathBuf>,
    /// Folders that were made, renamed or removed, and what may be one.
    pub(super) folders: BTreeSet<PathBuf>,
}

struct Gathered {
    taken: Mutex<Taken>,
    /// Something happened that paths do not tell: look at everything.
    everything: AtomicBool,
    /// Something could not be watched.
    broken: AtomicBool,
    /// A nudge is on its way.
    nudged: AtomicBool,
    nudge: Nudge,
    /// The folder of the markers, and the last one that came through.
    markers: PathBuf,
    reached: watch::Sender<u64>,
}

impl Changes {
    pub(super) fn new(nudge: Nudge, markers: &Path, make: Make) -> Self {
        let gathered = Arc::new(Gathered {
            taken: Mutex::default(),
            everything: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            nudged: AtomicBool::new(false),
            nudge,
            markers: markers.to_owned(),
            reached: watch::Sender::new(0),
        });
        let told_by = TellsOf::begin(&make, &gathered);
        Self {
            gathered,
            make,
            told_by,
            watched: BTreeMap::new(),
            failed: BTreeMap::new(),
            retry_at: Instant::now() + limits::WATCH_RETRY,
            pause: limits::WATCH_RETRY,
            mute: false,
        }
    }

    /// Watches every root that is there and is neither watched yet nor known to fail, and no other any more.
    pub(super) fn watch(&mut self, roots: &[Root]) {
        let Ok(TellsOf { watcher, .. }) = &mut self.told_by else { return };
        let is_wanted = |path: &Path| roots.iter().any(|root| root.projects == *path);
        self.failed.retain(|path, _| is_wanted(path));
        self.watched.retain(|watched, _| {
            let wanted = is_wanted(watched);
            if !wanted {
                // It may have gone with its directory.
                let _ = watcher.unwatch(watched);
            }
            wanted
        });
        for root in roots {
            let there = identity_of(&root.projects);
            let Some(identity) = there else {
                self.watched.remove(&root.projects);
                continue;
            };
            if self.watched.get(&root.projects) == Some(&identity) || self.failed.contains_key(&root.projects) {
                continue;
            }
            // Another folder of that name has taken its place: what was told of the old one is not told of this one.
            if self.watched.remove(&root.projects).is_some() {
                let _ = watcher.unwatch(&root.projects);
            }
            match watcher.watch(&root.projects, RecursiveMode::Recursive) {
                Ok(()) => drop(self.watched.insert(root.projects.clone(), identity)),
                Err(error) => {
                    tracing::warn!(root = %root.projects.display(), %error, "root not watched; sweeping instead");
                    // What of it is watched takes the place of what others may watch.
                    let _ = watcher.unwatch(&root.projects);
                    self.failed.insert(root.projects.clone(), Swept::of(&error));
                }
            }
        }
    }

    /// Begins anew with what told nothing any more, and, once in a while, with what could not be watched. Everything has
    /// to be looked at afterwards.
    pub(super) fn mend(&mut self, roots: &[Root]) {
        self.mute = false;
        if self.gathered.broken.swap(false, Ordering::SeqCst)
            && let Ok(TellsOf { watcher, .. }) = &mut self.told_by
        {
            for root in std::mem::take(&mut self.watched).keys() {
                let _ = watcher.unwatch(root);
            }
            self.watch(roots);
        }
        let is_failing = self.told_by.is_err() || !self.failed.is_empty();
        if !is_failing {
            self.pause = limits::WATCH_RETRY;
            self.retry_at = Instant::now() + self.pause;
        } else if Instant::now() >= self.retry_at {
            self.pause = (self.pause * 2).min(limits::WATCH_RETRY_MAX);
            self.retry_at = Instant::now() + self.pause;
            if self.told_by.is_err() {
                self.told_by = TellsOf::begin(&self.make, &self.gathered);
            }
            self.failed.clear();
            self.watch(roots);
            if self.told_by.is_ok() && self.failed.is_empty() {
                tracing::info!("changes are announced again");
            }
        }
    }

    /// Why changes below a root that is there are not announced, if they are not.
    pub(super) fn swept(&self, root: &Path) -> Option<Swept> {
        if let Err(why) = &self.told_by {
            return Some(why.clone());
        }
        let failed = || self.failed.get(root).cloned();
        let silent = || (self.mute || self.is_broken() || !self.watched.contains_key(root)).then_some(Swept::Silent);
        failed().or_else(|| swept::shared(root).map(Swept::Shared)).or_else(silent)
    }

    fn is_broken(&self) -> bool {
        self.gathered.broken.load(Ordering::SeqCst)
    }

    /// Whether all that changes below the roots is told, in order.
    pub(super) fn trusts(&self, roots: &[Root]) -> bool {
        let is_whole = |root: &Root| self.watched.get(&root.projects).copied() == identity_of(&root.projects);
        cfg!(target_os = "linux")
            && self.told_by.is_ok()
            && !self.mute
            && !self.is_broken()
            && roots.iter().all(|root| is_whole(root) && swept::shared(&root.projects).is_none())
    }

    /// Comes back when everything that happened before is gathered. `false`: that cannot be said.
    pub(super) async fn barrier(&mut self) -> bool {
        let Ok(TellsOf { markers, .. }) = &mut self.told_by else { return false };
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

    /// Comes back when the folders that were told of so far are watched themselves: `notify` does that behind their events.
    pub(super) fn settle(&mut self) {
        if let Ok(TellsOf { watcher, .. }) = &mut self.told_by {
            // Anything that its thread has to answer will do.
            let _ = watcher.watch(&self.gathered.markers, RecursiveMode::NonRecursive);
        }
    }

    /// Somebody else says that a file may have changed.
    pub(super) fn tell(&self, path: PathBuf) {
        let kind = EventKind::Modify(ModifyKind::Data(notify::event::DataChange::Any));
        self.gathered.take_in(Ok(notify::Event::new(kind).add_path(path)));
    }

    /// What was gathered; `None` when only a look at everything will do.
    pub(super) fn take(&self) -> Option<Taken> {
        // In this order: what comes after the first line nudges again.
        self.gathered.nudged.store(false, Ordering::SeqCst);
        let everything = self.gathered.everything.swap(false, Ordering::SeqCst);
        let taken = std::mem::take(&mut *self.gathered.lock());
        (!everything).then_some(taken)
    }
}

fn identity_of(folder: &Path) -> Option<FileIdentity> {
    let metadata = std::fs::metadata(folder).ok()?;
    metadata.is_dir().then(|| files::identity(&metadata))
}

impl TellsOf {
    fn begin(make: &Make, gathered: &Arc<Gathered>) -> Result<Self, Swept> {
        let handler = gathered.clone();
        let begin = || -> notify::Result<Self> {
            let mut watcher = make(Box::new(move |event| handler.take_in(event)))?;
            let markers = Markers::open(&gathered.markers, *gathered.reached.borrow()).map_err(notify::Error::io)?;
            watcher.watch(&gathered.markers, RecursiveMode::NonRecursive)?;
            Ok(Self { watcher, markers })
        };
        begin().map_err(|error| {
            tracing::warn!(%error, "no change notification; sweeping instead");
            Swept::of(&error)
        })
    }
}

impl Gathered {
    fn lock(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take_in(&self, event: notify::Result<notify::Event>) {
        let worth_a_look = match event {
            // Our own reading makes access events.
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
            // A folder may have become readable: then nothing in it is watched.
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
            let is_transcript = path.extension().is_some_and(|ending| ending == "jsonl" || ending == "zst");
            if may_be_folder {
                taken.folders.insert(path.clone());
            }
            if is_transcript {
                taken.files.insert(path);
            }
        }
        let now = taken.files.len() + taken.folders.len();
        if now > limits::GATHERED_PATHS {
            *taken = Taken::default();
            return self.look_at_everything();
        }
        now > before
    }
}

#[cfg(test)]
mod tests;
