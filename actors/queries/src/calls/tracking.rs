//! Shows or sets the tracking switches.

use baton_views::{clones, visibility};
use std::path::Path;
use std::sync::Arc;

use baton_events::projection::table::SessionTable;
use baton_protocol::{Failure, TrackingParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, config, internal};
use crate::client::failure;
use crate::discovery::Discovery;
use crate::listing::SessionRows;
use crate::resolve;
use crate::resolve::SessionResolver;
use baton_base::project;
use baton_config::configuration::Configuration;
use baton_config::settings::Settings;
use baton_config::settings::pattern::escaped;

/// Most open sessions that are listed; `active_sessions` counts all.
const LISTED: usize = 500;

/// Returns one session as a list shows it.
pub(crate) async fn session(
    text: &str,
    resolver: SessionResolver<'_>,
    rows: SessionRows,
) -> Result<answer::Row, QueryError> {
    let id = resolver.find_session(text).await?;
    let table = resolver.catalog().table.now();
    let Some(row) = table.get(&id).cloned() else {
        return Err(resolve::unknown_session(&table, text).into());
    };
    // The note is read from a file.
    let reading = baton_base::task::spawn_blocking(move || rows.row(&table, &id, &row.state));
    Ok(reading.await.map_err(|error| internal("reading the session's row broke", error))?)
}

pub(crate) async fn tracking(
    asked: TrackingParams,
    discovery: Discovery<'_>,
    configuration: &Arc<Configuration>,
) -> Result<answer::Tracking, QueryError> {
    let table = discovery.catalog.table.now();
    if let Some((is_read, project)) = asked.stores.zip(asked.project.clone()) {
        let configuration = configuration.clone();
        let writing = baton_base::task::spawn_blocking(move || configuration.read_stores_in(&project, is_read));
        writing.await.map_err(|error| internal("writing the configuration broke", error))?.map_err(config::refused)?;
    } else if let Some(enabled) = asked.enabled {
        let settings = discovery.catalog.settings.now();
        let project = asked.project.as_deref().map(|text| parse_switch_target(&table, &settings, text)).transpose()?;
        let project = project.map(|meant| match meant {
            SwitchTarget::Project(path) => escaped(&path),
            SwitchTarget::Glob(glob) => glob,
        });
        let configuration = configuration.clone();
        let writing = baton_base::task::spawn_blocking(move || match project {
            Some(project) => configuration.enable_project(&project, enabled),
            None => configuration.enable(enabled),
        });
        writing.await.map_err(|error| internal("writing the configuration broke", error))?.map_err(config::refused)?;
        tracing::info!(enabled, project = asked.project.is_some(), "tracking switched");
    }
    discovery.check_transcripts().await;
    let table = discovery.catalog.table.now();
    let settings = discovery.catalog.settings.now();
    // A caller who has just switched a project off wants to see what is still tracked.
    let project = match asked.project.as_ref().filter(|_| asked.enabled.is_none()) {
        Some(text) => Some(resolve::project(&table, &settings, text).or_else(|_| {
            parse_switch_target(&table, &settings, text).map(|meant| match meant {
                SwitchTarget::Project(text) | SwitchTarget::Glob(text) => text,
            })
        })?),
        None => None,
    };
    let mut open: Vec<_> = table
        .iter()
        .map(|(id, row)| (id, &row.state))
        .filter(|(_, state)| !state.is_subagent() && state.is_open() && settings.policy_for(state).tracked)
        .filter(|(_, state)| project.as_deref().is_none_or(|project| visibility::is_in(state, project)))
        .collect();
    open.sort_by_key(|(id, state)| (std::cmp::Reverse(state.last_activity()), (*id).clone()));
    Ok(answer::Tracking {
        global_enabled: settings.policy.tracked,
        active_sessions: open.len() as u64,
        sessions: open
            .into_iter()
            .take(LISTED)
            .map(|(id, state)| answer::TrackedSession {
                session_id: id.to_string(),
                project_root: state.place.as_ref().map(|place| redact(&place.project).into_owned()),
                last_activity: state.last_conversation_at.map(|at| at.to_string()),
            })
            .collect(),
        projects: settings.switches.projects().map(|(pattern, on)| (redact(pattern).into_owned(), on)).collect(),
        exclude: settings.switches.exclude().map(|pattern| redact(pattern).into_owned()).collect(),
    })
}

/// The meaning of a switch's text.
enum SwitchTarget {
    /// A directory, however it is written.
    Project(String),
    /// A glob as written.
    Glob(String),
}

/// A known project, a directory, or else a glob: the name of a directory may look like a glob.
fn parse_switch_target(table: &SessionTable, settings: &Settings, text: &str) -> Result<SwitchTarget, Failure> {
    let is_known = || table.iter().any(|(_, row)| row.state.place.as_ref().is_some_and(|place| place.project == text));
    if text.contains(['*', '?', '[']) && !is_known() && !(Path::new(text).is_absolute() && project::is_directory(text))
    {
        return Ok(SwitchTarget::Glob(text.to_owned()));
    }
    match resolve::project(table, settings, text) {
        Ok(project) => Ok(SwitchTarget::Project(project)),
        // A directory in which no session has worked yet.
        Err(_) if Path::new(text).is_absolute() => Ok(SwitchTarget::Project(clones::project_of(table, text))),
        Err(unknown) => Err(failure(code::NOT_FOUND, format!("{}; give its directory", unknown.message))),
    }
}
