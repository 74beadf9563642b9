//! Rebuilds what is stored with the current filter and redaction rules. Calls no model, and closes no session.

use baton_views::visibility;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::{Position, SessionId};
use baton_events::session::State;
use baton_protocol::{ReindexParams, answer};
use tokio::task::JoinSet;

use super::QueryError;
use super::transcript_scan::with_progress;
use crate::client::ClientRef;
use crate::discovery::Discovery;
use crate::lazy::Coverage;
use crate::resolve::SessionResolver;
use crate::{SESSIONS_NAMED, resolve};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::transcript_file;
use baton_tracking::indexer;
use baton_tracking::session::{Closed, Outcome};
use baton_tracking::transcript_roots::Roots;
use baton_upkeep::rereading::reindex_session;
use baton_views::catalog::Catalog;

pub(crate) async fn reindex(
    asked: ReindexParams,
    resolver: SessionResolver<'_>,
    coverage: Coverage<'_>,
    client: &ClientRef,
) -> Result<answer::Reindex, QueryError> {
    let Discovery { catalog, supervisor, .. } = resolver.discovery;
    let chosen = choose(&asked, resolver, coverage.indexer).await?;
    let total = chosen.len() as u64;
    let done = AtomicU64::new(0);
    let mut sum = answer::Reindex { sessions: total, ..answer::Reindex::default() };
    let mut position = Position(0);
    let working = async {
        let mut waiting = chosen.into_iter();
        // Dropped with the call: sessions finish what has begun, and nothing more begins.
        let mut at_work = JoinSet::new();
        loop {
            while at_work.len() < limits::LAZY_AT_ONCE
                && let Some(id) = waiting.next()
            {
                let (table, supervisor) = (catalog.table.now(), supervisor.clone());
                at_work.spawn(async move {
                    let made = reindex_session(&table, &supervisor, &id).await;
                    (id, made)
                });
            }
            let Some(next) = at_work.join_next().await else { break };
            done.fetch_add(1, Ordering::Relaxed);
            let Ok((id, made)) = next else {
                sum.failures += 1;
                continue;
            };
            position = position.max(made.as_ref().map_or(Position(0), |made| made.position));
            count(&mut sum, &id, made);
        }
    };
    with_progress(client, "rebuilding sessions", || (done.load(Ordering::Relaxed), total), working).await?;
    coverage.catch_up(client, position, true).await?;
    sum.status = if sum.failures > 0 { "error" } else { "success" }.to_owned();
    sum.message = message(&sum);
    Ok(sum)
}

/// The requested sessions, the last active first: those that are named, of a project, or all; by default those whose
/// episode another filter made, or lacks lines that could not be read.
async fn choose(
    asked: &ReindexParams,
    resolver: SessionResolver<'_>,
    indexer: &indexer::Handle,
) -> Result<Vec<SessionId>, QueryError> {
    let mut chosen = Vec::new();
    for text in &asked.sessions {
        let id = resolver.find_session(text).await?;
        if !chosen.contains(&id) {
            chosen.push(id);
        }
    }
    if !asked.sessions.is_empty() {
        return Ok(chosen);
    }
    let (table, settings) = resolver.catalog().now();
    let project = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name)).transpose()?;
    let unread = indexer.unread();
    let is_meant = |id: &SessionId, state: &State| {
        let is_in = project.as_deref().is_none_or(|project| visibility::is_in(state, project));
        let is_older = !state.filter_is(settings.policy_for(state).filter_version) || unread.contains_key(id);
        is_in && state.episode.is_some() && (asked.all || project.is_some() || is_older)
    };
    let mut rows: Vec<_> = table.iter().filter(|(id, row)| is_meant(id, &row.state)).collect();
    rows.sort_by_key(|(id, row)| (std::cmp::Reverse(row.state.last_activity()), (*id).clone()));
    Ok(rows.into_iter().map(|(id, _)| id.clone()).collect())
}

fn count(sum: &mut answer::Reindex, id: &SessionId, made: Result<Closed, CallError>) {
    match made.map(|made| made.outcome) {
        Ok(Outcome::Stored | Outcome::Replaced(_)) => sum.reindexed += 1,
        Ok(Outcome::Unchanged) => sum.unchanged += 1,
        Ok(Outcome::Empty | Outcome::Gone | Outcome::Refused(_)) => sum.skipped += 1,
        _ => {
            sum.failures += 1;
            if sum.failed.len() < SESSIONS_NAMED {
                sum.failed.push(id.to_string());
            }
        }
    }
}

fn message(sum: &answer::Reindex) -> String {
    let mut message = match sum.sessions {
        0 => "nothing to rebuild: every episode uses the current filter (`--all` rebuilds all)".to_owned(),
        1 => "1 session was looked at".to_owned(),
        sessions => format!("{sessions} sessions were looked at"),
    };
    for (count, what) in [
        (sum.reindexed, "have a new episode"),
        (sum.unchanged, "unchanged"),
        (sum.skipped, "skipped: not tracked, or nothing left to rebuild from"),
        (sum.failures, "failed: their stored episodes stay in use, and `baton status` says why"),
    ] {
        if count > 0 {
            message.push_str(&format!("; {count} {what}"));
        }
    }
    message
}

/// Number of episodes made by another filter whose transcript still exists; without it there is nothing to filter
/// again. Looks at files.
pub(super) fn count_older_filter(catalog: &Catalog, roots: &Roots) -> u64 {
    let (table, settings) = catalog.now();
    // On a file system that hangs, each look would block a thread.
    let is_there = |path: &Path| !roots.is_hung(path) && transcript_file::exists(path);
    let is_older = |state: &State| {
        state.episode.is_some()
            && settings.may_read(state)
            && !state.filter_is(settings.policy_for(state).filter_version)
            && state.transcript.as_ref().is_some_and(|known| is_there(Path::new(&known.path)))
    };
    table.iter().filter(|(_, row)| is_older(&row.state)).count() as u64
}
