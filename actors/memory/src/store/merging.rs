//! Which segments are merged, and when.
//!
//! While the memory is in use a few small segments are merged at a time, so that an append rewrites about as much as it
//! adds. When it is idle few segments are left, because each costs every query its look-ups. During a backfill none are
//! merged: what it writes is merged once, at its end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use tantivy::index::{Index, SegmentId};
use tantivy::indexer::{MergeCandidate, MergePolicy};
use tantivy::{FutureResult, SegmentMeta};

use super::{Error, Store};
use crate::limits::{
    IDLE_SEGMENTS, MERGE_DELETED_DOCS, MERGE_DELETED_RATIO, MERGE_LARGER, MERGE_MAX_DOCS, MERGE_SEGMENTS,
    MERGE_SMALL_DOCS, MOST_SEGMENTS,
};

/// The policy of a memory in use.
#[derive(Debug)]
pub(super) struct InUse {
    /// True during a backfill.
    pub(super) is_filling: Arc<AtomicBool>,
}

impl MergePolicy for InUse {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        if self.is_filling.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let group = to_merge(segments, MOST_SEGMENTS, MERGE_SEGMENTS);
        let is_wasteful = |segment: &&SegmentMeta| {
            let deleted = segment.num_deleted_docs();
            deleted >= MERGE_DELETED_DOCS
                && f64::from(deleted) > f64::from(segment.max_doc()) * MERGE_DELETED_RATIO
                && !group.contains(&segment.id())
        };
        let mut all: Vec<_> =
            segments.iter().filter(is_wasteful).map(|segment| MergeCandidate(vec![segment.id()])).collect();
        if !group.is_empty() {
            all.push(MergeCandidate(group));
        }
        all
    }
}

impl Store {
    /// Says whether a backfill is under way, during which no segments are merged.
    pub fn set_filling(&mut self, is_filling: bool) {
        self.is_filling.store(is_filling, Ordering::Relaxed);
    }

    /// Merges segments until few are left, in the background. Returns true while that is under way; the caller then
    /// calls again in a moment. Does nothing while something is uncommitted.
    ///
    /// # Errors
    ///
    /// When a merge failed or its result cannot be read; what is committed stays searchable.
    pub fn settle(&mut self) -> Result<bool, Error> {
        if self.dirty {
            return Ok(false);
        }
        if let Some(merge) = &mut self.merge {
            match Pin::new(merge).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => return Ok(true),
                Poll::Ready(merged) => {
                    self.merge = None;
                    merged?;
                }
            }
        }
        let surplus =
            |index: &Index| -> Result<_, Error> { Ok(to_merge(&index.searchable_segment_metas()?, IDLE_SEGMENTS, 2)) };
        if surplus(&self.index)?.is_empty() {
            return Ok(false);
        }
        // Running merges could remove segments that we are about to merge.
        self.release()?;
        let group = surplus(&self.index)?;
        if !group.is_empty() {
            self.merge = Some(self.writer()?.merge(&group));
        }
        Ok(self.merge.is_some())
    }

    /// Waits until few segments are left, then frees the writer's memory and threads; the next `put` allocates them
    /// again. Does nothing while something is uncommitted.
    ///
    /// # Errors
    ///
    /// When a merge failed or its result cannot be read; what is committed stays searchable.
    pub fn idle(&mut self) -> Result<(), Error> {
        while self.settle()? {
            self.merge.take().map(FutureResult::wait).transpose()?;
        }
        self.release()
    }

    /// Waits for running merges, then frees the writer.
    pub(super) fn release(&mut self) -> Result<(), Error> {
        if self.dirty {
            return Ok(());
        }
        self.merge = None;
        match self.writer.take() {
            Some(writer) => {
                writer.wait_merging_threads()?;
                self.publish()
            }
            None => Ok(()),
        }
    }
}

/// The segments to merge into one if more than `most` are of a size that is merged at all; otherwise none. They are the
/// smallest, at least `fewest`, and each larger one up to [`MERGE_LARGER`] times the size of all before it: so a large
/// segment is rewritten only once much was added.
pub(super) fn to_merge(segments: &[SegmentMeta], most: usize, fewest: usize) -> Vec<SegmentId> {
    let mut sizes: Vec<(usize, SegmentId)> = segments
        .iter()
        .map(|segment| (segment.num_docs() as usize, segment.id()))
        .filter(|(docs, _)| *docs <= MERGE_MAX_DOCS)
        .collect();
    if sizes.len() <= most {
        return Vec::new();
    }
    sizes.sort_unstable();
    let needed = fewest.max(sizes.len() + 1 - most);
    let mut docs = 0;
    let merged = sizes.iter().enumerate().take_while(|(index, (size, _))| {
        let joins = *index < needed || *size <= (docs * MERGE_LARGER).max(MERGE_SMALL_DOCS);
        docs += size;
        joins
    });
    merged.map(|(_, (_, id))| *id).collect()
}

#[cfg(test)]
mod tests {
    use tantivy::schema::Schema;

    use super::*;

    /// Segments to which merges are applied at once.
    struct Segments {
        index: Index,
        all: Vec<SegmentMeta>,
        rewritten: u32,
    }

    impl Segments {
        fn new() -> Self {
            Self { index: Index::create_in_ram(Schema::builder().build()), all: Vec::new(), rewritten: 0 }
        }

        fn add(&mut self, docs: u32) {
            self.all.push(self.index.new_segment_meta(SegmentId::generate_random(), docs));
        }

        fn merge(&mut self, group: &[SegmentId]) {
            let (merged, left): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.all).into_iter().partition(|segment| group.contains(&segment.id()));
            self.all = left;
            let docs = merged.iter().map(SegmentMeta::num_docs).sum();
            self.rewritten += docs;
            self.add(docs);
        }
    }

    #[test]
    fn appends_are_rewritten_a_few_times_each_and_few_segments_are_left() {
        let policy = InUse { is_filling: Arc::default() };
        // Idle after so many appends.
        for idle_after in [1, 7, u32::MAX] {
            let mut segments = Segments::new();
            segments.add(100_000);
            for number in 1..=3_000 {
                segments.add(20);
                while let Some(MergeCandidate(group)) = policy.compute_merge_candidates(&segments.all).pop() {
                    segments.merge(&group);
                }
                assert!(segments.all.len() <= MOST_SEGMENTS);
                if number % idle_after == 0 {
                    segments.merge(&to_merge(&segments.all, IDLE_SEGMENTS, 2));
                    segments.all.retain(|segment| segment.num_docs() > 0);
                    assert!(segments.all.len() <= IDLE_SEGMENTS);
                }
            }
            let times = f64::from(segments.rewritten) / (3_000.0 * 20.0);
            assert!(times < 20.0, "each document was rewritten {times} times");
        }
    }

    #[test]
    fn a_backfill_is_merged_once_at_its_end() {
        let policy = InUse { is_filling: Arc::new(AtomicBool::new(true)) };
        let mut segments = Segments::new();
        for docs in [20_000, 25_000, 18_000, 22_000, 21_000, 3_000, 24_000, 19_000, 20_500] {
            segments.add(docs);
            assert!(policy.compute_merge_candidates(&segments.all).is_empty());
        }
        policy.is_filling.store(false, Ordering::Relaxed);
        let group = policy.compute_merge_candidates(&segments.all).pop().unwrap().0;
        segments.merge(&group);
        assert_eq!(segments.all.len(), 1);
        segments.add(MERGE_MAX_DOCS as u32 + 1);
        (0..MOST_SEGMENTS).for_each(|_| segments.add(2_000));
        let group = policy.compute_merge_candidates(&segments.all).pop().unwrap().0;
        assert_eq!(group.len(), MOST_SEGMENTS, "those of one size, and neither of the large ones");
    }
}
