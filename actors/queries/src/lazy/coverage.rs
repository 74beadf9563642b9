//! Waiting until searches cover what was read.

use baton_conversation::record::{Position, SessionId};
use baton_protocol::Progress;
use tokio::time::Instant;

use super::{Step, TELL, no_memory, wanted};
use crate::Services;
use crate::client::{Out, QueryError};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_tracking::indexer::Want;

/// Waits until searches cover the log up to `position`: [`limits::CATCH_UP`] at most, counted anew whenever the memory
/// moves for a person who waits for all history. How far searches cover the log then.
pub(crate) async fn catch_up(
    services: &Services,
    out: &Out,
    position: Position,
    all: bool,
) -> Result<Position, QueryError> {
    catching_up(services, out, position, all, None).await
}

/// The same for a step: not beyond its budget where that is all there is, or where a large conversation is put off.
pub(crate) async fn covered(services: &Services, out: &Out, step: &Step, all: bool) -> Result<Position, QueryError> {
    catching_up(services, out, step.position, all, Some(step)).await
}

async fn catching_up(
    services: &Services,
    out: &Out,
    position: Position,
    all: bool,
    step: Option<&Step>,
) -> Result<Position, QueryError> {
    // What comes behind the position is no progress of this wait.
    let covered = || services.indexer.covered().up_to(position);
    let begun = covered();
    let (mut reached, since) = (begun, Instant::now());
    let mut moved = since;
    loop {
        let holds_up = holds_up(services, all);
        let bounded = step.filter(|step| step.is_backfill || !all && holds_up);
        let left = bounded.map(|step| step.until - Instant::now());
        let is_late = step.is_some_and(|step| Instant::now() >= step.until);
        let want = if holds_up && is_late { Want::ButLarge } else { Want::Whole };
        let patience = left.map_or(TELL, |left| TELL.min(left));
        match services.indexer.covers(position, want, patience).await {
            Ok(_) => return Ok(services.indexer.covered().whole),
            Err(CallError::Gone) => return Err(no_memory(services).into()),
            Err(CallError::TimedOut) => {}
        }
        let (now, problem) = (covered(), services.indexer.memory().1);
        if problem.is_some() && Instant::now() > since + limits::TROUBLED_CATCH_UP {
            // It may last for hours, and what the memory has is not wrong: the answer says how far it goes.
            return Ok(now.whole);
        }
        if now != reached {
            (reached, moved) = (now, Instant::now());
        }
        if out.is_closed() {
            return Err(QueryError::ClientGone);
        }
        let waited = if all { moved.elapsed() } else { since.elapsed() };
        if waited > limits::CATCH_UP || left.is_some_and(|left| left <= TELL) {
            // What searches cover is the answer, and it says so.
            return Ok(reached.whole);
        }
        let begun = begun.but_large.0;
        let (done, total) = (reached.but_large.0.saturating_sub(begun), position.0.saturating_sub(begun));
        out.progress(&Progress { what: "indexing".to_owned(), done, total });
    }
}

/// Whether a large conversation is put off that is not waited for: who waits for everything waits for what nobody works in.
pub(crate) fn holds_up(services: &Services, all: bool) -> bool {
    let (owed, table, now) = (services.indexer.owed(), services.table.now(), services.clock.now());
    let is_at_work = |id: &SessionId| table.get(id).is_none_or(|row| wanted::is_at_work(&row.state, now));
    !owed.is_empty() && (!all || owed.iter().all(is_at_work))
}
