//! The session table.

use std::sync::Arc;

use baton_events::protocol::{SessionsParams, answer, code};

use super::Ended;
use crate::gateway::connection::failure;
use crate::gateway::{Services, answers, lazy, resolve};

pub(in crate::gateway) async fn sessions(
    asked: &SessionsParams,
    services: &Arc<Services>,
) -> Result<answer::Sessions, Ended> {
    const STATES: [&str; 7] = ["active", "inactive", "unindexed", "indexing", "indexed", "failed", "forgotten"];
    if let Some(state) = &asked.state
        && !STATES.contains(&state.as_str())
    {
        let known = STATES.join(", ");
        return Err(failure(code::INVALID_PARAMS, format!("no state {state:?}; there are {known}")).into());
    }
    lazy::look(services).await;
    let table = services.table.borrow().clone();
    let project = asked.project.as_deref().map(|name| resolve::project(&table, name)).transpose()?;
    let mut rows: Vec<_> = table
        .iter()
        .filter(|(_, row)| asked.subagents || !row.state.is_subagent())
        .filter(|(_, row)| asked.state.as_deref().is_none_or(|state| row.state.phase.as_str() == state))
        .filter(|(_, row)| project.as_deref().is_none_or(|project| resolve::is_in(&row.state, project)))
        .collect();
    rows.sort_by_key(|(id, row)| (std::cmp::Reverse(row.state.last_activity()), (*id).clone()));
    Ok(answer::Sessions {
        sessions: rows.into_iter().map(|(id, row)| answers::row(services, id, &row.state)).collect(),
    })
}
