//! `sessions`: the session table.

use baton_views::visibility;

use baton_events::session::{Phase, State};
use baton_protocol::{SessionsParams, answer, code};

use super::{QueryError, internal};
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
) -> Result<answer::Sessions, QueryError> {
    if let Some(state) = &asked.state
        && !STATES.contains(&state.as_str())
    {
        let known = STATES.join(", ");
        return Err(failure(code::INVALID_PARAMS, format!("no state {state:?}; there are {known}")).into());
    }
    let unread = if discovery.check_transcripts().await { discovery.count_unread(progress).await } else { 0 };
    let (table, settings) = discovery.catalog.now();
    let project =
        asked.project.as_deref().map(|name| resolve::project_or_forgotten(&table, &settings, name)).transpose()?;
    let is_read = |state: &State| !state.is_subagent() && state.read.offset > 0;
    let done = table.iter().filter(|(_, row)| is_read(&row.state)).count() as u64;
    let reading = (unread > 0).then_some(answer::Reading { done, total: done + unread });
    let (rows, asked) = (rows.clone(), asked.clone());
    // The rows read notes from files.
    let listing = baton_base::task::spawn_blocking(move || {
        let wanted = |state: &State| {
            (asked.subagents || !state.is_subagent())
                && asked.state.as_deref().is_none_or(|name| is_so(state, name))
                && visibility::is_by(state, asked.agent)
                && project.as_deref().is_none_or(|project| visibility::is_in(state, project))
        };
        rows.list(&table, wanted).collect()
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
