//! `update`: asks whether there is a newer version of the program.

use baton_config::settings::SettingsReader;
use baton_protocol::{UpdateParams, answer, code};
use baton_upkeep::newer_version;

use super::QueryError;
use crate::client::failure;

pub(crate) async fn update(asked: UpdateParams, settings: &SettingsReader) -> Result<answer::Update, QueryError> {
    let update = settings.now().update.clone();
    Ok(newer_version::check_version(&update, &asked.version)
        .await
        .map_err(|error| failure(code::REFUSED, error.to_string()))?)
}
