//! Rewriting the index: a new one is built from the segments while the log goes on, and replaces the old one in a short
//! pause of the committer. sled keeps what it has written several times over and never gives the space back.
//!
//! # Hazards
//!
//! - sled takes some MB for next to nothing, so an index below 32 MB is never rewritten unasked.

use std::path::Path;
use std::time::{Duration, Instant};

use baton_conversation::record::Position;
use baton_events::envelope::Tail;

use super::checkpoint::{self, View};
use super::committer::Committer;
use super::index::{self, Index};
use super::recovery;
use super::shared_state::SharedState;
use super::unflushed::Unflushed;

pub use super::index::folder_bytes;

/// The new index is close enough when it lacks at most this many records; the committer's pause is spent on them.
const NEAR_RECORDS: u64 = 512;
/// How often the new index may chase a growing log before the committer pauses anyway.
const ROUNDS: usize = 8;
/// The result of rewriting the index. If the new one would be no smaller, nothing changes and no append waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Records in the index.
    pub records: u64,
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
    /// How long appends waited.
    pub pause: Duration,
}

/// Why the index was not rewritten. It is unchanged unless the message says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactError {
    /// Another rewrite is running.
    #[error("the index of the log is being rewritten already; wait until that is done")]
    UnderWay,
    /// The caller's `go_on` returned `false`.
    #[error("given up; the index of the log is unchanged")]
    GivenUp,
    /// The journal is closed.
    #[error("the log is closed")]
    Closed,
    /// It failed, for the given reason.
    #[error("the index of the log was not rewritten: {0}")]
    Failed(String),
}

/// Builds a new index.
pub(super) struct IndexBuilder<'a> {
    pub(super) shared: &'a SharedState,
    pub(super) tail: &'a dyn Fn() -> Tail,
    /// Called now and then with the records done and the total; `false` gives up.
    pub(super) go_on: &'a mut dyn FnMut(u64, u64) -> bool,
}

impl IndexBuilder<'_> {
    /// Builds a durable index that lacks at most a few records. Removes its files after an error.
    pub(super) fn build(&mut self) -> Result<Index, CompactError> {
        let log = self.shared.log();
        let path = log.join(index::NEW);
        let built =
            index::remove(&path).map_err(|error| error.to_string()).map_err(CompactError::Failed).and_then(|()| {
                let index = Index::open_unrepaired(&path).map_err(failed)?;
                self.fill(&index)?;
                Ok(index)
            });
        if built.is_err() {
            let _ = index::remove_when_released(&path);
        }
        built
    }

    fn fill(&mut self, index: &Index) -> Result<(), CompactError> {
        for _ in 0..ROUNDS {
            let goal = (self.tail)().position;
            let mut given_up = !(self.go_on)(0, goal.0);
            if !given_up {
                let segments = self.shared.segments();
                recovery::catch_up_while(index, segments, goal, &mut |reached| {
                    given_up = !(self.go_on)(reached.0, goal.0);
                    !given_up
                })
                .map_err(CompactError::Failed)?;
            }
            if given_up {
                return Err(CompactError::GivenUp);
            }
            if (self.tail)().position.0 - goal.0 <= NEAR_RECORDS {
                break;
            }
        }
        Ok(())
    }
}

impl Committer {
    /// Replaces the index in use by `new`. Meanwhile nothing is appended and readers read the segments. Returns how
    /// long that took.
    pub(super) fn replace_index(&mut self, new: Index) -> Result<Duration, CompactError> {
        let begun = Instant::now();
        // The old one may have to go on.
        self.flush();
        let tail = self.ledger.tail();
        let shared = self.shared.clone();
        recovery::catch_up(&new, shared.segments(), tail.position).map_err(CompactError::Failed)?;
        if new.applied().map_err(failed)? != tail {
            return Err(CompactError::Failed("it does not end at the same record".to_owned()));
        }
        let mut kept = true;
        if let Some(rows) = self.fold.rows() {
            let view = View { rows, ledger: &self.ledger, saved: Position(0) };
            kept = checkpoint::save(&new, &Unflushed::default(), Some(&view)).map_err(failed)?;
        }
        shared.replace_index(None);
        drop(new);
        let exchanged = index::swap_in_new(shared.log());
        // Open whichever of the two is in place now, and catch it up.
        let opened = reopen(shared.log(), shared.segments(), tail);
        match opened {
            Ok(index) => shared.replace_index(Some(index)),
            Err(error) => {
                shared.report_index_failure(&error);
                return Err(CompactError::Failed(error));
            }
        }
        // If the old index is back in use, the position of its checkpoint is not known here.
        self.saved = if exchanged.is_ok() && kept { tail.position } else { Position(0) };
        exchanged.map_err(|error| CompactError::Failed(error.to_string()))?;
        Ok(begun.elapsed())
    }
}

/// Opens the index that is in place now. Refuses one that lacks more than a few records: appends are waiting, and the
/// next start has the time to rebuild it.
fn reopen(log: &Path, segments: &Path, tail: Tail) -> Result<Index, String> {
    const LATER: &str = "reads are slow until the next start of the daemon, which rebuilds it";
    let opened = index::open(log).map_err(|error| error.to_string())?;
    if let Some((reason, path)) = opened.aside {
        return Err(format!("the index of the log was put aside to {} ({reason}); {LATER}", path.display()));
    }
    let applied = || opened.index.applied().map_err(|error| error.to_string());
    let lacks = tail.position.0.saturating_sub(applied()?.position.0);
    if lacks > NEAR_RECORDS {
        return Err(format!("the index of the log lacks {lacks} records; {LATER}"));
    }
    recovery::catch_up(&opened.index, segments, tail.position)?;
    if applied()? != tail {
        return Err(format!("the index of the log does not reach the end of the log; {LATER}"));
    }
    Ok(opened.index)
}

fn failed(error: index::Error) -> CompactError {
    CompactError::Failed(error.to_string())
}

/// Closes and removes an index being built.
pub(super) fn discard(new: Index, log: &Path) {
    drop(new);
    if let Err(error) = index::remove_when_released(&log.join(index::NEW)) {
        tracing::warn!(%error, "unfinished index not removed; the next start does it");
    }
}
