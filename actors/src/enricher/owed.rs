//! What sessions owe, and in which order it is worked on.

use std::collections::BTreeMap;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::{Candidate, order};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Effect, EnrichJob, State, pending};

use baton_config::settings::Settings;

/// What is owed as of a moment.
pub(super) struct Owing {
    /// What is due, with its content, in the order in which to work on it.
    pub(super) due: Vec<(SessionId, ContentHash)>,
    /// When the next becomes due.
    pub(super) next: Option<Timestamp>,
}

/// What is to be asked about a session, if anything is owed of it and it may be read.
pub(super) fn job_of(settings: &Settings, state: &State) -> Option<EnrichJob> {
    // Most sessions owe nothing.
    state.enrichment()?.owed?;
    if !settings.reads(state) {
        return None;
    }
    let job = |effect| match effect {
        Effect::Enrich(job) => Some(job),
        _ => None,
    };
    pending(state, &settings.policy_for(state)).into_iter().find_map(job)
}

/// What all sessions owe. A pause until a moment that is forgiven is none. `is_hit` tells which of them questions have found.
pub(super) fn owing(
    table: &SessionTable,
    settings: &Settings,
    now: Timestamp,
    forgiven: &BTreeMap<SessionId, Timestamp>,
    is_hit: impl Fn(&SessionId) -> bool,
) -> Owing {
    let (mut due, mut next) = (Vec::new(), None::<Timestamp>);
    for (id, row) in table.enriching() {
        let Some(mut job) = job_of(settings, &row.state) else { continue };
        let pause = row.state.enrichment().and_then(|known| known.retry_at);
        if pause.is_some() && forgiven.get(id).copied() == pause {
            job.due = job.quiet;
        }
        // An episode that somebody has cleared with its group is found no more.
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
    Owing { due: candidates.into_iter().map(|it| (it.session, it.job.content)).collect(), next }
}
