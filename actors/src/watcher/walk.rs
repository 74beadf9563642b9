//! Looks at everything: each root on a thread of its own, for one may hang.
//!
//! # Decisions
//!
//! - A root whose file system does not answer within a second is left out, named by `status` and by answers,
//!   and taken up again when it answers. A look that hangs keeps its thread; there is at most one for each
//!   root, and no caller waits for it twice.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ractor::{ActorRef, RpcReplyPort};

use super::changes::Taken;
use super::scan::{self, Scan};
use super::{Msg, State, Unread, pause_after};
use crate::transcript_roots::Look as RootsSeen;
use baton_base::limits;
use baton_base::transcript_root::Root;

/// A look at everything that is under way.
#[derive(Default)]
pub(super) struct Walk {
    /// Who waits for it, and for how many transcripts.
    pub(super) waiting: Vec<(usize, RpcReplyPort<Unread>)>,
    /// Whether the supervisor is told what it finds unread.
    pub(super) tells: bool,
    /// Whether it is one of those that come by themselves, so that the next is set after it.
    pub(super) is_sweep: bool,
    /// Whether everything was watched when it began.
    pub(super) is_watched: bool,
    /// What has changed since it began: to be looked at once more when it ends.
    pub(super) since: Taken,
    /// The one that begins after it.
    pub(super) next: Option<Box<Walk>>,
}

impl Walk {
    /// These may have changed behind its back.
    pub(super) fn missed(&mut self, taken: Taken) {
        self.since.files.extend(taken.files);
        self.since.folders.extend(taken.folders);
        if self.since.files.len() + self.since.folders.len() > limits::GATHERED_PATHS {
            self.since = Taken::default();
            self.next.get_or_insert_default().tells = true;
        }
    }
}

impl State {
    /// Begins a look at everything. While one is under way, which may have passed what changes now, the next begins after it.
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
            // What the settings had passed over is new again when they are others.
            self.options.settings.mark_seen();
            self.known.reconsider();
        }
        (self.roots, self.hung) = (roots, seen.hung);
        // The first look is there to say soon what there is; to watch all of it may take as long again.
        if self.glanced {
            self.changes.watch(&seen.answered).await;
            walk.is_watched = self.changes.trusts(&seen.answered);
        }
        match self.changes.take() {
            // Whoever asks meanwhile is answered from what is told.
            Some(taken) if self.covered => drop(self.look_at(taken).await),
            // What was told so far is seen now; what is told from now on may not be.
            _ => self.covered = false,
        }
        self.walk = Some(walk);
        let (walking, myself) = (self.walks.begin(self.roots.clone()), myself.clone());
        tokio::spawn(async move { drop(myself.send_message(Msg::Walked(Box::new(walking.await)))) });
    }

    pub(super) async fn walked(&mut self, myself: &ActorRef<Msg>, walked: Walked) {
        let Some(mut walk) = self.walk.take() else { return };
        // The next one is watched.
        self.looked = self.glanced;
        if !std::mem::replace(&mut self.glanced, true) {
            walk.next.get_or_insert_default().is_sweep = std::mem::take(&mut walk.is_sweep);
            walk.tells = true;
        }
        let Walked { mut scan, silent, took } = walked;
        self.took = took;
        let left_out: Vec<PathBuf> = self.hung.iter().chain(&silent).map(|root| root.projects.clone()).collect();
        self.known.replace(std::mem::take(&mut scan.files), &left_out);
        let is_whole = silent.is_empty() && !scan.linked && scan.unreachable.is_empty() && scan.left_out == 0;
        self.covered = walk.is_watched && is_whole;
        self.hung.extend(silent);
        self.last = scan;
        // It may have passed them before they changed.
        drop(self.look_at(walk.since).await);
        let mut tells = walk.tells || walk.is_sweep;
        // Whoever could not wait is gone.
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
            drop(myself.send_after(pause_after(self.took), || Msg::Sweep));
        }
        if let Some(next) = walk.next {
            let seen = self.options.roots.look().await;
            self.begin(myself, seen, *next).await;
        }
    }
}

/// What a look at everything came to.
pub(crate) struct Walked {
    pub(super) scan: Scan,
    /// Roots of which it is not known what is in them.
    pub(super) silent: Vec<Root>,
    pub(super) took: Duration,
}

/// The looks that have not come back.
#[derive(Clone)]
pub(super) struct Walks {
    at: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// How many transcripts the last ones have come by so far.
    counted: Arc<AtomicU64>,
}

impl Walks {
    /// That count there what they come by.
    pub(super) fn counting(counted: Arc<AtomicU64>) -> Self {
        Self { at: Arc::default(), counted }
    }

    /// Looks at every root, but at those at which somebody still looks. Comes back within [`limits::ROOT_WALK`].
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
                        tracing::error!(root = %root.projects.display(), "looking for transcripts broke, or hangs");
                        silent.push(root);
                    }
                }
            }
            counted.store(scan.files.len() as u64, Ordering::Relaxed);
            Walked { scan, silent, took: began.elapsed() }
        }
    }

    fn look(&self, root: Root) -> Option<tokio::task::JoinHandle<Scan>> {
        if !self.lock().insert(root.projects.clone()) {
            return None;
        }
        let under_way = UnderWay { walks: self.clone(), projects: root.projects.clone() };
        let counted = self.counted.clone();
        Some(tokio::task::spawn_blocking(move || {
            let _under_way = under_way;
            scan::counted(&[root], counted)
        }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.at.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// One that ends is not under way any more, however it ends.
struct UnderWay {
    walks: Walks,
    projects: PathBuf,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.walks.lock().remove(&self.projects);
    }
}
