//! Looks at the few files and folders that may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ractor::ActorRef;

use super::changes::ChangedPaths;
use super::scan::{self, Stamps};
use super::{Msg, State};
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_base::transcript_root::Root;

/// The result of such a look.
#[derive(Default)]
pub(super) struct Look {
    files: Vec<(PathBuf, Option<FileSeen>)>,
    folders: Vec<(PathBuf, Vec<FileSeen>)>,
    /// Files with many sessions that were looked at, with the reason if their sessions are unknown.
    stores: BTreeMap<PathBuf, Option<String>>,
    stamps: Stamps,
    elsewhere: BTreeSet<PathBuf>,
    /// True if something was found whose changes are not announced, so that full scans are needed from now on.
    is_odd: bool,
}

impl Look {
    fn at(roots: &[Root], taken: ChangedPaths, stamps: Stamps, elsewhere: BTreeSet<PathBuf>) -> Self {
        let mut look = Self { stamps, ..Self::default() };
        let mut folders = taken.folders;
        folders.extend(scan::changed(&look.stamps));
        for folder in folders {
            if let Some((root, store)) = scan::store_of(roots, &folder) {
                look.store(root, store);
                continue;
            }
            // Skip folders below one that was already scanned.
            if look.folders.iter().any(|(above, _)| folder.starts_with(above)) {
                continue;
            }
            look.stamps.retain(|stamped, _| !stamped.starts_with(&folder));
            let found = scan::below(roots, &folder);
            look.is_odd |= found.linked || !found.unreachable.is_empty() || found.left_out > 0;
            look.stamps.extend(found.stamps);
            look.elsewhere.extend(found.elsewhere);
            look.stores.extend(found.unread_stores.into_iter().map(|(path, why)| (path, Some(why))));
            look.folders.push((folder, found.files));
        }
        let mut files = BTreeSet::new();
        for path in taken.files.into_iter().map(|path| scan::transcript_of(roots, path)).chain(elsewhere) {
            match scan::store_of(roots, &path) {
                Some((root, store)) => look.store(root, store),
                None => drop(files.insert(path)),
            }
        }
        look.files = files.into_iter().map(|path| (path.clone(), scan::one(roots, &path))).collect();
        look
    }

    fn store(&mut self, root: &Root, store: PathBuf) {
        if self.stores.contains_key(&store) {
            return;
        }
        let mut found = scan::sessions_in(root, &store);
        let why = found.unread_stores.remove(&store);
        self.is_odd |= found.left_out > 0;
        self.stores.insert(store.clone(), why.clone());
        // Where they are unknown, those that were known stay so.
        if why.is_none() {
            self.folders.push((store, found.files));
        }
    }
}

impl State {
    /// Looks at everything that may have changed, and then answers all that wait for it.
    pub(super) async fn refresh(&mut self, myself: &ActorRef<Msg>) {
        let waiting = std::mem::take(&mut self.waiting);
        let seen = self.options.roots.look().await;
        if self.is_covered(&seen)
            && self.changes.barrier().await
            && let Some(taken) = self.changes.take()
            && let Some(changed) = self.look_at(taken).await
        {
            let mut is_cut = false;
            for (most, reply) in waiting {
                let unread = self.unread(most);
                is_cut |= unread.beyond > 0;
                let _ = reply.send(unread);
            }
            if is_cut {
                // The callers get only the newest.
                self.options.backlog.add(changed);
            }
            return;
        }
        self.walk(myself, seen, |walk| walk.waiting.extend(waiting)).await;
    }

    /// Looks at the announced paths, at files whose changes are not announced, and at folders with a new modification
    /// time. Returns what is unread, or `None` if that is unknown and a full scan is needed.
    pub(super) async fn look_at(&mut self, taken: ChangedPaths) -> Option<Vec<FileSeen>> {
        if let Some(walk) = &mut self.walk {
            walk.missed(taken.clone());
        }
        if !taken.folders.is_empty() {
            self.changes.settle().await;
        }
        if self.looking.take_if(|looking| looking.is_finished()).is_none() && self.looking.is_some() {
            // The previous look hangs; another one would hang as well.
            self.covered = false;
            return None;
        }
        let roots = self.roots.clone();
        let (stamps, elsewhere) = (std::mem::take(&mut self.last.stamps), self.last.elsewhere.clone());
        let mut looking = baton_base::task::spawn_blocking(move || Look::at(&roots, taken, stamps, elsewhere));
        let looked = tokio::time::timeout(limits::ROOT_LOOK, &mut looking).await;
        let Ok(Ok(look)) = looked else {
            tracing::error!("scanning for transcripts panicked or hangs");
            self.looking = looked.is_err().then_some(looking);
            self.covered = false;
            return None;
        };
        let mut unread = Vec::new();
        for (folder, files) in look.folders {
            unread.extend(self.known.replace_below(&folder, files));
        }
        for (path, file) in look.files {
            unread.extend(self.known.note(&path, file));
        }
        for (store, why) in look.stores {
            match why {
                Some(why) => drop(self.last.unread_stores.insert(store, why)),
                None => drop(self.last.unread_stores.remove(&store)),
            }
        }
        self.last.stamps = look.stamps;
        self.last.elsewhere.extend(look.elsewhere);
        self.covered &= !look.is_odd;
        self.known.moved_first(&mut unread);
        Some(unread)
    }
}
