//! Waits until searches cover what was read.

use baton_conversation::record::{Position, SessionId};
use baton_protocol::Progress;
use tokio::time::Instant;

use super::{PROGRESS_INTERVAL, Step, memory_unavailable, stale};
use crate::Services;
use crate::client::{ClientRef, QueryError};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_tracking::indexer::Want;

/// Waits until searches cover the log up to `position`, [`limits::CATCH_UP`] at most; with `all` that limit restarts
/// whenever the memory advances. Returns the covered position.
pub(crate) async fn catch_up(
    services: &Services,
    client: &ClientRef,
    position: Position,
    all: bool,
) -> Result<Position, QueryError> {
    wait_for_coverage(services, client, position, all, None).await
}

/// Like [`catch_up`], but not beyond the step's budget during a backfill or while a large conversation is put off.
pub(crate) async fn cover_step(
    services: &Services,
    client: &ClientRef,
    step: &Step,
    all: bool,
) -> Result<Position, QueryError> {
    wait_for_coverage(services, client, step.position, all, Some(step)).await
}

async fn wait_for_coverage(
    services: &Services,
    client: &ClientRef,
    position: Position,
    all: bool,
    step: Option<&Step>,
) -> Result<Position, QueryError> {
    // Events after the position do not count as progress.
    let covered = || services.indexer.covered().up_to(position);
    let begun = covered();
    let (mut reached, since) = (begun, Instant::now());
    let mut moved = since;
    loop {
        let is_put_off = is_large_put_off(services, all);
        let bounded = step.filter(|step| step.is_backfill || !all && is_put_off);
        let left = bounded.map(|step| step.until - Instant::now());
        let is_late = step.is_some_and(|step| Instant::now() >= step.until);
        let want = if is_put_off && is_late { Want::ButLarge } else { Want::Whole };
        let patience = left.map_or(PROGRESS_INTERVAL, |left| PROGRESS_INTERVAL.min(left));
        match services.indexer.covers(position, want, patience).await {
            Ok(_) => return Ok(services.indexer.covered().whole),
            Err(CallError::Gone) => return Err(memory_unavailable(services).into()),
            Err(CallError::TimedOut) => {}
        }
        let (now, problem) = (covered(), services.indexer.memory().1);
        if problem.is_some() && Instant::now() > since + limits::TROUBLED_CATCH_UP {
            // It may last for hours, and the indexed part is valid: the answer says how far it goes.
            return Ok(now.whole);
        }
        if now != reached {
            (reached, moved) = (now, Instant::now());
        }
        if client.is_closed() {
            return Err(QueryError::ClientGone);
        }
        let waited = if all { moved.elapsed() } else { since.elapsed() };
        if waited > limits::CATCH_UP || left.is_some_and(|left| left <= PROGRESS_INTERVAL) {
            // The answer says how far it goes.
            return Ok(reached.whole);
        }
        let begun = begun.but_large.0;
        let (done, total) = (reached.but_large.0.saturating_sub(begun), position.0.saturating_sub(begun));
        client.progress(&Progress { what: "indexing".to_owned(), done, total });
    }
}

/// Returns true if a large conversation is put off and not awaited. With `all`, only one in use is not awaited.
pub(crate) fn is_large_put_off(services: &Services, all: bool) -> bool {
    let (owed, table, now) = (services.indexer.owed(), services.table.now(), services.clock.now());
    let is_at_work = |id: &SessionId| table.get(id).is_none_or(|row| stale::is_at_work(&row.state, now));
    !owed.is_empty() && (!all || owed.iter().all(is_at_work))
}
