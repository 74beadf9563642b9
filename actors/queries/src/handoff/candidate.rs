//! Selects the session to hand over, from the session table alone.
//!
//! # Decisions
//!
//! - A reported end counts as the end of a session; if it was only inferred (timeout, lost connection), the last
//!   activity counts. A session begun again after its end counts as running for the inactivity timeout, or until its
//!   connection is gone. A fork whose parent is unknown gets no handoff.

use std::cmp::Reverse;
use std::sync::Arc;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{CloseReason, Phase, Policy, State, UnindexedReason};

use baton_config::settings::Settings;

/// Most sessions whose episodes are examined for one handoff; earlier ones are too old to be continued.
pub(super) const MOST: usize = 8;

/// The criteria.
#[derive(Clone, Debug)]
pub(super) struct Criteria<'a> {
    /// Sessions of this project, or assigned to this group.
    pub(super) project: &'a str,
    /// Excluded sessions. The first is the one that asks.
    pub(super) excluded: Vec<&'a SessionId>,
    /// Preferred over all others.
    pub(super) first: Option<&'a SessionId>,
    /// Only sessions that ended after this.
    pub(super) after: Option<Timestamp>,
}

/// An ended session that may have something to hand over.
pub(super) struct Candidate {
    pub(super) id: SessionId,
    pub(super) row: Arc<Row>,
    /// True if its episode is still to come, or to be replaced.
    pub(super) under_way: bool,
}

/// The candidates, best first: the preferred one, then those that ended last.
pub(super) fn candidates(
    table: &SessionTable,
    settings: &Settings,
    now: Timestamp,
    criteria: &Criteria<'_>,
) -> Vec<Candidate> {
    let mut best: Vec<(bool, Reverse<Timestamp>, &SessionId, &Arc<Row>)> = Vec::with_capacity(MOST + 1);
    for (id, row) in table.iter() {
        let state = &row.state;
        if !is_in_project(state, criteria.project)
            || !is_over(state, &settings.policy, now)
            || criteria.excluded.contains(&id)
        {
            continue;
        }
        let ended = ended_at(state);
        let late_enough = criteria.after.is_none_or(|after| ended > after);
        if !late_enough || !has_content(table, row) || settings.excludes(state) {
            continue;
        }
        let entry = (criteria.first != Some(id), Reverse(ended), id, row);
        let at =
            best.partition_point(|other| *other.2 != *id && (other.0, other.1, other.2) < (entry.0, entry.1, entry.2));
        if at < MOST {
            best.insert(at, entry);
            best.truncate(MOST);
        }
    }
    let candidate = |(_, _, id, row): (_, _, &SessionId, &Arc<Row>)| Candidate {
        id: id.clone(),
        row: row.clone(),
        under_way: is_under_way(&row.state),
    };
    best.into_iter().map(candidate).collect()
}

fn is_in_project(state: &State, project: &str) -> bool {
    let place = state.place.as_ref().is_some_and(|place| place.project == project);
    (place || state.group.as_deref() == Some(project)) && !state.is_subagent()
}

/// Returns true if it has an episode that may be shown, or will have one.
fn has_content(table: &SessionTable, row: &Row) -> bool {
    table.visible_episode(row).is_some() || is_under_way(&row.state)
}

/// Returns true if its episode is being made, or is owed.
pub(super) fn is_under_way(state: &State) -> bool {
    let left_alone = state.phase == Phase::Unindexed(UnindexedReason::Untracked);
    state.phase == Phase::Indexing || (state.signals.close_owed.is_some() && !left_alone)
}

/// Returns true if the session is over.
pub(super) fn is_over(state: &State, policy: &Policy, now: Timestamp) -> bool {
    !state.is_unseen() && state.phase != Phase::Forgotten && !may_be_in_use(state, policy, now)
}

/// Returns true if the session may be in use. The end of one that was begun again does not count, unless it was silent
/// for the timeout or its agent has gone.
pub(crate) fn may_be_in_use(state: &State, policy: &Policy, now: Timestamp) -> bool {
    let timeout = if policy.timeout_disabled() { policy.abandoned_after_ms } else { policy.inactivity_timeout_ms };
    let signals = &state.signals;
    let heard_at = signals.started_at.max(signals.active_at);
    let heard_lately = heard_at.is_some_and(|at| now.since_ms(at) < timeout);
    let left = signals.disconnected_at.is_some_and(|at| now.since_ms(at) >= policy.disconnect_grace_ms);
    match (state.phase, state.end) {
        (Phase::Forgotten, _) => false,
        // It may never get a transcript, so its end is not awaited.
        (Phase::New, end) => heard_lately && !left && end.is_none_or(|end| heard_at > Some(end.at)),
        (Phase::Unindexed(_), None) => heard_lately && !left,
        (_, None) => true,
        (_, Some(end)) => signals.started_at > Some(end.at) && heard_lately && !left,
    }
}

/// The end of a session: the reported one, or the last activity if the end was only inferred.
pub(super) fn ended_at(state: &State) -> Timestamp {
    let worked = state.last_activity();
    match state.end {
        Some(end) if !matches!(end.reason, CloseReason::InactivityTimeout | CloseReason::McpDisconnect) => {
            end.at.max(worked)
        }
        _ => worked,
    }
}
