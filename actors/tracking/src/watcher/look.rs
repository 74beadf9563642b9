//! Looks at the few files and folders that may have changed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::State;
use super::changes::ChangedPaths;
use super::scan::{self, Stamps};
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_base::transcript_root::Root;

/// The result of such a look.
#[derive(Default)]
pub(super) struct Look {
    files: Vec<(PathBuf, Option<FileSeen>)>,
    folders: Vec<(PathBuf, Vec<FileSeen>)>,
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
            // Skip folders below one that was already scanned.
            if look.folders.iter().any(|(above, _)| folder.starts_with(above)) {
                continue;
            }
            look.stamps.retain(|stamped, _| !stamped.starts_with(&folder));
            let found = scan::below(roots, &folder);
            look.is_odd |= found.linked || !found.unreachable.is_empty() || found.left_out > 0;
            look.stamps.extend(found.stamps);
            look.elsewhere.extend(found.elsewhere);
            look.folders.push((folder, found.files));
        }
        let files = taken.files.into_iter().chain(elsewhere);
        for path in files {
            match scan::sessions_of(roots, &path) {
                Some(found) if found.unreachable.is_empty() => look.folders.push((path, found.files)),
                // Those that were known stay so.
                Some(_) => look.is_odd = true,
                None => look.files.push((path.clone(), scan::one(roots, &path))),
            }
        }
        look
    }
}

impl State {
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
        self.last.stamps = look.stamps;
        self.last.elsewhere.extend(look.elsewhere);
        self.covered &= !look.is_odd;
        self.known.moved_first(&mut unread);
        Some(unread)
    }
}
