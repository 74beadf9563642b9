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
    IDLE_SEGMENTS, MERGE_DELETED_DOCS, MERGE_DELETED_RATIO, MERGE_MAX_DOCS, MERGE_SEGMENTS, MERGE_SMALL_DOCS,
    MOST_SEGMENTS,
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
/// smallest, at least `fewest`, and each larger one that those before it outweigh: so a document is rewritten only
/// together with as many others, a number of times that grows with the logarithm of all.
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
        let joins = *index < needed || *size <= docs.max(MERGE_SMALL_DOCS);
        docs += size;
        joins
    });
    merged.map(|(_, (_, id))| *id).collect()
}
