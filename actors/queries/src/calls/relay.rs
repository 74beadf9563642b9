//! `relay`: begins, joins and leaves a team; reports what is shared and what is pending.

use std::path::Path;
use std::sync::Arc;

use baton_config::configuration::Configuration;
use baton_conversation::record::SessionId;
use baton_protocol::{Failure, RelayParams, answer, code};
use baton_relay::{Error, MAX_NAME_BYTES, Team, is_name};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{QueryError, config, internal, result};
use crate::client::failure;
use crate::resolve;
use baton_views::catalog::Catalog;

/// Most entries of a log.
const MOST: u32 = 1000;

/// The parts that the method uses.
pub(crate) struct Relay<'a> {
    pub(crate) team: &'a Arc<Team>,
    pub(crate) configuration: &'a Arc<Configuration>,
    pub(crate) catalog: &'a Catalog,
}

impl Relay<'_> {
    pub(crate) async fn answer(&self, asked: RelayParams) -> Result<Box<RawValue>, QueryError> {
        match asked {
            RelayParams::Init { url, name } => {
                check_name(name.as_deref())?;
                let url = self.team.begin(&url).await.map_err(refused)?;
                self.connect(url, name).await
            }
            RelayParams::Join { invitation, folder, name } => {
                check_name(name.as_deref())?;
                let url = self.team.join(&invitation, folder.as_deref()).await.map_err(refused)?;
                self.connect(url, name).await
            }
            RelayParams::Invite {} => {
                result(&answer::RelayInvitation::from(self.team.invite().await.map_err(refused)?))
            }
            RelayParams::Leave {} => {
                self.team.leave().await.map_err(refused)?;
                let none: [(&[&str], Value); 3] = [
                    (&["relay", "enabled"], false.into()),
                    (&["relay", "url"], Value::Null),
                    (&["relay", "share"], Value::Array(Vec::new())),
                ];
                self.set(none.to_vec()).await?;
                self.status().await
            }
            RelayParams::Share { project, shared, retract, dry_run } => {
                self.share(&project, shared, retract, dry_run).await
            }
            RelayParams::Remove { writer } => {
                self.team.remove(&writer).await.map_err(refused)?;
                self.status().await
            }
            RelayParams::Forgotten {} => result(&self.team.removals()),
            RelayParams::Pause { paused } => {
                if self.catalog.settings.now().relay.url.is_none() {
                    let message = "this home belongs to no team; `baton relay init` begins one";
                    return Err(failure(code::REFUSED, message).into());
                }
                self.set(vec![(&["relay", "enabled"], (!paused).into())]).await?;
                self.status().await
            }
            RelayParams::Status {} => self.status().await,
            RelayParams::Preview { session: None } => {
                let team = self.team.clone();
                result(&blocking(move || Ok(team.sharing_totals(None))).await?)
            }
            RelayParams::Preview { session: Some(session) } => {
                let table = self.catalog.table.now();
                let id = resolve::known_session(&table, &session)
                    .ok_or_else(|| resolve::unknown_session(&table, &session))?;
                self.preview(id).await
            }
            RelayParams::Log { limit } => {
                let (team, limit) = (self.team.clone(), limit.clamp(1, MOST) as usize);
                result(&blocking(move || team.recently_published(limit)).await?)
            }
        }
    }

    /// Makes the daemon use a relay from now on. That shares nothing.
    async fn connect(&self, url: String, name: Option<String>) -> Result<Box<RawValue>, QueryError> {
        let mut values: Vec<(&'static [&'static str], Value)> = vec![(&["relay", "url"], url.into())];
        values.extend(name.map(|name| (&["relay", "name"] as &[&str], name.into())));
        values.push((&["relay", "enabled"], true.into()));
        self.set(values).await?;
        self.status().await
    }

    async fn share(
        &self,
        project: &str,
        shared: bool,
        retract: bool,
        dry_run: bool,
    ) -> Result<Box<RawValue>, QueryError> {
        let (table, settings) = self.catalog.now();
        // A project whose sessions are all gone can still be removed from the list.
        let is_listed = !shared && settings.relay.share.iter().any(|listed| listed == project);
        let project = if is_listed { project.to_owned() } else { resolve::project(&table, &settings, project)? };
        if settings.relay.url.is_none() && shared {
            let message = "this home belongs to no team yet; `baton relay init` begins one, `join` joins one";
            return Err(failure(code::REFUSED, message).into());
        }
        if shared && !Path::new(&project).is_absolute() {
            let message = format!("{project} is no directory of this machine; a project is shared by its directory");
            return Err(failure(code::REFUSED, message).into());
        }
        let above = settings.relay.share.iter().find(|it| **it != project && Path::new(&project).starts_with(it));
        if !shared && let Some(above) = above {
            let message = format!("{project} is shared as a part of {above}; `baton relay unshare {above}` stops that");
            return Err(failure(code::REFUSED, message).into());
        }
        let (team, of) = (self.team.clone(), project.clone());
        let mut preview = blocking(move || Ok(team.sharing_totals(Some(&of)))).await?;
        if !dry_run {
            let others = settings.relay.share.iter().filter(|known| **known != project).cloned();
            let share: Vec<String> = others.chain(shared.then(|| project.clone())).collect();
            self.set(vec![(&["relay", "share"], share.into())]).await?;
            tracing::info!(shared, "project shared with the team, or no longer");
            if retract && !shared {
                preview.retracted = self.team.retract_project(&project).await.map_err(refused)?;
            }
        }
        result(&preview)
    }

    async fn preview(&self, id: SessionId) -> Result<Box<RawValue>, QueryError> {
        let (team, table) = (self.team.clone(), self.catalog.table.now());
        result(&blocking(move || team.preview(&table, &id)).await?)
    }

    async fn status(&self) -> Result<Box<RawValue>, QueryError> {
        let team = self.team.clone();
        result(&blocking(move || Ok(team.status())).await?)
    }

    async fn set(&self, values: Vec<(&'static [&'static str], Value)>) -> Result<(), QueryError> {
        let configuration = self.configuration.clone();
        let writing = baton_base::task::spawn_blocking(move || configuration.set(&values));
        writing.await.map_err(|error| internal("writing the configuration broke", error))?.map_err(config::refused)
    }
}

/// Checks that others will accept a name.
fn check_name(name: Option<&str>) -> Result<(), Failure> {
    match name {
        Some(name) if !is_name(name) => {
            let message =
                format!("a name has 1 to {MAX_NAME_BYTES} bytes without control characters; give another with --name");
            Err(failure(code::REFUSED, message))
        }
        _ => Ok(()),
    }
}

fn refused(error: Error) -> Failure {
    let code = match &error {
        Error::Refused(_) => code::REFUSED,
        Error::Failed(_) => code::INTERNAL,
    };
    failure(code, error.to_string())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, QueryError> {
    let done = baton_base::task::spawn_blocking(work).await.map_err(|error| internal("the relay broke", error))?;
    Ok(done.map_err(refused)?)
}
