//! `projects`: all projects with their sessions.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::table::{Row, SessionTable};
use baton_protocol::{ProjectsParams, answer};
use baton_redaction::redact;

use super::outcome_query::entries;
use super::{QueryError, internal, timeline};
use crate::client::ClientRef;
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::{graph, lazy, resolve};
use baton_config::settings::Settings;
use baton_views::conversation::Conversations;

/// Projects listed by default.
const LISTED: usize = 40;

/// The sessions that count for a project, or for all: visible ones with messages, without subagents'.
pub(super) fn sessions<'t>(
    table: &'t SessionTable,
    settings: &'t Settings,
    groups: &'t [String],
) -> impl Iterator<Item = (&'t SessionId, &'t Arc<Row>)> {
    table.iter().filter(move |(id, row)| {
        !row.state.is_subagent()
            && row.state.counts.messages > 0
            && !graph::is_hidden(table, settings, groups, id.as_str())
    })
}

/// The agents of sessions, the one with the most sessions first.
pub(super) fn agents<'t>(rows: impl Iterator<Item = &'t Row>) -> Vec<answer::AgentCount> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for transcript in rows.filter_map(|row| row.state.transcript.as_ref()) {
        *counts.entry(transcript.agent.as_str()).or_default() += 1;
    }
    let mut agents: Vec<answer::AgentCount> =
        counts.into_iter().map(|(agent, sessions)| answer::AgentCount { agent: agent.to_owned(), sessions }).collect();
    agents.sort_by_key(|one| Reverse(one.sessions));
    agents
}

/// Projects, latest activity first. A session counts for the project of its directory.
pub(crate) async fn projects(
    asked: ProjectsParams,
    memory: FreshMemory<'_>,
    conversations: &Arc<Conversations>,
    client: &ClientRef,
) -> Result<answer::Projects, QueryError> {
    let asking = resolve::asking_session(&memory.catalog().table.now(), &asked.caller, "");
    let ask = lazy::Request { project: None, all: asked.wait, asking: asking.as_ref() };
    let FreshSearcher { freshness, .. } = memory.searcher(client, ask).await?;
    let (table, settings) = memory.catalog().now();
    let (conversations, limit) = (conversations.clone(), entries(asked.limit, LISTED));
    let reading = baton_base::task::spawn_blocking(move || {
        let mut known: BTreeMap<&str, Vec<(&SessionId, &Row)>> = BTreeMap::new();
        let mut without = 0;
        for (id, row) in sessions(&table, &settings, &[]) {
            match &row.state.place {
                Some(place) => known.entry(&place.project).or_default().push((id, row.as_ref())),
                None => without += 1,
            }
        }
        for sessions in known.values_mut() {
            sessions.sort_by_key(|(id, row)| (Reverse(row.state.last_activity()), *id));
        }
        let mut all: Vec<(&str, Vec<(&SessionId, &Row)>)> = known.into_iter().collect();
        all.sort_by_key(|(_, sessions)| Reverse(sessions.first().map(|(_, row)| row.state.last_activity())));
        let more = all.len().saturating_sub(limit);
        all.truncate(limit);
        let told = |(project, sessions): (&str, Vec<(&SessionId, &Row)>)| {
            let latest = sessions.first();
            let episode =
                latest.and_then(|(id, row)| timeline::episode_of(&conversations, &settings.filtering, id, row));
            let open = episode.map(|episode| episode.unresolved.len() + episode.next_steps.len());
            answer::ProjectRow {
                project: redact(project).into_owned(),
                sessions: number(sessions.len()),
                active: number(sessions.iter().filter(|(_, row)| row.state.is_open()).count()),
                last_at: latest.map(|(_, row)| row.state.last_activity().to_string()),
                agents: agents(sessions.iter().map(|(_, row)| *row)),
                open: open.map(number),
            }
        };
        let projects = all.into_iter().map(told).collect();
        answer::Projects { projects, more: number(more), without_project: without, freshness }
    });
    Ok(reading.await.map_err(|error| internal("reading the projects broke", error))?)
}

/// A count as the integer type of answers.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
