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

use ractor::RpcReplyPort;

use super::Unread;
use super::changes::Taken;
use super::scan::{self, Scan};
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
