//! `sessions`: the session table.

use std::collections::BTreeSet;

use baton_ask::query::AskedAt;
use baton_conversation::record::{SessionId, Timestamp};
use baton_memory::Searcher;
use baton_views::conversation::title;
use baton_views::visibility;

use baton_events::session::{Phase, State};
use baton_protocol::{SessionsParams, answer, code};

use super::timeline::moment;
use super::{QueryError, internal};
use crate::answers::redact_plain;
use crate::client::failure;
use crate::discovery::Discovery;
use crate::listing::SessionRows;
use crate::resolve;
use baton_tracking::supervisor::Progress;
use tokio::sync::watch;

/// Accepted filters: states, and reasons why a session is not indexed.
const STATES: [&str; 11] = [
    "active",
    "inactive",
    "unindexed",
    "indexing",
    "indexed",
    "failed",
    "forgotten",
    "timeout_disabled",
    "empty",
    "gone",
    "untracked",
];

pub(crate) async fn sessions(
    asked: &SessionsParams,
    discovery: Discovery<'_>,
    rows: &SessionRows,
    progress: &watch::Receiver<Progress>,
    searcher: Option<Searcher>,
    now: Timestamp,
) -> Result<answer::Sessions, QueryError> {
    if let Some(state) = &asked.state
        && !STATES.contains(&state.as_str())
    {
        let known = STATES.join(", ");
        return Err(failure(code::INVALID_PARAMS, format!("no state {state:?}; there are {known}")).into());
    }
    let bound = |text: &Option<String>| {
        text.as_deref().map(|text| moment(text, AskedAt { now, zone: asked.caller.zone() })).transpose()
    };
    let (since, until) = (bound(&asked.since)?, bound(&asked.until)?);
    let unread =
        if !asked.stored && discovery.check_transcripts().await { discovery.count_unread(progress).await } else { 0 };
    let (table, settings) = discovery.catalog.including_others();
    let project =
        asked.project.as_deref().map(|name| resolve::project_or_forgotten(&table, &settings, name)).transpose()?;
    let is_read = |state: &State| !state.is_subagent() && state.read.offset > 0;
    let done = discovery.catalog.table.now().iter().filter(|(_, row)| is_read(&row.state)).count() as u64;
    let reading = (unread > 0).then_some(answer::Reading { done, total: done + unread });
    let (rows, asked) = (rows.clone(), asked.clone());
    // The rows read notes from files.
    let listing = baton_base::task::spawn_blocking(move || {
        let ids: BTreeSet<&str> = asked.ids.iter().map(String::as_str).collect();
        let wanted = |id: &SessionId, state: &State| {
            (ids.is_empty() || ids.contains(id.as_str()))
                && since.is_none_or(|since| state.last_activity() >= since)
                && until.is_none_or(|until| state.last_activity() < until)
                && (asked.subagents || !state.is_subagent())
                && asked.state.as_deref().is_none_or(|name| is_so(state, name))
                && visibility::is_from_agent(state, asked.agent)
                && asked.who.as_deref().is_none_or(|who| visibility::belongs_to(&table, id.as_str(), who))
                && project.as_deref().is_none_or(|project| visibility::is_in(state, project))
        };
        let limit = asked.limit.map_or(usize::MAX, |limit| limit as usize);
        let titled = |row: answer::Row| {
            let id = SessionId::new(&row.session_id);
            let title = searcher.as_ref().zip(id).and_then(|(searcher, id)| title(searcher, &table, &settings, &id));
            answer::Row { title: Some(title.as_deref().map(redact_plain).unwrap_or_default()), ..row }
        };
        rows.list(&table, asked.skip as usize, wanted).take(limit).map(titled).collect()
    });
    let sessions = listing.await.map_err(|error| internal("reading the table broke", error))?;
    Ok(answer::Sessions { sessions, reading })
}

fn is_so(state: &State, name: &str) -> bool {
    let why = match state.phase {
        Phase::Unindexed(why) => Some(why.to_string()),
        _ => None,
    };
    // Indexed or not: a search indexes an open session first.
    state.phase.as_str() == name || why.as_deref() == Some(name) || name == "active" && state.is_open()
}
