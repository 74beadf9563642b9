//! The enrichments that sessions owe, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::{Candidate, order};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Effect, EnrichJob, State, pending};

use baton_config::settings::Settings;

/// What is owed at one moment.
pub(super) struct DueEnrichments {
    /// The sessions that are due, each with its content, in the order of work.
    pub(super) due: Vec<(SessionId, ContentHash)>,
    /// When the next one is due.
    pub(super) next: Option<Timestamp>,
}

/// Returns what to ask about a session, if it owes an enrichment and may be read.
pub(super) fn job_of(settings: &Settings, state: &State) -> Option<EnrichJob> {
    // Most sessions owe nothing.
    state.enrichment()?.owed?;
    if !settings.may_read(state) {
        return None;
    }
    let job = |effect| match effect {
        Effect::Enrich(job) => Some(job),
        _ => None,
    };
    pending(state, &settings.policy_for(state)).into_iter().find_map(job)
}

/// Returns what all sessions owe. A pause listed in `forgiven` is ignored. `is_hit` tells whether questions have found
/// a session.
pub(super) fn due_enrichments(
    table: &SessionTable,
    settings: &Settings,
    now: Timestamp,
    forgiven: &BTreeMap<SessionId, Timestamp>,
    is_hit: impl Fn(&SessionId) -> bool,
) -> DueEnrichments {
    let (mut due, mut next) = (Vec::new(), None::<Timestamp>);
    for (id, row) in table.enriching() {
        let Some(mut job) = job_of(settings, &row.state) else { continue };
        let pause = row.state.enrichment().and_then(|known| known.retry_at);
        if pause.is_some() && forgiven.get(id).copied() == pause {
            job.due = job.quiet;
        }
        // Skip episodes that were cleared with their group.
        if table.is_deleted(row) {
            continue;
        }
        if job.due > now {
            next = Some(next.map_or(job.due, |next| next.min(job.due)));
            continue;
        }
        due.push((id.clone(), job));
    }
    let candidate = |(session, job): (SessionId, EnrichJob)| {
        let hit = is_hit(&session);
        Candidate { session, job, hit }
    };
    let mut candidates: Vec<Candidate> = due.into_iter().map(candidate).collect();
    order(&mut candidates);
    DueEnrichments { due: candidates.into_iter().map(|it| (it.session, it.job.content)).collect(), next }
}

/// Limit of remembered sessions; with more the order would say little.
const REMEMBERED: usize = 4096;

/// The sessions found since the daemon started.
#[derive(Debug, Default)]
pub(super) struct Hits(Mutex<BTreeSet<SessionId>>);

impl Hits {
    /// Adds sessions that a question has found.
    pub(super) fn note(&self, sessions: impl Iterator<Item = SessionId>) {
        let mut hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            if hits.len() >= REMEMBERED {
                return;
            }
            hits.insert(session);
        }
    }

    /// True if a question has found the session.
    pub(super) fn contains(&self, session: &SessionId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}
