//! `sessions`: the session table.

use baton_views::visibility;
use std::sync::Arc;

use baton_events::session::{Phase, State};
use baton_protocol::{SessionsParams, answer, code};

use super::{QueryError, internal};
use crate::client::failure;
use crate::{Services, lazy, listing, resolve};

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

pub(crate) async fn sessions(asked: &SessionsParams, services: &Arc<Services>) -> Result<answer::Sessions, QueryError> {
    if let Some(state) = &asked.state
        && !STATES.contains(&state.as_str())
    {
        let known = STATES.join(", ");
        return Err(failure(code::INVALID_PARAMS, format!("no state {state:?}; there are {known}")).into());
    }
    let unread = if lazy::check_transcripts(services).await { lazy::count_unread(services).await } else { 0 };
    let table = services.table.now();
    let settings = services.settings.now();
    let project =
        asked.project.as_deref().map(|name| resolve::project_or_forgotten(&table, &settings, name)).transpose()?;
    let is_read = |state: &State| !state.is_subagent() && state.read.offset > 0;
    let done = table.iter().filter(|(_, row)| is_read(&row.state)).count() as u64;
    let reading = (unread > 0).then_some(answer::Reading { done, total: done + unread });
    let (services, asked) = (services.clone(), asked.clone());
    // The rows read notes from files.
    let rows = tokio::task::spawn_blocking(move || {
        listing::rows(&services, &table, |state| {
            (asked.subagents || !state.is_subagent())
                && asked.state.as_deref().is_none_or(|name| is_so(state, name))
                && project.as_deref().is_none_or(|project| visibility::is_in(state, project))
        })
    });
    let sessions = rows.await.map_err(|error| internal("reading the table broke", error))?;
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
