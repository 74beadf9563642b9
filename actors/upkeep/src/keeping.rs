//! Shortens the oldest conversations to what their episodes need, so that a home stays within limits.
//!
//! Nothing happens by itself: a person requests it, with limits. The log comes first: a shorter conversation is
//! written, then recorded, then the longer one is removed. A kill in between leaves one of the two whole, and the other
//! is collected.

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{SessionId, Timestamp};
use baton_protocol::answer::{Keep, KeepRow};
use tokio::time::sleep;

use crate::disk_usage::DiskUsage;
use baton_base::limits;
use baton_journal::session_table::TableReader;
use baton_tracking::indexer;
use baton_tracking::indexer::redacting::Error;
use baton_tracking::indexer::shortening::{Shorter, Sizes};
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;

/// Delay before a recording of unknown outcome is asked about again.
const AGAIN: Duration = Duration::from_secs(1);

/// The limits: a conversation is shortened if one of them applies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Those without activity since.
    pub before: Option<Timestamp>,
    /// The oldest, until all conversations take no more bytes.
    pub max_bytes: Option<u64>,
}

/// Shortens conversations.
#[derive(Clone)]
pub struct Keeping {
    /// Names the conversations.
    pub table: TableReader,
    /// Shortens them.
    pub indexer: indexer::Handle,
    /// Records that they are shorter.
    pub supervisor: supervisor::Handle,
    /// Measures the home.
    pub disk_usage: Arc<DiskUsage>,
}

/// A stored conversation.
struct Candidate {
    at: Timestamp,
    id: SessionId,
    bytes: u64,
    is_shortened: bool,
}

impl Keeping {
    /// Shortens the conversations that exceed the bounds, the oldest first; with `dry_run` only counts. `step` is
    /// called with the number of conversations examined and their total.
    pub async fn shorten_oldest(&self, bounds: Bounds, dry_run: bool, step: impl Fn(u64, u64)) -> Keep {
        let this = self.clone();
        let all = baton_base::task::spawn_blocking(move || this.candidates()).await.unwrap_or_default();
        let mut keep = Keep { dry_run, conversations: all.len() as u64, ..Keep::default() };
        keep.bytes = all.iter().map(|one| one.bytes).sum();
        let mut left = keep.bytes;
        let applies = |one: &Candidate, left: u64| {
            bounds.before.is_some_and(|before| one.at < before) || bounds.max_bytes.is_some_and(|most| left > most)
        };
        for (done, one) in (0..).zip(&all) {
            // The others are younger, and what is left takes no more from here on.
            if !applies(one, left) {
                break;
            }
            step(done, keep.conversations);
            if one.is_shortened {
                keep.already += 1;
                continue;
            }
            match self.shorten(&one.id, one.bytes, dry_run).await {
                Ok(Some(Sizes { before, after })) => {
                    let freed_bytes = before.saturating_sub(after);
                    left = left.saturating_sub(freed_bytes);
                    keep.freed_bytes += freed_bytes;
                    let project = self.project(&one.id);
                    let (session_id, last_activity) = (one.id.to_string(), one.at.to_string());
                    keep.sessions.push(KeepRow { session_id, project, last_activity, bytes: before, freed_bytes });
                }
                Ok(None) => keep.whole += 1,
                Err(reason) => {
                    tracing::warn!(session = %one.id, reason, "conversation not shortened");
                    keep.failures += 1;
                    keep.problem.get_or_insert_with(|| format!("session {}: {reason}", one.id));
                }
            }
        }
        if !dry_run {
            self.disk_usage.invalidate();
        }
        keep.over_bytes = bounds.max_bytes.map_or(0, |most| left.saturating_sub(most));
        keep.status = if keep.failures > 0 { "error" } else { "success" }.to_owned();
        keep
    }

    fn project(&self, id: &SessionId) -> Option<String> {
        self.table.now().get(id)?.state.place.as_ref().map(|place| place.project.clone())
    }

    /// All conversations, the oldest first. Blocks for disk reads.
    fn candidates(&self) -> Vec<Candidate> {
        let table = self.table.now();
        let candidate = |(id, at): (&SessionId, Timestamp)| {
            let (bytes, is_shortened) = self.indexer.stored_bytes(id)?;
            Some(Candidate { at, id: id.clone(), bytes, is_shortened })
        };
        let at = |state: &baton_events::session::State| state.last_activity();
        let mut all: Vec<_> = table.iter().filter_map(|(id, row)| candidate((id, at(&row.state)))).collect();
        all.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        all
    }

    /// Shortens one conversation, or only computes its size. Runs to its end even if the caller gives up: what is written
    /// must stay until it is known whether the log names it.
    async fn shorten(&self, id: &SessionId, bytes: u64, dry_run: bool) -> Result<Option<Sizes>, String> {
        let (indexer, of) = (self.indexer.clone(), id.clone());
        let told = |error: Error| error.to_string();
        if dry_run {
            let computing = baton_base::task::spawn_blocking(move || indexer.sizes_if_shortened(&of));
            return computing.await.map_err(|error| error.to_string())?.map_err(told);
        }
        let this = self.clone();
        let working = baton_base::task::spawn(async move {
            let (indexer, id) = (this.indexer.clone(), of.clone());
            let writing = baton_base::task::spawn_blocking(move || indexer.shorten(&id));
            let Some(shorter) = writing.await.map_err(|error| error.to_string())?.map_err(told)? else {
                return Ok(None);
            };
            let after = shorter.bytes;
            this.record(&of, &shorter).await?;
            drop(shorter);
            let indexer = this.indexer.clone();
            let removing = baton_base::task::spawn_blocking(move || indexer.collect_now(&of));
            // A job that has begun meanwhile collects it instead.
            match removing.await.map_err(|error| error.to_string())? {
                Ok(()) | Err(Error::Busy) => Ok(Some(Sizes { before: bytes, after })),
                Err(error) => Err(error.to_string()),
            }
        });
        working.await.map_err(|error| error.to_string())?
    }

    /// Records a shorter conversation. Asks until the outcome is known: a repeated request does no harm.
    async fn record(&self, id: &SessionId, shorter: &Shorter) -> Result<(), String> {
        let manifest = shorter.conversation.stored.manifest;
        loop {
            let switch = Switch::Shorten(Box::new(shorter.conversation.clone()));
            let refused = match self.supervisor.switch(id, switch, limits::SESSION_CALL).await {
                Ok(Switched::Done { .. }) => return Ok(()),
                Ok(Switched::Refused(rejection)) => rejection.to_string(),
                Ok(Switched::Stopped(_)) => "its project is excluded".to_owned(),
                Ok(Switched::Failed { reason }) => reason,
                Err(error) => {
                    tracing::warn!(session = %id, %error, "unknown whether its shorter conversation is recorded, asking again");
                    sleep(AGAIN).await;
                    continue;
                }
            };
            // A request of unknown outcome may have been recorded.
            let is_recorded = |row: &baton_events::projection::table::Row| {
                row.state.episode.as_ref().is_some_and(|episode| episode.manifest == manifest)
            };
            let table = self.table.now();
            return if table.get(id).is_some_and(|row| is_recorded(row)) { Ok(()) } else { Err(refused) };
        }
    }
}
