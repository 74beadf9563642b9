//! Entities of the memory.

use std::sync::Arc;

use baton_events::graph::Label;
use baton_events::protocol::{Failure, NodesParams, answer, code, method};

use super::Ended;
use super::found::{Found, Wanted, found};
use crate::gateway::connection::{Out, failure};
use crate::gateway::{Services, graph};
use crate::memory::Searcher;

/// Entities that fit the words, best first; without words all, the most supported first.
pub(in crate::gateway) async fn nodes(
    asked: NodesParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Nodes, Ended> {
    let wanted = Wanted { labels: labels(&asked.labels)?, ..Wanted::default() };
    let found = found(method::NODES, asked, wanted, services, out, Searcher::nodes, graph::node).await?;
    let Found { entries: nodes, freshness, next_cursor } = found;
    let message = if nodes.is_empty() { "No relevant nodes found" } else { "Nodes retrieved successfully" };
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
        let refused = read(&["Procedure"]).unwrap_err();
        assert_eq!(refused.code, code::INVALID_PARAMS);
        assert!(refused.message.contains("Package"), "{}", refused.message);
    }
}
