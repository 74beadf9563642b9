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

use baton_events::session::FileIdentity;
use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use ractor::ActorRef;
use tokio::sync::watch;

use super::marker::Markers;
use super::{Msg, Nudge, Root};
use crate::files;
use crate::limits;

pub(super) struct Changes {
    gathered: Arc<Gathered>,
    watcher: Option<RecommendedWatcher>,
    markers: Option<Markers>,
    /// The roots that are watched, each with the folder that was there then.
    watched: BTreeMap<PathBuf, FileIdentity>,
    /// Roots for which watching failed, so that it is said once.
    failed: BTreeSet<PathBuf>,
    /// The last marker did not come through.
    mute: bool,
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
    pub(super) fn new(watcher: ActorRef<Msg>, markers: &Path) -> Self {
        let nudge: Nudge = Arc::new(move || drop(watcher.send_message(Msg::Changed)));
        let gathered = Arc::new(Gathered {
            taken: Mutex::default(),
            everything: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            nudged: AtomicBool::new(false),
            nudge,
            markers: markers.to_owned(),
            reached: watch::Sender::new(0),
        });
        let handler = gathered.clone();
        let watcher = notify::recommended_watcher(move |event| handler.take_in(event));
        let mut watcher =
            watcher.inspect_err(|error| tracing::warn!(%error, "no change notification; sweeping instead")).ok();
        let kept = Markers::open(markers).ok().filter(|_| {
            let watched = watcher.as_mut().map(|watcher| watcher.watch(markers, RecursiveMode::NonRecursive));
            matches!(watched, Some(Ok(())))
        });
        Self { gathered, watcher, markers: kept, watched: BTreeMap::new(), failed: BTreeSet::new(), mute: false }
    }

    /// Watches every root that is there and is not watched yet, and no other any more.
    pub(super) fn watch(&mut self, roots: &[Root]) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|watched, _| {
            let wanted = roots.iter().any(|root| root.projects == *watched);
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
            if self.watched.get(&root.projects) == Some(&identity) {
                continue;
            }
            // Another folder of that name has taken its place: what was told of the old one is not told of this one.
            if self.watched.remove(&root.projects).is_some() {
                let _ = watcher.unwatch(&root.projects);
            }
            match watcher.watch(&root.projects, RecursiveMode::Recursive) {
                Ok(()) => {
                    self.failed.remove(&root.projects);
                    self.watched.insert(root.projects.clone(), identity);
                }
                Err(error) if self.failed.insert(root.projects.clone()) => {
                    tracing::warn!(root = %root.projects.display(), %error, "root not watched; sweeping instead");
                }
                Err(_) => {}
            }
        }
    }

    /// Begins anew with what could not be watched, or told nothing any more. Everything has to be looked at afterwards.
    pub(super) fn mend(&mut self, roots: &[Root]) {
        self.mute = false;
        if !self.gathered.broken.swap(false, Ordering::SeqCst) {
            return;
        }
        if let Some(watcher) = &mut self.watcher {
            for root in std::mem::take(&mut self.watched).keys() {
                let _ = watcher.unwatch(root);
            }
        }
        self.watch(roots);
    }

    pub(super) fn watches(&self, root: &Path) -> bool {
        self.watched.contains_key(root)
    }

    /// Whether all that changes below the roots is told, in order.
    pub(super) fn trusts(&self, roots: &[Root]) -> bool {
        let is_whole = |root: &Root| self.watched.get(&root.projects).copied() == identity_of(&root.projects);
        cfg!(target_os = "linux")
            && self.markers.is_some()
            && !self.mute
            && !self.gathered.broken.load(Ordering::SeqCst)
            && roots.iter().all(|root| is_whole(root) && is_local(&root.projects))
    }

    /// Comes back when everything that happened before is gathered. `false`: that cannot be said.
    pub(super) async fn barrier(&mut self) -> bool {
        let Some(markers) = &mut self.markers else { return false };
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
        if let Some(watcher) = &mut self.watcher {
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

/// Whether what is changed there is changed through this machine's kernel, as far as the kind of file system tells: of
/// changes that others make on a shared one nothing is told.
#[cfg(target_os = "linux")]
fn is_local(folder: &Path) -> bool {
    // ext, btrfs, xfs, tmpfs, overlay, f2fs, zfs, bcachefs, ramfs.
    const LOCAL: [u64; 9] = [
        0xef53,
        0x9123_683e,
        0x5846_5342,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
        0x8584_58f6,
    ];
    // What is not there has no changes.
    rustix::fs::statfs(folder).map_or(true, |kind| LOCAL.contains(&(kind.f_type as u64)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_folder: &Path) -> bool {
    false
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
            let is_transcript = path.extension().is_some_and(|ending| ending == "jsonl");
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
