//! `show`: one session and its episode.

use std::sync::Arc;

use baton_protocol::{Failure, ShowParams, answer};

use super::{QueryError, internal};
use crate::conversation_summary;
use crate::conversation_summary::ConversationSummary;
use crate::family::Family;
use crate::{Services, answers, memo, resolve, usage};
use baton_store::model_answer::{current_answer, read_answer};

pub(crate) async fn show(asked: &ShowParams, services: &Arc<Services>) -> Result<answer::Show, QueryError> {
    if let Some((uuid, added)) = memo::find_visible(services, &asked.session) {
        let services = services.clone();
        let read = tokio::task::spawn_blocking(move || memo::show(&services, uuid, &added)).await;
        let read = read.map_err(|error| internal("reading the memo broke", error))?;
        return Ok(read.map_err(|error| internal("the memo cannot be read", error))?);
    }
    let id = resolve::find_session(services, &asked.session).await?;
    let table = services.table.now();
    let Some(row) = table.get(&id).cloned() else {
        return Err(resolve::unknown_session(&table, id.as_str()).into());
    };
    let services = services.clone();
    // The row reads a note, the episode reads its conversation: both are files.
    let read = tokio::task::spawn_blocking(move || {
        let mut shown = answers::row(&services, &id, &row.state);
        let (current, mut summary) = match table.shown(&row).cloned() {
            Some(current) => {
                let read = conversation_summary::summarise(&services, &id, current);
                let (current, summary) = read.map_err(|error| internal("the episode cannot be read", error))?;
                (Some(current), summary)
            }
            None => (None, ConversationSummary::default()),
        };
        // Without the memory the session is shown without its relatives.
        let settings = services.settings.now();
        let searcher = services.indexer.searcher().ok();
        let links = std::mem::take(&mut summary.links);
        let family = searcher.as_ref().and_then(|searcher| Family::find(&id, links, &table, &settings, searcher).ok());
        let related = family.as_ref().zip(searcher.as_ref());
        let relations = related
            .and_then(|(family, searcher)| family.relations(&row, &summary.calls, &services, &table, searcher).ok())
            .unwrap_or_default();
        let mut unread_lines = Vec::new();
        let (usage, episode) = match current {
            Some(current) => {
                let manifest = services.chunks.manifest(&id, &current.manifest);
                unread_lines = manifest.map(|manifest| manifest.header.unread).unwrap_or_default();
                let by = current_answer(&row.state, &current);
                if let (Some(by), Some(enrichment)) = (by, &mut shown.enrichment) {
                    enrichment.dropped_claims =
                        read_answer(&services.chunks, &id, &by).map_or(0, |answer| answer.dropped);
                }
                let usage = usage::session_usage(&services, &table, family.as_ref(), &summary.requests, summary.inside);
                let episode = answers::episode(&id, &current, summary.episode, &summary.numbers);
                (Some(usage), Some(episode))
            }
            None => (None, None),
        };
        Ok::<_, Failure>(answer::Show { row: shown, unread_lines, episode, usage, relations })
    });
    Ok(read.await.map_err(|error| internal("reading the episode broke", error))??)
}
