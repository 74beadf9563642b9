//! The pass over all sessions and memos, in short turns, so that other background work can run in between.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::Phase;
use tokio::time::timeout;

use super::{MarkV1, Redacting, Retry, TextStores, refused};
use baton_tracking::indexer::redacting::{Error, of_disk};

/// Length of one turn.
const TURN: Duration = Duration::from_millis(100);
/// Interval at which the progress is stored.
const NOTED: Duration = Duration::from_secs(5);
/// Longest wait for running queries before a turn.
const STAND_BACK: Duration = Duration::from_secs(5);

impl Redacting {
    /// Checks every session and memo, and redacts those whose text changes. Returns those to be retried, and the last
    /// id.
    pub(super) async fn check_all(&self, stored: &TextStores) -> (Vec<Retry>, Option<String>) {
        let mark = self.state().mark.clone();
        let waiting: Arc<[SessionId]> = waiting(&mark, &stored.table.now()).into();
        let (mut later, mut noted, mut last, mut checked) = (Vec::new(), Instant::now(), mark.after, 0);
        while checked < waiting.len() {
            for (id, holds_more) in self.check_some(stored, &waiting, checked).await {
                checked += 1;
                last = last.max(Some(id.to_string()));
                let waiting = Retry { id, why: String::new(), asked: None };
                later.extend(match holds_more {
                    Ok(true) => self.attempt(stored, waiting).await,
                    clean => self.record_outcome(waiting, clean.map(drop)),
                });
            }
            let mut state = self.state();
            state.done = state.total.saturating_sub((waiting.len() - checked + later.len()) as u64);
            drop(state);
            // The position is not stored while some wait for a retry, because a kill would skip them.
            if later.is_empty() && noted.elapsed() >= NOTED {
                noted = Instant::now();
                self.update_mark(|mark| mark.after.clone_from(&last));
            }
        }
        (later, last)
    }

    /// Checks as many as fit into one turn, at least one, for text that the current rules would redact.
    async fn check_some(
        &self,
        stored: &TextStores,
        waiting: &Arc<[SessionId]>,
        from: usize,
    ) -> Vec<(SessionId, Result<bool, Error>)> {
        let mut asked = stored.throttle.questions();
        let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
        let room = stored.throttle.wait_for_background().await;
        let (indexer, memos, all) = (stored.indexer.clone(), stored.memos.clone(), waiting.clone());
        let looking = baton_base::task::spawn_blocking(move || {
            let _room = room;
            let begun = Instant::now();
            let mut checked = Vec::new();
            for id in all.iter().skip(from).take_while(|_| begun.elapsed() < TURN) {
                let look = || match memo::uuid_of_key(id.as_str()) {
                    Some(uuid) => memos.holds_more_to_redact(uuid).map_err(of_disk),
                    None => indexer.holds_more_to_redact(id),
                };
                let broke = |_| Err(Error::Refused("looking at it broke".to_owned()));
                checked.push((id.clone(), catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(broke)));
            }
            checked
        });
        let looked = looking.await.map_err(refused);
        looked.unwrap_or_else(|error| {
            waiting.iter().skip(from).take(1).map(|id| (id.clone(), Err(error.clone()))).collect()
        })
    }
}

/// The sessions and memos to check: those that failed before, and those after the last checked id.
pub(super) fn waiting(mark: &MarkV1, table: &SessionTable) -> Vec<SessionId> {
    let left = mark.left.keys().filter_map(|id| SessionId::new(id));
    left.chain(owed(table, mark.after.as_deref())).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every session and memo after an id, in the order of ids.
pub(super) fn owed(table: &SessionTable, after: Option<&str>) -> Vec<SessionId> {
    let sessions = table.iter().filter(|(_, row)| row.state.phase != Phase::Forgotten).map(|(id, _)| id.clone());
    let memos = table.memos().filter(|(_, row)| row.state.memo.is_some()).map(|(uuid, _)| memo::key(uuid));
    let all: BTreeSet<SessionId> = sessions.chain(memos).collect();
    all.into_iter().filter(|id| after.is_none_or(|after| id.as_str() > after)).collect()
}
