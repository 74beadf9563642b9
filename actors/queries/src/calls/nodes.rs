//! `nodes`: entities of the memory.

use baton_graph::Label;
use baton_protocol::{NodesParams, answer, method};
use baton_redaction::redact;

use super::QueryError;
use super::graph_search::{Criteria, GraphSearch, ResultPage};
use super::vault::{RecallRecorder, Recalled};
use crate::lazy::FreshSearcher;
use crate::related_sessions::facts::FactLookup;
use crate::{graph, lazy, resolve};
use baton_memory::GraphQuery;

/// Entities that fit the words, best first; without words all of them, the best supported first.
pub(crate) async fn nodes(
    asked: NodesParams,
    search: GraphSearch<'_>,
    recalls: RecallRecorder<'_>,
) -> Result<answer::Nodes, QueryError> {
    let (labels, unknown) = labels(&asked.labels);
    let known = || Label::names();
    let unknown = match unknown.as_slice() {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("{:?}", redact(name))).collect();
            format!("; no entity is a {}, there are {}", names.join(" or "), known())
        }
    };
    // If all requested types are unknown, nothing fits.
    if labels.is_empty() && !unknown.is_empty() {
        let known = resolve::only_group(search.memory.catalog(), &asked.groups);
        let ask = lazy::Request { project: known.as_deref(), all: asked.wait, asking: None };
        let FreshSearcher { freshness, .. } = search.memory.searcher(search.client, ask).await?;
        let message = format!("No relevant nodes found{unknown}");
        return Ok(answer::Nodes { message, nodes: Vec::new(), freshness, next_cursor: None });
    }
    let (wanted, caller) = (Criteria { labels, ..Criteria::default() }, asked.caller.clone());
    let look = |lookup: &FactLookup, query: &GraphQuery<'_>| lookup.searcher.nodes(query);
    let found = search.search(method::NODES, asked, wanted, look, graph::node).await?;
    let ResultPage { entries: nodes, freshness, next_cursor } = found;
    let uuids = nodes.iter().filter_map(|node| node.uuid.parse().ok()).collect();
    recalls.record(&caller, Recalled::Nodes(uuids));
    let message = if nodes.is_empty() { "No relevant nodes found" } else { "Nodes retrieved successfully" };
    Ok(answer::Nodes { message: format!("{message}{unknown}"), nodes, freshness, next_cursor })
}

/// Names that other memory servers use for our labels.
const ALIASES: [(&str, &[Label]); 3] = [
    ("Document", &[Label::File, Label::Url]),
    ("Requirement", &[Label::Preference, Label::Topic]),
    ("Procedure", &[Label::Command, Label::Preference]),
];
/// Longest name of an unknown type that is repeated, in characters.
const NAME_CHARS: usize = 40;

/// Parses label names; returns the labels and the unknown names. Both are empty if all are wanted (no names, or
/// `Entity`).
fn labels(names: &[String]) -> (Vec<Label>, Vec<String>) {
    let (mut labels, mut unknown) = (Vec::new(), Vec::new());
    if names.iter().any(|name| name.eq_ignore_ascii_case("Entity")) {
        return (labels, unknown);
    }
    for name in names {
        let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map(|(_, labels)| *labels);
        match (Label::named(name), alias) {
            (Some(label), _) => labels.push(label),
            (None, Some(several)) => labels.extend(several),
            (None, None) => unknown.push(name.chars().take(NAME_CHARS).collect()),
        }
    }
    (labels, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_known_or_told_to_be_none() {
        let read = |names: &[&str]| labels(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let none = Vec::<String>::new();
        assert_eq!(read(&[]), (vec![], none.clone()));
        assert_eq!(read(&["file", "Error"]), (vec![Label::File, Label::Error], none.clone()));
        assert_eq!(read(&["File", "Entity"]), (vec![], none.clone()));
        assert_eq!(read(&["Document"]), (vec![Label::File, Label::Url], none));
        assert_eq!(read(&["Preference", "Person", "Location"]).1, ["Location"]);
        assert_eq!(read(&["Event"]), (vec![], vec!["Event".to_owned()]));
    }
}
