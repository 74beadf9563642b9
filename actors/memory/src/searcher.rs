//! The reading side of the memory: a handle on its newest committed state. Each kind of question adds its own methods.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

use tantivy::index::SegmentReader;

use super::snapshot::Snapshot;

/// Where searchers find the newest committed state.
pub(super) type Published = Arc<RwLock<Arc<Snapshot>>>;

/// Asks the memory. Cheap to clone, usable from any thread; a question sees the newest commit before it.
#[derive(Clone)]
pub struct Searcher {
    published: Published,
    /// Keys of facts that nobody is told of.
    gone: Arc<BTreeSet<u64>>,
}

impl Searcher {
    pub(super) fn new(published: Published) -> Self {
        Self { published, gone: Arc::default() }
    }

    /// The same without the facts of these keys.
    pub(super) fn without_subjects(self, gone: BTreeSet<u64>) -> Self {
        Self { gone: Arc::new(gone), ..self }
    }

    /// The newest committed state; also what `dump` reads.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = Arc::clone(&self.published.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
        match self.gone.is_empty() {
            true => snapshot,
            false => Arc::new(Snapshot { gone: self.gone.clone(), ..Snapshot::clone(&snapshot) }),
        }
    }

    /// Whether both ask the same memory, whatever is committed to it.
    pub fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.published, &other.published)
    }

    /// The same as of now: it goes on searching this committed state, whatever is committed later.
    pub fn pinned(&self) -> Self {
        Self { published: Arc::new(RwLock::new(self.snapshot())), gone: self.gone.clone() }
    }

    /// The share of documents that are not deleted, in thousandths: how much of the memory's bytes is needed, about.
    pub fn live_permille(&self) -> u64 {
        let snapshot = self.snapshot();
        let readers = snapshot.searcher.segment_readers();
        let sum =
            |count: fn(&SegmentReader) -> u32| -> u64 { readers.iter().map(|reader| u64::from(count(reader))).sum() };
        let all = sum(|reader| reader.max_doc());
        (sum(|reader| reader.num_docs()) * 1000).checked_div(all).unwrap_or(1000)
    }

    /// How many turns and how many sessions the memory holds, deleted ones not yet merged away included.
    pub fn counts(&self) -> (u64, u64) {
        let snapshot = self.snapshot();
        (snapshot.turns, snapshot.sessions)
    }
}
