//! Waits until searches cover what was read.

use baton_conversation::record::{Position, SessionId};
use baton_protocol::Progress;
use tokio::time::Instant;

use super::{PROGRESS_INTERVAL, Step, memory_unavailable, stale};
use crate::client::{ClientRef, QueryError};
use baton_base::actor_address::CallError;
use baton_base::clock::Clock;
use baton_base::limits;
use baton_journal::session_table::TableReader;
use baton_tracking::indexer;
use baton_tracking::indexer::Want;

/// How far searches cover the log.
#[derive(Clone, Copy)]
pub(crate) struct Coverage<'a> {
    pub(crate) indexer: &'a indexer::Handle,
    pub(crate) table: &'a TableReader,
    pub(crate) clock: &'a dyn Clock,
}

impl Coverage<'_> {
    /// Waits until searches cover the log up to `position`, [`limits::CATCH_UP`] at most; with `all` that limit restarts
    /// whenever the memory advances. Returns the covered position.
    pub(crate) async fn catch_up(
        &self,
        client: &ClientRef,
        position: Position,
        all: bool,
    ) -> Result<Position, QueryError> {
        self.wait_for_coverage(client, position, all, Want::Whole, None).await
    }

    /// Like [`catch_up`], but not beyond the step's budget during a backfill or while a large conversation is put off.
    pub(crate) async fn cover_step(
        &self,
        client: &ClientRef,
        step: &Step,
        all: bool,
        want: Want,
    ) -> Result<Position, QueryError> {
        self.wait_for_coverage(client, step.position, all, want, Some(step)).await
    }

    async fn wait_for_coverage(
        &self,
        client: &ClientRef,
        position: Position,
        all: bool,
        wanted: Want,
        step: Option<&Step>,
    ) -> Result<Position, QueryError> {
        // Events after the position do not count as progress.
        let covered = || self.indexer.covered().up_to(position);
        let begun = covered();
        let (mut reached, since) = (begun, Instant::now());
        let mut moved = since;
        loop {
            let is_put_off = self.is_large_put_off(all, wanted);
            let bounded = step.filter(|step| step.is_backfill || !all && is_put_off);
            let left = bounded.map(|step| step.until - Instant::now());
            let is_late = step.is_some_and(|step| Instant::now() >= step.until);
            let want = if is_put_off && is_late { Want::ButLarge } else { wanted };
            let patience = left.map_or(PROGRESS_INTERVAL, |left| PROGRESS_INTERVAL.min(left));
            match self.indexer.covers(position, want, patience).await {
                Ok(_) => return Ok(self.indexer.covered().of(wanted)),
                Err(CallError::Gone) => return Err(memory_unavailable(self.indexer).into()),
                Err(CallError::TimedOut) => {}
            }
            let (now, problem) = (covered(), self.indexer.memory_state().1);
            if problem.is_some() && Instant::now() > since + limits::TROUBLED_CATCH_UP {
                // It may last for hours, and the indexed part is valid: the answer says how far it goes.
                return Ok(now.of(wanted));
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
                return Ok(reached.of(wanted));
            }
            let begun = begun.but_large.0;
            let (done, total) = (reached.but_large.0.saturating_sub(begun), position.0.saturating_sub(begun));
            client.progress(&Progress { what: "indexing".to_owned(), done, total });
        }
    }

    /// Returns true if a large conversation is put off and not awaited. With `all`, only one in use is not awaited.
    pub(crate) fn is_large_put_off(&self, all: bool, want: Want) -> bool {
        let owed = self.indexer.put_off(want);
        let (table, now) = (self.table.now(), self.clock.now());
        let is_at_work = |id: &SessionId| table.get(id).is_none_or(|row| stale::is_at_work(&row.state, now));
        !owed.is_empty() && (!all || owed.iter().all(is_at_work))
    }
}
