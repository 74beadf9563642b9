//! Waits for sessions of a project that have just ended, because a handoff to the next session must include them.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{CloseReason, Phase, State};
use tokio::time::Instant;

use super::{CheckedHook, Hooks};

/// How long after a session's end its transcript may still appear.
const TRANSCRIPT_MS: i64 = 2_000;

impl Hooks {
    /// Waits until the ended sessions of the same project are indexed, at most until `until`. Returns `false` if some
    /// are not.
    pub async fn wait_for_closes(&self, checked: &CheckedHook, until: Instant) -> bool {
        let Some(place) = &checked.place else { return true };
        let mut table = self.options.table.clone();
        let closing: Vec<SessionId> = {
            let table = table.newest();
            let works_there = |id: &SessionId, state: &State| match &state.place {
                Some(at) => at.project == place.project,
                None => self.recent.last_place(id).is_some_and(|at| at.project == place.project),
            };
            let now = self.options.clock.now();
            let others = table.iter().filter(|(id, row)| **id != checked.session && is_closing(&row.state));
            // A session that ended longer ago without a transcript will never have one.
            let others = others.filter(|(_, row)| {
                let ended = row.state.end.map(|end| now.since_ms(end.at));
                row.state.transcript.is_some() || ended.is_some_and(|ago| ago < TRANSCRIPT_MS)
            });
            others.filter(|(id, row)| works_there(id, &row.state)).map(|(id, _)| id.clone()).collect()
        };
        let are_closed =
            |table: &SessionTable| closing.iter().all(|id| table.get(id).is_none_or(|row| !is_closing(&row.state)));
        if closing.is_empty() {
            return true;
        }
        matches!(tokio::time::timeout_at(until, table.wait_for(are_closed)).await, Ok(Ok(_)))
    }
}

/// True if a session has ended and its episode is not stored yet.
fn is_closing(state: &State) -> bool {
    let ends = |reason: Option<CloseReason>| reason.is_some_and(CloseReason::ends_session);
    let is_indexing = state.phase == Phase::Indexing;
    ends(state.signals.close_owed)
        || (is_indexing && state.job.is_some_and(|job| ends(Some(job.reason)) || ends(job.again)))
}

#[cfg(test)]
mod tests {
    use baton_events::session::{EffectId, Job};

    use super::*;

    #[test]
    fn what_ends_is_closing_and_what_only_wants_the_content_is_not() {
        let owed = |reason| {
            let mut state = State::default();
            state.signals.close_owed = reason;
            state
        };
        let running = |reason, again| {
            let job =
                Job { effect: EffectId { generation: 1, start: 1 }, to: 0, reason, covers: 0, again, resumed: false };
            State { phase: Phase::Indexing, job: Some(job), ..State::default() }
        };
        for (state, expected) in [
            (owed(None), false),
            (owed(Some(CloseReason::HookClear)), true),
            (owed(Some(CloseReason::HookCompact)), false),
            (running(CloseReason::HookOther, None), true),
            (running(CloseReason::LazyQuery, None), false),
            (running(CloseReason::LazyQuery, Some(CloseReason::HookClear)), true),
            (State { phase: Phase::Indexed, ..running(CloseReason::HookOther, None) }, false),
        ] {
            assert_eq!(is_closing(&state), expected, "{state:?}");
        }
    }
}
