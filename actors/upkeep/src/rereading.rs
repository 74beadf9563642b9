//! Rereads transcripts whose conversation an earlier version stored without the tools' reports. Until then the episode,
//! fixes and facts of such a session are made from less.
//!
//! The indexer names these sessions once it has looked at what is stored. They are read one at a time, the last active
//! first, while nothing else is to be read and no query runs. Content hash and episode stay the same, so a model's
//! answers stay too. Not reread: sessions whose transcript is gone, and those whose episode was made by an older filter
//! and would change (`baton reindex` does that).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::throttle::Throttle;
use baton_base::transcript_file;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{CloseReason, Phase};
use baton_tracking::indexer;
use baton_tracking::session::{CloseCall, Closed};
use baton_tracking::supervisor::{self, Progress};
use baton_tracking::transcript_roots::Roots;
use baton_views::catalog::Catalog;
use tokio::sync::watch;
use tokio::time::sleep;

/// Pause after an event before transcripts are looked for again; doubles up to [`LONGEST`] while none is found.
const GATHER: Duration = Duration::from_secs(2);
/// See [`GATHER`].
const LONGEST: Duration = Duration::from_secs(600);

/// Handles for reading transcripts again.
#[derive(Clone)]
pub struct Rereading {
    /// Names the sessions.
    pub indexer: indexer::Handle,
    /// Tells where their transcripts are, and whether they may be read.
    pub catalog: Catalog,
    /// Tells which file systems hang.
    pub roots: Arc<Roots>,
    /// Reaches the sessions.
    pub supervisor: supervisor::Handle,
    /// Delays the work while queries run.
    pub throttle: Throttle,
    /// What is still to be read for other reasons, which goes first.
    pub progress: watch::Receiver<Progress>,
}

impl Rereading {
    /// Reads them again as they become known, each once. Ends with the daemon.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.work() => {}
        }
    }

    async fn work(mut self) {
        let (mut untyped, mut table) = (self.indexer.untyped(), self.catalog.table.clone());
        let (mut tried, mut pause) = (BTreeSet::new(), GATHER);
        loop {
            let is_new = |all: &BTreeSet<SessionId>| all.difference(&tried).next().is_some();
            let Ok(new) = untyped.wait_for(is_new).await.map(|all| all.difference(&tried).cloned().collect()) else {
                return;
            };
            for id in self.readable(new).await {
                if self.progress.wait_for(|progress| progress.pending() == 0).await.is_err() {
                    return;
                }
                drop(self.throttle.wait_for_background().await);
                match reindex_session(&self.catalog.table.now(), &self.supervisor, &id).await.map(|made| made.outcome) {
                    Ok(outcome) => tracing::info!(session = %id, ?outcome, "transcript read again"),
                    Err(error) => tracing::warn!(session = %id, %error, "transcript not read again"),
                }
                tried.insert(id);
                pause = GATHER;
            }
            // A transcript that was moved is found by its next event.
            table.newest();
            let known = tokio::select! {
                known = table.changed() => known.is_ok(),
                known = untyped.changed() => known.is_ok(),
            };
            if !known {
                return;
            }
            sleep(pause).await;
            pause = (2 * pause).min(LONGEST);
        }
    }

    /// Those of the sessions whose transcript can be read again to the same episode, the last active first.
    async fn readable(&self, sessions: Vec<SessionId>) -> Vec<SessionId> {
        let (table, settings) = self.catalog.now();
        let mut found: Vec<_> = sessions
            .into_iter()
            .filter_map(|id| {
                let state = &table.get(&id)?.state;
                let path = state.transcript.as_ref()?.path.clone();
                let is_same = state.filter_is(settings.policy_for(state).filter_version);
                (is_same && settings.may_read(state)).then(|| (std::cmp::Reverse(state.last_activity()), id, path))
            })
            .collect();
        found.sort();
        let roots = self.roots.clone();
        let looking = baton_base::task::spawn_blocking(move || {
            found.retain(|(_, _, path)| !roots.is_hung(Path::new(path)) && transcript_file::exists(Path::new(path)));
            found.into_iter().map(|(_, id, _)| id).collect()
        });
        looking.await.unwrap_or_default()
    }
}

/// Rebuilds a session's episode. A job that already runs began before this call, so it is awaited first.
pub async fn reindex_session(
    table: &SessionTable,
    supervisor: &supervisor::Handle,
    id: &SessionId,
) -> Result<Closed, CallError> {
    let is_under_way = table.get(id).is_some_and(|row| row.state.phase == Phase::Indexing);
    let ask = |reason| supervisor.close(id, None, CloseCall::new(reason), limits::CLOSE_DEADLINE);
    if is_under_way {
        ask(CloseReason::LazyQuery).await?;
    }
    ask(CloseReason::Reindex).await
}
