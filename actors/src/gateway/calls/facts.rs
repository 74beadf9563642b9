//! Facts of the memory.

use std::sync::Arc;

use baton_events::protocol::{FactsParams, Failure, answer};

use super::search::{Ready, asking, ready};
use super::{Ended, internal};
use crate::gateway::connection::Out;
use crate::gateway::{Services, graph, lazy, page, resolve};
use crate::memory::GraphQuery;

/// Facts that fit the words, best first; without words all, the most supported first.
pub(in crate::gateway) async fn facts(
    asked: FactsParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Facts, Ended> {
    let center = graph::center(asked.center.as_deref())?;
    let (offset, limit) = (page::offset(asked.cursor.as_deref())?, page::entries(asked.limit));
    let asking = asking(&asked.caller, &asked.query);
    let ask = lazy::Ask { project: None, all: asked.wait, asking: asking.as_ref() };
    let Ready { searcher, freshness } = ready(services, out, ask).await?;
    let table = services.table.borrow().clone();
    let groups = resolve::groups(&table, &asked.groups)?;
    let settings = services.settings.borrow().clone();
    let found = tokio::task::spawn_blocking(move || {
        let exclude = |id: &str| graph::hidden(&table, &settings, &groups, id);
        let broke = |error| internal("the search failed", error);
        if let Some(center) = center
            && !searcher.has_node(center, &exclude).map_err(broke)?
        {
            return Err(graph::no_center(center));
        }
        let query = GraphQuery { text: &asked.query, exclude: &exclude, labels: &[], center, limit, offset };
        let page = searcher.facts(&query).map_err(broke)?;
        Ok::<_, Failure>((page.found.into_iter().map(graph::fact).collect::<Vec<_>>(), page.more))
    });
    let (mut facts, more) = found.await.map_err(|error| internal("the search broke", error))??;
    let more = page::fitting(&mut facts) || more;
    let message = if facts.is_empty() { "No relevant facts found" } else { "Facts retrieved successfully" };
    let next_cursor = (more && !facts.is_empty()).then(|| page::after(offset + facts.len()));
    Ok(answer::Facts { message: message.to_owned(), facts, freshness, next_cursor })
}
