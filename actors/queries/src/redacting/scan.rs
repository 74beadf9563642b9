//! The pass over all sessions and memos, in short turns, so that other background work can run in between.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::Phase;
use tokio::time::timeout;

use super::{MarkV1, Redacting, Retry, StoredText, refused};
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
    pub(super) async fn check_all(&self, stored: &StoredText) -> (Vec<Retry>, Option<String>) {
        let mark = self.state().mark.clone();
        let mut waiting = waiting(&mark, &stored.table.now());
        let (mut later, mut noted, mut last) = (Vec::new(), Instant::now(), mark.after);
        while !waiting.is_empty() {
            let turn = self.check_some(stored, waiting).await;
            waiting = turn.rest;
            for id in turn.clean {
                self.state().mark.left.remove(id.as_str());
            }
            for id in turn.changing {
                later.extend(self.attempt(stored, Retry { id, why: String::new(), asked: None }).await);
            }
            for (id, error) in turn.failed {
                later.extend(self.record_outcome(Retry { id, why: String::new(), asked: None }, Err(error)));
            }
            let mut state = self.state();
            state.done = state.total.saturating_sub((waiting.len() + later.len()) as u64);
            drop(state);
            last = turn.last.map(|id| id.to_string()).max(last);
            // The position is not stored while some wait for a retry, because a kill would skip them.
            if later.is_empty() && noted.elapsed() >= NOTED {
                noted = Instant::now();
                self.update_mark(|mark| mark.after.clone_from(&last));
            }
        }
        (later, last)
    }

    /// Checks as many as fit into one turn.
    async fn check_some(&self, stored: &StoredText, waiting: VecDeque<SessionId>) -> TurnResult {
        let mut asked = stored.throttle.questions();
        let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
        let room = stored.throttle.wait_for_background().await;
        let (indexer, memos, table) = (stored.indexer.clone(), stored.memos.clone(), stored.table.clone());
        let first = waiting.front().cloned();
        let looking = baton_base::task::spawn_blocking(move || {
            let _room = room;
            let begun = Instant::now();
            let mut turn = TurnResult { rest: waiting, ..TurnResult::default() };
            while begun.elapsed() < TURN
                && let Some(id) = turn.rest.pop_front()
            {
                let look = || match memo::uuid_of_key(id.as_str()) {
                    Some(uuid) => memos.holds_more_to_redact(uuid).map_err(of_disk),
                    None => indexer.holds_more_to_redact(&table, &id),
                };
                let broke = |_| Err(Error::Refused("looking at it broke".to_owned()));
                match catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(broke) {
                    Ok(true) => turn.changing.push(id.clone()),
                    Ok(false) => turn.clean.push(id.clone()),
                    Err(error) => turn.failed.push((id.clone(), error)),
                }
                turn.last = Some(id);
            }
            turn
        });
        // If checking one panics, the pass continues after it.
        looking.await.unwrap_or_else(|error| {
            let rest = owed(&stored.table.now(), first.as_ref().map(SessionId::as_str)).into();
            let failed = first.clone().map(|id| (id, refused(error))).into_iter().collect();
            TurnResult { rest, failed, last: first, ..TurnResult::default() }
        })
    }
}

/// The result of one turn.
#[derive(Default)]
struct TurnResult {
    rest: VecDeque<SessionId>,
    clean: Vec<SessionId>,
    changing: Vec<SessionId>,
    failed: Vec<(SessionId, Error)>,
    last: Option<SessionId>,
}

/// The sessions and memos to check: those that failed before, and those after the last checked id.
pub(super) fn waiting(mark: &MarkV1, table: &SessionTable) -> VecDeque<SessionId> {
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
