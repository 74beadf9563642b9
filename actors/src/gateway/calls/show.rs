//! One session and its episode.

use std::sync::Arc;

use baton_events::digest::{Metadata, digest};
use baton_events::protocol::{Failure, ShowParams, answer};

use super::{Ended, internal};
use crate::gateway::family::Family;
use crate::gateway::{Services, answers, conversation, memo, resolve, titles, usage};

pub(in crate::gateway) async fn show(asked: &ShowParams, services: &Arc<Services>) -> Result<answer::Show, Ended> {
    if let Some((uuid, added)) = memo::meant(services, &asked.session) {
        let services = services.clone();
        let read = tokio::task::spawn_blocking(move || memo::show(&services, uuid, &added)).await;
        let read = read.map_err(|error| internal("reading what was added broke", error))?;
        return Ok(read.map_err(|error| internal("what was added cannot be read", error))?);
    }
    let id = resolve::session(services, &asked.session).await?;
    let table = services.table.now();
    let Some(row) = table.get(&id).cloned() else {
        return Err(resolve::unknown(&table, id.as_str()).into());
    };
    let services = services.clone();
    // A row has a note, an episode its conversation: both are files.
    let read = tokio::task::spawn_blocking(move || {
        let shown = answers::row(&services, &id, &row.state);
        let (current, items) = match table.shown(&row).cloned() {
            Some(current) => {
                let read = conversation::of(&services, &id, current);
                let (current, items) = read.map_err(|error| internal("the episode cannot be read", error))?;
                (Some(current), items)
            }
            None => (None, Vec::new()),
        };
        // Without the memory a session is shown all the same, without its family.
        let settings = services.settings.now();
        let searcher = services.indexer.searcher().ok();
        let family = searcher.as_ref().and_then(|searcher| Family::of(&id, &items, &table, &settings, searcher).ok());
        let related = family.as_ref().zip(searcher.as_ref());
        let relations = related
            .and_then(|(family, searcher)| family.relations(&row, &items, &services, &table, searcher).ok())
            .unwrap_or_default();
        let episode = current.as_ref().map(|current| {
            let (mut episode, numbers) = (digest(&items, &settings.filtering), Metadata::of(&items, current.to));
            titles::entitle(&services, &id, &mut episode);
            answers::episode(&id, current, episode, &numbers)
        });
        let usage = current.as_ref().map(|_| usage::of(&services, &table, family.as_ref(), &items));
        Ok::<_, Failure>(answer::Show { row: shown, episode, usage, relations })
    });
    Ok(read.await.map_err(|error| internal("reading the episode broke", error))??)
}
