//! Verifies everything that is stored while the daemon keeps working.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use baton_protocol::{Progress, VerifyParams, answer, code};
use tokio::sync::Semaphore;

use super::transcript_scan::with_kinds_of_progress;
use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use baton_relay::Team;
use baton_upkeep::verify;
use baton_upkeep::verify::OpenHome;

/// Progress of long work, and whether a client still waits for it.
#[derive(Debug, Default)]
pub(super) struct WorkProgress {
    progress: Mutex<Progress>,
    given_up: AtomicBool,
}

impl WorkProgress {
    /// Reports progress. Returns false if no client waits any more.
    pub(super) fn report(&self, what: &str, done: u64, total: u64) -> bool {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = Progress { what: what.to_owned(), done, total };
        !self.given_up.load(Ordering::Relaxed)
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Cancels the work on drop.
pub(super) struct CancelOnDrop(pub(super) Arc<WorkProgress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }
}

pub(crate) async fn verify(
    asked: VerifyParams,
    open: OpenHome,
    team: &Arc<Team>,
    verifying: &Arc<Semaphore>,
    client: &ClientRef,
) -> Result<answer::Verify, QueryError> {
    let Ok(turn) = verifying.clone().try_acquire_owned() else {
        return Err(failure(
            code::TOO_MUCH,
            "everything is being verified or compacted already; ask again when that is done",
        )
        .into());
    };
    let under = Arc::new(WorkProgress::default());
    let given_up_with = CancelOnDrop(under.clone());
    let working = under.clone();
    let work = baton_base::task::spawn_blocking(move || {
        let _turn = turn;
        verify::verify_daemon(&open, asked.quick, &mut |what, done, total| working.report(what, done, total))
    });
    let verified = with_kinds_of_progress(client, || under.progress(), work).await;
    drop(given_up_with);
    let verified = verified?.map_err(|error| internal("verifying broke", error))?;
    if verified.findings.iter().any(|finding| finding.place.starts_with("relay/"))
        && let Err(error) = team.fetch_damaged().await
    {
        tracing::warn!(%error, "what a relay brought is damaged and not fetched again");
    }
    Ok(verified)
}
