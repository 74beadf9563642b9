//! `keep`: shortens old conversations to what their episodes need.

use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::Timestamp;
use baton_protocol::{KeepParams, answer, code};
use baton_upkeep::keeping::{Bounds, Keeping};

use super::QueryError;
use super::transcript_scan::with_progress;
use crate::client::{ClientRef, failure};

pub(crate) async fn keep(asked: KeepParams, keeping: Keeping, client: &ClientRef) -> Result<answer::Keep, QueryError> {
    let bounds = Bounds { before: asked.before.map(Timestamp), max_bytes: asked.max_bytes };
    if bounds.before.is_none() && bounds.max_bytes.is_none() {
        return Err(failure(code::INVALID_PARAMS, "a limit is missing: before or max_bytes").into());
    }
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let step = |now, of| {
        done.store(now, Ordering::Relaxed);
        total.store(of, Ordering::Relaxed);
    };
    let progress = || (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
    with_progress(
        client,
        "comparing conversations with their episodes",
        progress,
        keeping.shorten_oldest(bounds, asked.dry_run, step),
    )
    .await
}
