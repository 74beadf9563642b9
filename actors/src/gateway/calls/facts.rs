//! Facts of the memory.

use std::sync::Arc;

use baton_events::protocol::{FactsParams, NodesParams, answer, method};

use super::Ended;
use super::found::{Found, found};
use crate::gateway::connection::Out;
use crate::gateway::{Services, graph};
use crate::memory::Searcher;

/// Facts that fit the words, best first; without words all, the most supported first.
pub(in crate::gateway) async fn facts(
    asked: FactsParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Facts, Ended> {
    let FactsParams { query, groups, limit, center, wait, cursor, caller } = asked;
    let asked = NodesParams { query, groups, limit, center, labels: Vec::new(), wait, cursor, caller };
    let found = found(method::FACTS, asked, Vec::new(), services, out, Searcher::facts, graph::fact).await?;
    let Found { entries: facts, freshness, next_cursor } = found;
    let message = if facts.is_empty() { "No relevant facts found" } else { "Facts retrieved successfully" };
    Ok(answer::Facts { message: message.to_owned(), facts, freshness, next_cursor })
}
