//! Entities of the memory.

use std::slice;
use std::sync::Arc;

use baton_events::graph::Label;
use baton_events::protocol::{Failure, NodesParams, answer, code, method};

use super::search::{Ready, asking, ready};
use super::{Ended, internal};
use crate::gateway::connection::{Out, failure};
use crate::gateway::{Services, graph, lazy, page, resolve};
use crate::memory::GraphQuery;

/// Entities that fit the words, best first; without words all, the most supported first.
pub(in crate::gateway) async fn nodes(
    asked: NodesParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Nodes, Ended> {
    let labels = labels(&asked.labels)?;
    let center = graph::center(asked.center.as_deref())?;
    let texts: [&[String]; 4] = [slice::from_ref(&asked.query), &asked.groups, &asked.labels, asked.center.as_slice()];
    let question = page::Question::new(method::NODES, &texts);
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
        let asked = GraphQuery { text: &query, exclude: &exclude, labels: &labels, center, limit, offset };
        let page = searcher.nodes(&asked).map_err(broke)?;
        Ok::<_, Failure>((page.found.into_iter().map(graph::node).collect::<Vec<_>>(), page.more))
    });
    let (mut nodes, more) = found.await.map_err(|error| internal("the search broke", error))??;
    if let (Some(cursor), true) = (&asked.cursor, nodes.is_empty()) {
        return Err(page::behind_the_end(cursor).into());
    }
    let more = page::fitting(&mut nodes) || more;
    let message = if nodes.is_empty() { "No relevant nodes found" } else { "Nodes retrieved successfully" };
    let next_cursor = (more && !nodes.is_empty()).then(|| question.after(offset + nodes.len()));
    Ok(answer::Nodes { message: message.to_owned(), nodes, freshness, next_cursor })
}

/// The labels of names; none when there are no names, or when all are wanted: `Entity`.
fn labels(names: &[String]) -> Result<Vec<Label>, Failure> {
    if names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case("Entity")) {
        return Ok(Vec::new());
    }
    let parse = |name: &String| {
        Label::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Label::ALL.iter().map(|label| label.as_str()).collect();
            failure(code::INVALID_PARAMS, format!("no entity type {name:?}; there are {}", known.join(", ")))
        })
    };
    names.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_known_or_refused() {
        let read = |names: &[&str]| labels(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(read(&[]).unwrap(), []);
        assert_eq!(read(&["file", "Error"]).unwrap(), [Label::File, Label::Error]);
        assert_eq!(read(&["File", "Entity"]).unwrap(), []);
        let refused = read(&["Preference"]).unwrap_err();
        assert_eq!(refused.code, code::INVALID_PARAMS);
        assert!(refused.message.contains("Package"), "{}", refused.message);
    }
}
