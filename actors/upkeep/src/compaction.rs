//! Frees disk space of a home: conversations that no event names any more, and the excess size of the log's index.
//!
//! Runs on request, or when the index has grown out of proportion: then at most once an hour, while nothing else runs,
//! and it stops when something does. A lost index is rebuilt at once, because without it every read of a session reads
//! the whole log.

use std::time::{Duration, Instant};

use baton_base::task::Task;
use baton_protocol::answer::{Compact, CompactedConversations, CompactedIndex, Part};

use crate::disk_usage::DiskUsage;
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_journal::session_table::TableReader;
use baton_journal::{CompactError, Journal, Rewritten};
use baton_tracking::indexer;
use baton_tracking::supervisor::Progress;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::sync::watch;

/// Why nothing, or only a part, was freed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Conversations could not be checked.
    #[error("conversations were not checked: {0}")]
    Conversations(#[from] CallError),
    /// The index of the log.
    #[error(transparent)]
    Index(#[from] CompactError),
    /// The task panicked.
    #[error("the compaction panicked; `daemon.log` shows where")]
    Broken,
}

/// Frees disk space.
#[derive(Clone)]
pub struct Compaction {
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// Names the current conversations.
    pub table: TableReader,
    /// Removes the others.
    pub indexer: indexer::Handle,
    /// Measures what there is to free.
    pub disk_usage: Arc<DiskUsage>,
    /// Permit for a verification or a compaction; one runs at a time.
    pub verifying: Arc<Semaphore>,
}

impl Compaction {
    /// Frees what is not needed, once no verification runs. `go_on` is called with the progress of the index; `false` stops
    /// the work.
    pub async fn compact(&self, mut go_on: impl FnMut(u64, u64) -> bool + Send + 'static) -> Result<Compact, Error> {
        let begun = Instant::now();
        // Rewriting takes the index away for a moment, which a verification would report as a difference.
        let turn = self.verifying.clone().acquire_owned().await.map_err(|_| Error::Broken)?;
        let (position, state_hash) = {
            let table = self.table.now();
            (table.position(), table.state_hash())
        };
        let swept = self.indexer.sweep().await?;
        let journal = self.journal.clone();
        let rewriting = baton_base::task::spawn_blocking(move || {
            let _turn = turn;
            journal.compact(&mut go_on)
        });
        let Rewritten { records, bytes_before, bytes_after, pause } = rewriting.await.map_err(|_| Error::Broken)??;
        self.disk_usage.invalidate();
        let conversations = CompactedConversations {
            sessions: swept.sessions,
            files: swept.removed.files,
            bytes: swept.removed.bytes,
            busy: swept.busy,
            unreadable: swept.unreadable,
        };
        let pause_ms = (pause.as_secs_f64() * 1e4).round() / 10.0;
        let index = CompactedIndex { events: records, bytes_before, bytes_after, pause_ms };
        let freed_bytes = conversations.bytes + bytes_before.saturating_sub(bytes_after);
        tracing::info!(
            freed_bytes,
            files = conversations.files,
            index_before = bytes_before,
            index_after = bytes_after,
            pause_ms,
            "storage compacted"
        );
        let seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        let state_hash = state_hash.to_string();
        Ok(Compact { position: position.0, state_hash, freed_bytes, index, conversations, seconds })
    }

    /// Rebuilds a lost index of the log from its segments. Returns true if the index exists again.
    async fn rebuild(&self, stop: watch::Receiver<bool>) -> bool {
        let Ok(turn) = self.verifying.clone().acquire_owned().await else { return false };
        let journal = self.journal.clone();
        let rebuilding = baton_base::task::spawn_blocking(move || {
            let _turn = turn;
            journal.compact(&mut |_, _| !*stop.borrow())
        });
        match rebuilding.await {
            Ok(Ok(Rewritten { records, .. })) => {
                tracing::info!(records, "index of the log built anew");
                true
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "index of the log not built anew, trying again");
                false
            }
            Err(_) => false,
        }
    }
}

/// Maintains a home while its daemon runs; stopped by [`Upkeep::end`].
pub struct Upkeep(Task<()>);

impl Upkeep {
    /// Starts the maintenance.
    pub fn start(
        compaction: Compaction,
        throttle: Throttle,
        progress: watch::Receiver<Progress>,
        stop: watch::Receiver<bool>,
        tasks: &TaskSupervisor,
    ) -> Self {
        let watching = move || watch(compaction.clone(), throttle.clone(), progress.clone(), stop.clone());
        Self(tasks.spawn("upkeep", watching))
    }

    /// Stops the task. A rewrite in progress watches the stop signal itself.
    pub fn end(self) {
        self.0.abort();
    }
}

async fn watch(
    compaction: Compaction,
    throttle: Throttle,
    progress: watch::Receiver<Progress>,
    stop: watch::Receiver<bool>,
) {
    let (mut policy, mut looked) = (RewritePolicy::default(), Instant::now());
    let mut wait = limits::INDEX_LOST;
    loop {
        tokio::time::sleep(wait).await;
        let journal = compaction.journal.clone();
        let lost = baton_base::task::spawn_blocking(move || journal.stats().index_lost).await.unwrap_or(false);
        let rebuilt = !lost || compaction.rebuild(stop.clone()).await;
        wait = if rebuilt { limits::INDEX_LOST } else { (2 * wait).min(limits::UPKEEP) };
        if looked.elapsed() < limits::UPKEEP {
            continue;
        }
        looked = Instant::now();
        let disk_usage = compaction.disk_usage.clone();
        let looking = baton_base::task::spawn_blocking(move || disk_usage.measure_index());
        let Ok(index) = looking.await else { continue };
        let is_idle = !throttle.is_answering() && progress.borrow().pending() == 0;
        if !is_idle || !policy.should_rewrite(index, Instant::now()) {
            continue;
        }
        let (throttle, stop) = (throttle.clone(), stop.clone());
        let compacted = compaction.compact(move |_, _| {
            let begun = Instant::now();
            while throttle.is_answering() && !*stop.borrow() && begun.elapsed() < limits::UPKEEP_WAIT {
                std::thread::sleep(Duration::from_millis(20));
            }
            !throttle.is_answering() && !*stop.borrow()
        });
        match compacted.await {
            Ok(done) => policy.record_rewrite(done.index.bytes_after),
            Err(error) => tracing::warn!(%error, "storage not compacted"),
        }
    }
}

/// Decides when the index of the log is worth rewriting.
#[derive(Debug, Default)]
struct RewritePolicy {
    /// Time of the last attempt.
    tried: Option<Instant>,
    /// Size in bytes after the last rewrite; sled needs more than its content even then.
    after: u64,
}

impl RewritePolicy {
    /// Returns true if a rewrite should be tried now.
    fn should_rewrite(&mut self, index: Part, now: Instant) -> bool {
        // An index created without counting has no known content; a rewrite counts it.
        let live = index.live_bytes.unwrap_or(0);
        let is_due = self.tried.is_none_or(|tried| now.duration_since(tried) >= limits::UPKEEP_PAUSE);
        let is_worth_it = index.bytes > limits::UPKEEP_BYTES
            && index.bytes > live.saturating_mul(3)
            && index.bytes > self.after.saturating_mul(3) / 2;
        if is_due && is_worth_it {
            self.tried = Some(now);
        }
        is_due && is_worth_it
    }

    fn record_rewrite(&mut self, after: u64) {
        self.after = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_rewritten_when_it_has_grown_out_of_proportion_and_not_too_often() {
        const MB: u64 = 1024 * 1024;
        let start = Instant::now();
        let after = |minutes: u64| start + Duration::from_secs(minutes * 60);
        let part = |bytes, live| Part { bytes: bytes * MB, live_bytes: live };
        let mut policy = RewritePolicy::default();
        for (bytes, live, minutes, wanted, why) in [
            (32, Some(MB), 0, false, "small"),
            (100, Some(34 * MB), 0, false, "in proportion"),
            (100, Some(33 * MB), 0, true, "out of proportion"),
            (200, Some(33 * MB), 59, false, "tried a moment ago"),
            (200, Some(33 * MB), 60, true, "tried an hour ago"),
            (100, None, 120, true, "nobody has counted"),
        ] {
            assert_eq!(policy.should_rewrite(part(bytes, live), after(minutes)), wanted, "{why}");
        }
        policy.record_rewrite(90 * MB);
        assert!(!policy.should_rewrite(part(134, Some(20 * MB)), after(200)), "sled makes no less of it");
        assert!(policy.should_rewrite(part(136, Some(20 * MB)), after(200)), "it has grown by half since");
    }
}
