//! `enrich`: enriches sessions now, on request of a person.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::prices;
use baton_events::session::UNSEEN_STEP;
use baton_events::session::{CloseReason, Phase, State, last_sign};
use baton_protocol::{EnrichParams, Progress, answer, code};
use tokio::task::JoinSet;

use super::transcript_scan::with_kinds_of_progress;
use super::{QueryError, enrichment};
use crate::SESSIONS_NAMED;
use crate::client::{ClientRef, failure};
use crate::discovery::Discovery;
use crate::lazy::Coverage;
use crate::resolve::SessionResolver;
use baton_base::limits;
use baton_config::settings::{Llm, Settings};
use baton_events::projection::table::SessionTable;
use baton_journal::session_table::TableReader;
use baton_tracking::enricher::{Allowance, By, Done, Enricher, Outcome};
use baton_tracking::session::CloseCall;
use baton_tracking::supervisor;
use baton_views::catalog::Catalog;

/// Consecutive failures of the endpoint after which the rest is not tried.
const FAILURES: u64 = 3;

pub(crate) async fn enrich(
    asked: EnrichParams,
    resolver: SessionResolver<'_>,
    coverage: Coverage<'_>,
    enricher: &Arc<Enricher>,
    client: &ClientRef,
) -> Result<answer::Enrich, QueryError> {
    let Discovery { catalog, supervisor, .. } = resolver.discovery;
    if catalog.settings.now().llm.is_none() {
        let message = "no model is switched on, and nothing is sent anywhere: set llm.enabled to true in config.json, and \
                       llm.base_url where it is not OpenAI's";
        return Err(failure(code::REFUSED, message).into());
    }
    if asked.max_usd.is_some_and(|usd| !(0.0..=1e6).contains(&usd)) {
        return Err(failure(code::INVALID_PARAMS, "max_usd is a number of US dollars from 0 to 1000000").into());
    }
    let allowance = asked.max_usd.map(|usd| Arc::new(Allowance::new(usd)));
    let (chosen, by) = match asked.all {
        true => (all_to_enrich(catalog, coverage.clock.now()), By::All(allowance)),
        false => {
            let id = resolver.requested_session(asked.session.as_deref(), &asked.caller).await?;
            (vec![id], By::One(allowance))
        }
    };
    let mut sum = answer::Enrich { sessions: chosen.len() as u64, ..answer::Enrich::default() };
    let (total, done, nanos) = (sum.sessions, AtomicU64::new(0), AtomicU64::new(0));
    let progress = || Progress {
        what: format!("enriching, {}", prices::usd(nanos.load(Ordering::Relaxed))),
        done: done.load(Ordering::Relaxed),
        total,
    };
    let working = async {
        let (mut waiting, mut failures) = (VecDeque::from(chosen), 0);
        // Dropped with the call: nothing more begins.
        let mut at_work = JoinSet::new();
        // True if the budget has no room for another one beside those in progress.
        let mut is_crowded = false;
        loop {
            let most = catalog.settings.now().llm.as_ref().map_or(1, |llm| llm.max_concurrency);
            while at_work.len() < most
                && failures < FAILURES
                && !is_crowded
                && let Some(id) = waiting.pop_front()
            {
                let work = SessionWork {
                    table: catalog.table.clone(),
                    supervisor: supervisor.clone(),
                    enricher: enricher.clone(),
                };
                let by = by.clone();
                // One that has begun is finished, even if the client disconnects.
                let work = baton_base::task::spawn(async move {
                    let done = work.enrich(&id, &by).await;
                    (id, done)
                });
                at_work.spawn(work);
            }
            let Some(next) = at_work.join_next().await else { break };
            let next = next.ok().and_then(Result::ok);
            if let Some((id, done)) = &next
                && matches!(done.outcome, Outcome::OverBudget { is_of_session: false, .. })
                && (done.calls, at_work.is_empty()) == (0, false)
            {
                // Calls reserve their estimated cost, and release what they do not use.
                waiting.push_front(id.clone());
                is_crowded = true;
                continue;
            }
            is_crowded = false;
            done.fetch_add(1, Ordering::Relaxed);
            let Some((id, done)) = next else {
                sum.failures += 1;
                continue;
            };
            nanos.fetch_add(done.nanos, Ordering::Relaxed);
            failures = match done.outcome {
                Outcome::Failed { is_of_endpoint: true, .. } => failures + 1,
                _ => 0,
            };
            count(&mut sum, &catalog.table.now(), &id, done);
        }
        waiting.len() as u64
    };
    let left = with_kinds_of_progress(client, progress, working).await?;
    sum.usd = super::enrichment::dollars(nanos.load(Ordering::Relaxed));
    let position = catalog.table.now().position();
    coverage.catch_up(client, if sum.enriched > 0 { position } else { Position(0) }, true).await?;
    sum.status = if sum.failures > 0 { "error" } else { "success" }.to_owned();
    sum.message = message(&sum, left, catalog.settings.now().llm.as_ref());
    Ok(sum)
}

/// All sessions with an episode that no model has enriched, the last active first. Subagents are covered by their
/// parents.
fn all_to_enrich(catalog: &Catalog, now: Timestamp) -> Vec<SessionId> {
    let (table, settings) = catalog.now();
    let is_meant = |row: &baton_events::projection::table::Row| {
        let state = &row.state;
        // A session in use would be paid for twice, so it must have ended or be idle.
        let is_left = state.end.is_some() || is_idle(state, &settings, now);
        is_left
            && table.visible_episode(row).is_some()
            && state.enriched_by().is_none()
            && !state.is_subagent()
            && settings.may_read(state)
    };
    let mut rows: Vec<_> = table.iter().filter(|(_, row)| is_meant(row)).collect();
    rows.sort_by_key(|(id, row)| (std::cmp::Reverse(row.state.last_activity()), (*id).clone()));
    rows.into_iter().map(|(id, _)| id.clone()).collect()
}

/// Returns true if the session was idle for as long as ends or abandons one.
fn is_idle(state: &State, settings: &Settings, now: Timestamp) -> bool {
    let policy = settings.policy_for(state);
    let idle_ms = if policy.timeout_disabled() { policy.abandoned_after_ms } else { policy.inactivity_timeout_ms };
    last_sign(state, &policy).plus_ms(idle_ms) <= now
}

/// What enriches one session.
struct SessionWork {
    table: TableReader,
    supervisor: supervisor::Handle,
    enricher: Arc<Enricher>,
}

impl SessionWork {
    /// Indexes new content first, then enriches.
    async fn enrich(&self, id: &SessionId, by: &By) -> Done {
        let state = self.table.now().get(id).map(|row| (row.state.phase, row.state.unindexed));
        if !matches!(state, Some((Phase::Indexed, 0))) {
            let indexed =
                self.supervisor.close(id, None, CloseCall::new(CloseReason::Sync), limits::CLOSE_DEADLINE).await;
            if let Err(error) = indexed {
                let why = format!("it was not indexed first: {error}");
                return Done::none(Outcome::Failed { why, is_of_endpoint: false });
            }
        }
        self.enricher.enrich(id, by).await
    }
}

fn count(sum: &mut answer::Enrich, table: &SessionTable, id: &SessionId, done: Done) {
    (sum.calls, sum.unknown_calls) = (sum.calls + done.calls, sum.unknown_calls + done.unknown);
    let mut name = |why: String| {
        if sum.failed.len() < SESSIONS_NAMED {
            sum.failed.push(answer::EnrichFailure { session_id: id.to_string(), why });
        }
    };
    match done.outcome {
        Outcome::Enriched => {
            sum.enriched += 1;
            sum.dropped_claims += done.dropped;
            unseen(sum, table, id);
        }
        Outcome::Unchanged => {
            sum.unchanged += 1;
            unseen(sum, table, id);
        }
        Outcome::OverBudget { why, next_step, .. } => {
            name(format!("{why}; {next_step}{}", remaining_state_note(table, id, &why)));
            sum.over_budget += 1;
        }
        Outcome::Nothing { why } => {
            name(why.to_owned());
            sum.failures += 1;
        }
        Outcome::GivenUp { why } | Outcome::Failed { why, .. } => {
            name(format!("{why}{}", remaining_state_note(table, id, &why)));
            sum.failures += 1;
        }
    }
}

/// A note on the state of a session that was not enriched, in addition to `stated`.
fn remaining_state_note(table: &SessionTable, id: &SessionId, stated: &str) -> String {
    let Some(state) = table.get(id).map(|row| &row.state) else { return String::new() };
    let kept = state.enriched_by().map_or("", |_| "; what a model made of it before stays");
    let owed = state.enrichment().filter(|known| known.owed.is_some());
    let is_stated = stated.contains("tried again by itself");
    let stays = if is_stated { "; it stays owed" } else { "; it stays owed, and is tried again by itself" };
    format!("{kept}{}", owed.map_or("", |_| stays))
}

/// Counts the parts of a session that were not sent to the model.
fn unseen(sum: &mut answer::Enrich, table: &SessionTable, id: &SessionId) {
    if let Some(by) = table.get(id).and_then(|row| row.state.enriched_by()) {
        (sum.unseen, sum.not_held) = (sum.unseen + by.unseen, sum.not_held + by.not_held);
    }
}

fn message(sum: &answer::Enrich, left: u64, llm: Option<&Llm>) -> String {
    let counts = [
        (sum.enriched, "enriched"),
        (sum.unchanged, "enriched before, and not changed since"),
        (sum.over_budget, "over budget"),
        (sum.failures, "not enriched, see why"),
        (left, "not tried, because the endpoint failed: `baton status` says what to do"),
    ];
    let mut message = match sum.sessions {
        0 => "nothing to do: every session that has ended and has an episode is enriched".to_owned(),
        // For a single session no number is needed.
        1 => {
            let what = counts.iter().find(|(count, _)| *count > 0).map_or("not enriched", |(_, what)| what);
            format!("the session is {what}")
        }
        sessions => {
            let texts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
            format!("of {sessions} sessions {}", texts.collect::<Vec<_>>().join("; "))
        }
    };
    if sum.dropped_claims > 0 {
        let claims = enrichment::counted(sum.dropped_claims, "claim");
        message.push_str(&format!("; {claims} dropped: the lines that they name are not there"));
    }
    let left_out = sum.unseen.saturating_sub(sum.not_held);
    if left_out > 0 {
        let messages = enrichment::counted(left_out, "message");
        message.push_str(&format!("; {messages} between beginning and end not sent: {UNSEEN_STEP}"));
    }
    if sum.not_held > 0 {
        let messages = enrichment::counted(sum.not_held, "message");
        message.push_str(&format!("; {messages} not sent: the conversation exceeds the size limit"));
    }
    match sum.calls {
        0 if sum.sessions > 0 => message.push_str("; no model was asked"),
        0 => {}
        calls => message.push_str(&format!("; {}, {:.6} USD", enrichment::counted(calls, "call"), sum.usd)),
    }
    if sum.unknown_calls > 0 {
        message.push_str(&format!(" at most, {} of them of unknown cost", sum.unknown_calls));
    }
    if let Some((what, fix)) = llm.and_then(Llm::answer_room_warning) {
        message.push_str(&format!("; {what}; {fix}"));
    }
    message
}
