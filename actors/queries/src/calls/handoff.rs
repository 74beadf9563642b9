//! `handoff`: the handoff of a project, for any caller.

use baton_views::visibility;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Phase, State};
use baton_protocol::{HandoffParams, answer, code};
use baton_redaction::redact;
use tokio::time::Instant;

use super::QueryError;
use crate::client::{ClientRef, failure};
use crate::handoff::Handoffs;
use crate::lazy::FreshMemory;
use crate::{SESSIONS_NAMED, handoff, lazy, resolve};
use baton_views::catalog::Catalog;

/// Longest wait for a session that is being indexed.
const WAIT: Duration = Duration::from_secs(10);

/// Runs the lazy step without the asking session, then returns the handoff of the requested project, or why there is
/// none. Not recorded.
pub(crate) async fn handoff(
    asked: HandoffParams,
    handoffs: &Arc<Handoffs>,
    memory: FreshMemory<'_>,
    client: &ClientRef,
) -> Result<answer::Handoff, QueryError> {
    let catalog = memory.catalog();
    let directory = asked.caller.directory.clone();
    let known = || {
        let (table, settings) = catalog.for_handoff();
        asked.project.as_deref().map(|name| resolve::project(&table, &settings, name))
    };
    let own = match (&asked.project, directory) {
        (None, None) => {
            let message = "which project? Give its directory; `baton sessions` lists what is known";
            return Err(failure(code::INVALID_PARAMS, message).into());
        }
        (None, Some(directory)) => {
            let table = catalog.table.now();
            let project = baton_base::task::spawn_blocking(move || baton_views::clones::project_of(&table, &directory));
            Some(project.await.map_err(|error| super::internal("resolving the directory broke", error))?)
        }
        (Some(_), _) => None,
    };
    let first = own.clone().or_else(|| known().and_then(Result::ok));
    let _asking = memory.throttle.begin_question();
    let asking = resolve::asking_session(&catalog.table.now(), &asked.caller, "");
    let ask = lazy::Request { project: first.as_deref(), all: false, asking: asking.as_ref() };
    memory.step(client, ask).await?;
    // A project whose first session has just begun is known only after the step.
    let project = match own {
        Some(own) => own,
        None => known().transpose()?.unwrap_or_default(),
    };
    let found = handoffs.project_handoff(&project, Instant::now() + WAIT).await;
    Ok(found.unwrap_or_else(|| no_handoff(catalog, memory.coverage.clock.now(), &project, asking.as_ref())))
}

/// The answer without a handoff: the reason and what to do.
fn no_handoff(catalog: &Catalog, now: Timestamp, project: &str, asking: Option<&SessionId>) -> answer::Handoff {
    let (table, settings) = catalog.now();
    let of_it = || {
        table.iter().filter(|(id, row)| {
            let state = &row.state;
            let is_other = asking != Some(*id);
            is_other && visibility::is_in(state, project) && !state.is_subagent() && !settings.excludes(state)
        })
    };
    let shown = |state: &State| !state.is_unseen() && state.phase != Phase::Forgotten;
    let known = of_it().filter(|(_, row)| shown(&row.state)).count();
    let runs = |state: &State| handoff::may_be_in_use(state, &settings.policy, now);
    let running: Vec<&SessionId> = of_it()
        .filter(|(_, row)| shown(&row.state) && runs(&row.state) && row.state.counts.messages > 0)
        .map(|(id, _)| id)
        .collect();
    let other = if asking.is_some() { "other " } else { "" };
    let message = match (known, running.as_slice()) {
        (0, _) => format!(
            "Nothing to hand over: no {other}session of {project} is known{}. `baton sessions` lists what is, `--project` takes \
             another project",
            baton_base::project::unresponsive_note(project)
        ),
        (_, []) => format!(
            "Nothing to hand over: in no session of {project} that is over was anything done, decided or left open. `baton \
             search` finds what was said"
        ),
        (_, [only]) => {
            format!(
                "Nothing to hand over: session {only} of {project} still runs. `baton close {}` ends it",
                table.short_id(only)
            )
        }
        (_, several) => {
            let named: Vec<String> =
                several.iter().take(SESSIONS_NAMED).map(|id| table.short_id(id).to_owned()).collect();
            let more = if several.len() > named.len() { ", …" } else { "" };
            format!(
                "Nothing to hand over: {} sessions of {project} still run: {}{more}. `baton close ID` ends one",
                several.len(),
                named.join(", ")
            )
        }
    };
    let clean = |text: &str| redact(text).into_owned();
    answer::Handoff { message: clean(&message), project: Some(clean(project)), ..answer::Handoff::default() }
}
