//! The reading side of the memory: a handle on its newest committed state. Other modules add one method per kind of
//! query.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

use tantivy::index::SegmentReader;

use super::snapshot::Snapshot;

/// Holds the newest committed state for all searchers.
pub(super) type Published = Arc<RwLock<Arc<Snapshot>>>;

/// Queries the memory. Cheap to clone and usable from any thread; a query sees the newest commit before it.
#[derive(Clone)]
pub struct Searcher {
    published: Published,
    /// Keys of facts that are hidden from all queries.
    gone: Arc<BTreeSet<u64>>,
}

impl Searcher {
    pub(super) fn new(published: Published) -> Self {
        Self { published, gone: Arc::default() }
    }

    /// Hides the facts with these keys from all queries.
    pub(super) fn without_subjects(self, gone: BTreeSet<u64>) -> Self {
        Self { gone: Arc::new(gone), ..self }
    }

    /// The newest committed state, without the hidden facts.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = Arc::clone(&self.published.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
        match self.gone.is_empty() {
            true => snapshot,
            false => Arc::new(Snapshot { gone: self.gone.clone(), ..Snapshot::clone(&snapshot) }),
        }
    }

    /// True if both query the same memory, whatever is committed to it.
    pub fn is_same_memory(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.published, &other.published)
    }

    /// A searcher of the current committed state, which ignores later commits.
    pub fn pinned(&self) -> Self {
        Self { published: Arc::new(RwLock::new(self.snapshot())), gone: self.gone.clone() }
    }

    /// Share of documents that are not deleted, in thousandths: roughly how much of the index's bytes is in use.
    pub fn live_permille(&self) -> u64 {
        let snapshot = self.snapshot();
        let readers = snapshot.searcher.segment_readers();
        let sum =
            |count: fn(&SegmentReader) -> u32| -> u64 { readers.iter().map(|reader| u64::from(count(reader))).sum() };
        let all = sum(|reader| reader.max_doc());
        (sum(|reader| reader.num_docs()) * 1000).checked_div(all).unwrap_or(1000)
    }

    /// Number of turns and number of sessions, including deleted ones not yet merged away.
    pub fn counts(&self) -> (u64, u64) {
        let snapshot = self.snapshot();
        (snapshot.turns, snapshot.sessions)
    }
}
