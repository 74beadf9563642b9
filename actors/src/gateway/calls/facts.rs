//! Facts of the memory.

use std::slice;
use std::sync::Arc;

use baton_events::protocol::{FactsParams, Failure, answer, method};

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
    let texts: [&[String]; 3] = [slice::from_ref(&asked.query), &asked.groups, asked.center.as_slice()];
    let question = page::Question::new(method::FACTS, &texts);
    let (offset, limit) = (question.offset(asked.cursor.as_deref())?, page::entries(asked.limit));
    let asking = asking(&asked.caller, &asked.query);
    let known = resolve::only_group(services, &asked.groups);
    let ask = lazy::Ask { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
    let Ready { searcher, freshness } = ready(services, out, ask).await?;
    let table = services.table.borrow().clone();
    let settings = services.settings.borrow().clone();
    let groups = resolve::groups(&table, &settings, &asked.groups)?;
    let query = asked.query;
    let found = tokio::task::spawn_blocking(move || {
        let exclude = |id: &str| graph::hidden(&table, &settings, &groups, id);
        let broke = |error| internal("the search failed", error);
        if let Some(center) = center
            && !searcher.has_node(center, &exclude).map_err(broke)?
        {
            return Err(graph::no_center(center));
        }
        let asked = GraphQuery { text: &query, exclude: &exclude, labels: &[], center, limit, offset };
        let page = searcher.facts(&asked).map_err(broke)?;
        Ok::<_, Failure>((page.found.into_iter().map(graph::fact).collect::<Vec<_>>(), page.more))
    });
    let (mut facts, more) = found.await.map_err(|error| internal("the search broke", error))??;
    if let (Some(cursor), true) = (&asked.cursor, facts.is_empty()) {
        return Err(page::behind_the_end(cursor).into());
    }
    let more = page::fitting(&mut facts) || more;
    let message = if facts.is_empty() { "No relevant facts found" } else { "Facts retrieved successfully" };
    let next_cursor = (more && !facts.is_empty()).then(|| question.after(offset + facts.len()));
    Ok(answer::Facts { message: message.to_owned(), facts, freshness, next_cursor })
}
