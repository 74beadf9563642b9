//! Full scans: each root on a thread of its own, because one may hang.
//!
//! # Decisions
//!
//! - A root whose file system does not answer within a second is left out, named by `status` and by answers, and taken
//!   up again when it answers. A hanging scan keeps its thread; there is at most one per root, and no caller waits for
//!   it twice.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ractor::{ActorRef, RpcReplyPort};

use super::changes::ChangedPaths;
use super::scan::{self, Scan};
use super::{Msg, State, Unread, pause_after};
use crate::transcript_roots::Look as RootsSeen;
use baton_base::limits;
use baton_base::transcript_root::Root;

/// A full scan in progress, or the next one.
#[derive(Default)]
pub(super) struct Walk {
    /// Callers that wait for it, each with the number of transcripts it wants.
    pub(super) waiting: Vec<(usize, RpcReplyPort<Unread>)>,
    /// True if the unread transcripts are reported to the backlog.
    pub(super) tells: bool,
    /// True for a periodic sweep, which schedules the next.
    pub(super) is_sweep: bool,
    /// True if everything was watched when the scan began.
    pub(super) is_watched: bool,
    /// Changes since it began, to be looked at again when it ends.
    pub(super) since: ChangedPaths,
    /// The scan to start after this one.
    pub(super) next: Option<Box<Walk>>,
}

impl Walk {
    /// Adds paths that may have changed after the scan passed them.
    pub(super) fn missed(&mut self, taken: ChangedPaths) {
        self.since.files.extend(taken.files);
        self.since.folders.extend(taken.folders);
        if self.since.files.len() + self.since.folders.len() > limits::GATHERED_PATHS {
            self.since = ChangedPaths::default();
            self.next.get_or_insert_default().tells = true;
        }
    }
}

impl State {
    /// Starts a full scan. If one is running, it may have passed what changes now, so another one follows it.
    pub(super) async fn walk(&mut self, myself: &ActorRef<Msg>, seen: RootsSeen, ask: impl FnOnce(&mut Walk)) {
        if let Some(walk) = &mut self.walk {
            ask(walk.next.get_or_insert_default());
            return;
        }
        let mut walk = Walk::default();
        ask(&mut walk);
        self.begin(myself, seen, walk).await;
    }

    async fn begin(&mut self, myself: &ActorRef<Msg>, seen: RootsSeen, mut walk: Walk) {
        let roots: Vec<Root> = seen.answered.iter().map(|looked| looked.root.clone()).collect();
        self.covered &= !self.is_reconfigured() && roots == self.roots;
        if self.is_reconfigured() {
            // Files skipped under the former settings are unread again.
            self.options.settings.mark_seen();
            self.known.reconsider();
        }
        (self.roots, self.hung) = (roots, seen.hung);
        // The first scan gives a quick overview; watching everything may take as long again.
        if self.scanned {
            self.changes.watch(&seen.answered).await;
            walk.is_watched = self.changes.trusts(&seen.answered);
        }
        match self.changes.take() {
            // Apply announced changes, so that callers meanwhile get current answers.
            Some(taken) if self.covered => drop(self.look_at(taken).await),
            // The scan sees what was announced so far, but perhaps not what is announced from now on.
            _ => self.covered = false,
        }
        self.walk = Some(walk);
        let (walking, myself) = (self.walks.begin(self.roots.clone()), myself.clone());
        baton_base::task::spawn(async move { drop(myself.send_message(Msg::Walked(Box::new(walking.await)))) });
    }

    pub(super) async fn walked(&mut self, myself: &ActorRef<Msg>, walked: Walked) {
        let Some(mut walk) = self.walk.take() else { return };
        // The first scan is unwatched and followed by a watched one.
        self.looked = self.scanned;
        if !std::mem::replace(&mut self.scanned, true) {
            walk.next.get_or_insert_default().is_sweep = std::mem::take(&mut walk.is_sweep);
            walk.tells = true;
        }
        let Walked { mut scan, silent, took } = walked;
        self.took = took;
        let silent_roots = self.hung.iter().chain(&silent).map(|root| root.projects.clone());
        let left_out: Vec<PathBuf> = silent_roots.chain(scan.unread_stores.keys().cloned()).collect();
        self.known.replace(std::mem::take(&mut scan.files), &left_out);
        let is_whole = silent.is_empty() && !scan.linked && scan.unreachable.is_empty() && scan.left_out == 0;
        self.covered = walk.is_watched && is_whole;
        self.hung.extend(silent);
        self.last = scan;
        // The scan may have passed these before they changed.
        drop(self.look_at(walk.since).await);
        let mut tells = walk.tells || walk.is_sweep;
        // Skip callers that have given up.
        for (most, reply) in walk.waiting.into_iter().filter(|(_, reply)| !reply.is_closed()) {
            let unread = self.unread(most);
            tells |= unread.beyond > 0;
            let _ = reply.send(unread);
        }
        if tells {
            self.options.backlog.add_page(self.known.first_page(limits::BACKLOG_PAGE));
        }
        let early = if self.looked { std::mem::take(&mut self.early) } else { Vec::new() };
        for reply in early {
            let _ = reply.send(self.overview().await);
        }
        if walk.is_sweep {
            self.save().await;
            drop(myself.send_after(pause_after(self.took), || Msg::Sweep));
        }
        if let Some(next) = walk.next {
            let seen = self.options.roots.look().await;
            self.begin(myself, seen, *next).await;
        }
    }
}

/// The result of a full scan.
pub(crate) struct Walked {
    pub(super) scan: Scan,
    /// Roots that did not answer, whose contents are unknown.
    pub(super) silent: Vec<Root>,
    pub(super) took: Duration,
}

/// The scans that have not returned.
#[derive(Clone)]
pub(super) struct Walks {
    at: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Number of transcripts counted by the last scan so far.
    counted: Arc<AtomicU64>,
}

impl Walks {
    /// Creates scans that add what they find to `counted`.
    pub(super) fn counting(counted: Arc<AtomicU64>) -> Self {
        Self { at: Arc::default(), counted }
    }

    /// Scans every root, except those whose previous scan still runs. Resolves within [`limits::ROOT_WALK`].
    pub(super) fn begin(&self, roots: Vec<Root>) -> impl Future<Output = Walked> + Send + 'static {
        let began = Instant::now();
        let counted = self.counted.clone();
        let walks: Vec<_> = roots.into_iter().map(|root| (root.clone(), self.look(root))).collect();
        async move {
            let until = tokio::time::Instant::now() + limits::ROOT_WALK;
            let (mut scan, mut silent) = (Scan::default(), Vec::new());
            for (root, looking) in walks {
                let looked = match looking {
                    Some(looking) => tokio::time::timeout_at(until, looking).await.ok().and_then(Result::ok),
                    None => None,
                };
                match looked {
                    Some(found) => scan.add(found),
                    None => {
                        tracing::error!(root = %root.projects.display(), "scanning for transcripts panicked or hangs");
                        silent.push(root);
                    }
                }
            }
            counted.store(scan.files.len() as u64, Ordering::Relaxed);
            Walked { scan, silent, took: began.elapsed() }
        }
    }

    fn look(&self, root: Root) -> Option<baton_base::task::Task<Scan>> {
        if !self.lock().insert(root.projects.clone()) {
            return None;
        }
        let under_way = UnderWay { walks: self.clone(), projects: root.projects.clone() };
        let counted = self.counted.clone();
        Some(baton_base::task::spawn_blocking(move || {
            let _under_way = under_way;
            scan::counted(&[root], counted)
        }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.at.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Frees the root when its scan ends, however it ends.
struct UnderWay {
    walks: Walks,
    projects: PathBuf,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.walks.lock().remove(&self.projects);
    }
}
