//! Change notification: what may have changed since one last looked. The thread of `notify` does nothing but put paths in
//! bounded sets.
//!
//! Where it can be relied upon ([`Changes::trusts`]) nobody need look at everything: after [`Changes::barrier`] every change
//! made before is among what was gathered. Its events come in the order in which things happened, so a marker file whose own
//! event has come has everything else behind it. That holds for inotify on file systems of this machine, while no event was
//! lost and every folder could be watched.
//!
//! # Hazards
//!
//! - notify misses files in directories made a moment ago, and watches a new folder only behind its event:
//!   every query looks for itself, a sweep every 30 s covers the rest, and a look waits for the event of a new
//!   folder.
//! - At inotify's limit notify keeps half a tree watched: it is unwatched at once and tried again after a
//!   while, never by a query. notify wakes for every directory that is opened, also by our own sweep.

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

use super::Nudge;
use super::marker::Markers;
use crate::transcript_roots::{Looked, Swept};
use baton_base::limits;

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
#[derive(Clone, Debug, Default)]
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
    pub(super) async fn watch(&mut self, roots: &[Looked]) {
        if self.told_by.is_err() {
            return;
        }
        let is_wanted = |path: &Path| roots.iter().any(|looked| looked.root.projects == *path);
        self.failed.retain(|path, _| is_wanted(path));
        let (mut off, mut on) = (Vec::new(), Vec::new());
        self.watched.retain(|watched, _| {
            let wanted = is_wanted(watched);
            if !wanted {
                // It may have gone with its directory.
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
            // Another folder of that name has taken its place: what was told of the old one is not told of this one.
            if self.watched.remove(&root.projects).is_some() {
                off.push(root.projects.clone());
            }
            on.push((root.projects.clone(), *identity));
        }
        if off.is_empty() && on.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = on.iter().map(|(path, _)| path.clone()).collect();
        let asked = self.ask(move |watcher| {
            off.iter().for_each(|path| drop(watcher.unwatch(path)));
            let watch = |path: PathBuf| {
                let watched = watcher.watch(&path, RecursiveMode::Recursive);
                // What of it is watched takes the place of what others may watch.
                watched.inspect_err(|_| drop(watcher.unwatch(&path)))
            };
            paths.into_iter().map(watch).collect::<Vec<_>>()
        });
        // One that hangs is not to take the others along again.
        let hung = || on.iter().map(|_| Err(notify::Error::generic("its file system does not answer"))).collect();
        let results = asked.await.unwrap_or_else(hung);
        for ((path, identity), result) in on.into_iter().zip(results) {
            match result {
                Ok(()) => drop(self.watched.insert(path, identity)),
                Err(error) => {
                    tracing::warn!(root = %path.display(), %error, "root not watched; sweeping instead");
                    self.failed.insert(path, Swept::of(&error));
                }
            }
        }
    }

    /// Has what tells of changes do something that it may wait for. `None`: it did not in [`limits::ROOT_WALK`], and a new one
    /// is made in its place after a while.
    async fn ask<T: Send + 'static>(
        &mut self,
        what: impl FnOnce(&mut (dyn Watcher + Send)) -> T + Send + 'static,
    ) -> Option<T> {
        let mut tells = std::mem::replace(&mut self.told_by, Err(Swept::Silent)).ok()?;
        let asked = tokio::task::spawn_blocking(move || {
            let answer = what(&mut *tells.watcher);
            (tells, answer)
        });
        match tokio::time::timeout(limits::ROOT_WALK, asked).await {
            Ok(Ok((tells, answer))) => {
                self.told_by = Ok(tells);
                Some(answer)
            }
            _ => {
                tracing::error!("change notification hangs; sweeping instead");
                self.watched.clear();
                None
            }
        }
    }

    /// Begins anew with what told nothing any more, and, once in a while, with what could not be watched. Everything has
    /// to be looked at afterwards.
    pub(super) async fn mend(&mut self, roots: &[Looked]) {
        self.mute = false;
        if self.gathered.broken.swap(false, Ordering::SeqCst) {
            let watched: Vec<PathBuf> = std::mem::take(&mut self.watched).into_keys().collect();
            let _ = self.ask(move |watcher| watched.iter().for_each(|root| drop(watcher.unwatch(root)))).await;
            self.watch(roots).await;
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
            self.watch(roots).await;
            if self.told_by.is_ok() && self.failed.is_empty() {
                tracing::info!("changes are announced again");
            }
        }
    }

    /// Why changes below a root that is there are not announced, if they are not.
    pub(super) fn swept(&self, looked: &Looked) -> Option<Swept> {
        let root = &looked.root.projects;
        if let Err(why) = &self.told_by {
            return Some(why.clone());
        }
        let failed = || self.failed.get(root).cloned();
        let silent = || (self.mute || self.is_broken() || !self.watched.contains_key(root)).then_some(Swept::Silent);
        failed().or_else(|| looked.shared.clone()).or_else(silent)
    }

    fn is_broken(&self) -> bool {
        self.gathered.broken.load(Ordering::SeqCst)
    }

    /// Whether all that changes below the roots is told, in order.
    pub(super) fn trusts(&self, roots: &[Looked]) -> bool {
        let is_whole = |looked: &Looked| self.watched.get(&looked.root.projects).copied() == looked.identity;
        cfg!(target_os = "linux")
            && self.told_by.is_ok()
            && !self.mute
            && !self.is_broken()
            && roots.iter().all(|looked| is_whole(looked) && looked.shared.is_none())
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
    pub(super) async fn settle(&mut self) {
        let markers = self.gathered.markers.clone();
        // Anything that its thread has to answer will do.
        let _ = self.ask(move |watcher| drop(watcher.watch(&markers, RecursiveMode::NonRecursive))).await;
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
