//! Looking at many transcripts for one answer: one such call at a time, told how far it is, and given up with its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use baton_protocol::{Progress, code};

use super::{QueryError, internal};
use crate::Services;
use crate::client::{Out, failure};

/// How often a waiting client is told how far things are, and looked for.
const TELL: std::time::Duration = std::time::Duration::from_millis(100);

/// How far such a call is, and whether anybody still waits for it.
#[derive(Debug, Default)]
pub(super) struct Looking {
    done: AtomicU64,
    given_up: AtomicBool,
}

impl Looking {
    /// Counts one that is looked at next. `false`: nobody waits for it any more.
    pub(super) fn next(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.given_up.load(Ordering::Relaxed)
    }
}

/// Gives a call up when it goes, however that comes.
struct GivenUpWith(Arc<Looking>);

impl Drop for GivenUpWith {
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }
}

/// Does work that blocks for disk reads, of so many parts, before each of which it asks [`Looking::next`].
pub(super) async fn look<T: Send + 'static>(
    services: &Services,
    out: &Out,
    total: u64,
    work: impl FnOnce(&Looking) -> T + Send + 'static,
) -> Result<T, QueryError> {
    let looking = Arc::new(Looking::default());
    let given_up_with = GivenUpWith(looking.clone());
    let working = async {
        let room = services.throttle.wait_to_scan().await;
        let looking = looking.clone();
        let working = tokio::task::spawn_blocking(move || {
            let _room = room;
            work(&looking)
        });
        working.await
    };
    let how_far = || (looking.done.load(Ordering::Relaxed).min(total), total);
    let looked = told(services, out, "looking at sessions", how_far, working).await;
    drop(given_up_with);
    Ok(looked?.map_err(|error| internal("looking at transcripts broke", error))?)
}

/// Tells a client how far things are until they are done. A client that has gone stops them.
pub(super) async fn told<T>(
    services: &Services,
    out: &Out,
    what: &str,
    progress: impl Fn() -> (u64, u64),
    work: impl Future<Output = T>,
) -> Result<T, QueryError> {
    let progress = || {
        let (done, total) = progress();
        Progress { what: what.to_owned(), done, total }
    };
    told_of(services, out, progress, work).await
}

/// The same for work of several kinds, one after another.
pub(super) async fn told_of<T>(
    services: &Services,
    out: &Out,
    progress: impl Fn() -> Progress,
    work: impl Future<Output = T>,
) -> Result<T, QueryError> {
    let mut tell = tokio::time::interval(TELL);
    let mut stopping = services.stop.subscribe();
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            _ = tell.tick() => {
                if out.is_closed() {
                    return Err(QueryError::ClientGone);
                }
                out.progress(&progress());
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
        let looking = Arc::new(Looking::default());
        let waiting = GivenUpWith(looking.clone());
        assert!(looking.next() && looking.next());
        drop(waiting);
        assert!(!looking.next());
    }
}
