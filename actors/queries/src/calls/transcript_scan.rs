//! Reads many transcripts for one answer: one such call at a time, with progress reports, cancelled when its client
//! disconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use baton_protocol::{Progress, code};

use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use baton_base::throttle::Throttle;

/// Interval of progress reports and of checks for the client.
const PROGRESS_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// Progress of such a call, and whether a client still waits for it.
#[derive(Debug, Default)]
pub(super) struct ScanProgress {
    done: AtomicU64,
    given_up: AtomicBool,
}

impl ScanProgress {
    /// Counts the next transcript. Returns false if no client waits any more.
    pub(super) fn next(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.given_up.load(Ordering::Relaxed)
    }
}

/// Cancels the call on drop.
struct CancelOnDrop(Arc<ScanProgress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }
}

/// Runs blocking work of `total` parts, which calls [`ScanProgress::next`] before each part.
pub(super) async fn scan<T: Send + 'static>(
    throttle: &Throttle,
    client: &ClientRef,
    total: u64,
    work: impl FnOnce(&ScanProgress) -> T + Send + 'static,
) -> Result<T, QueryError> {
    let scan_progress = Arc::new(ScanProgress::default());
    let given_up_with = CancelOnDrop(scan_progress.clone());
    let working = async {
        let room = throttle.wait_to_scan().await;
        let scan_progress = scan_progress.clone();
        let working = baton_base::task::spawn_blocking(move || {
            let _room = room;
            work(&scan_progress)
        });
        working.await
    };
    let how_far = || (scan_progress.done.load(Ordering::Relaxed).min(total), total);
    let looked = with_progress(client, "looking at sessions", how_far, working).await;
    drop(given_up_with);
    Ok(looked?.map_err(|error| internal("reading transcripts broke", error))?)
}

/// Reports progress to the client until the work is done. Cancels it if the client disconnects.
pub(super) async fn with_progress<T>(
    client: &ClientRef,
    what: &str,
    progress: impl Fn() -> (u64, u64),
    work: impl Future<Output = T>,
) -> Result<T, QueryError> {
    let progress = || {
        let (done, total) = progress();
        Progress { what: what.to_owned(), done, total }
    };
    with_kinds_of_progress(client, progress, work).await
}

/// Like [`with_progress`], for work of several kinds in a row.
pub(super) async fn with_kinds_of_progress<T>(
    client: &ClientRef,
    progress: impl Fn() -> Progress,
    work: impl Future<Output = T>,
) -> Result<T, QueryError> {
    let mut tell = tokio::time::interval(PROGRESS_INTERVAL);
    let mut stopping = client.stopping();
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            _ = tell.tick() => {
                if client.is_closed() {
                    return Err(QueryError::ClientGone);
                }
                client.progress(&progress());
            }
            _ = stopping.wait_for(|stop| *stop) => {
                let message = "the daemon is stopping; what is done stays, call again for the rest";
                return Err(failure(code::STOPPING, message).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_ends_with_whoever_waits_for_it() {
        let scan_progress = Arc::new(ScanProgress::default());
        let waiting = CancelOnDrop(scan_progress.clone());
        assert!(scan_progress.next() && scan_progress.next());
        drop(waiting);
        assert!(!scan_progress.next());
    }
}
