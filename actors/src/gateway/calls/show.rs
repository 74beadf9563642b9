//! One session and its episode.

use std::sync::Arc;

use baton_events::protocol::{Failure, ShowParams, answer};

use super::{Ended, internal};
use crate::gateway::{Services, answers, conversation, resolve};

pub(in crate::gateway) async fn show(asked: &ShowParams, services: &Arc<Services>) -> Result<answer::Show, Ended> {
    let id = resolve::session(services, &asked.session).await?;
    let Some(row) = services.table.borrow().get(&id).cloned() else {
        return Err(resolve::unknown(&services.table.borrow().clone(), id.as_str()).into());
    };
    let services = services.clone();
    // A row has a note, an episode its conversation: both are files.
    let read = tokio::task::spawn_blocking(move || {
        let shown = answers::row(&services, &id, &row.state);
        let Some(current) = row.state.episode.clone() else { return Ok(answer::Show { row: shown, episode: None }) };
        let (current, items) =
            conversation::of(&services, &id, current).map_err(|error| internal("the episode cannot be read", error))?;
        let episode = answers::episode(&services.settings.borrow().filtering, &id, &current, &items);
        Ok::<_, Failure>(answer::Show { row: shown, episode: Some(episode) })
    });
    Ok(read.await.map_err(|error| internal("reading the episode broke", error))??)
}
