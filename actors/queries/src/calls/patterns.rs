//! `patterns`: what is done repeatedly.

use baton_outcomes as outcomes;
use baton_outcomes::Format;
use baton_protocol::{PatternsParams, answer, code};

use super::QueryError;
use super::outcome_query::{answer_from_outcomes, entries};
use crate::client::{ClientRef, failure};
use crate::lazy::FreshMemory;
use baton_memory::Selector;

/// Most sessions that are read, the newest first.
const SESSIONS: usize = 2_000;
/// Entries of each kind listed by default.
const ENTRIES: usize = 8;

/// Answers from the caller's own project if anything is known of it, else from all.
pub(crate) async fn patterns(
    asked: PatternsParams,
    memory: FreshMemory<'_>,
    client: &ClientRef,
) -> Result<answer::Patterns, QueryError> {
    let format = match asked.format.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        None => None,
        Some(name) => {
            let unknown = || failure(code::INVALID_PARAMS, format!("no format {name:?}; there are mermaid and dot"));
            Some(Format::parse(name).ok_or_else(unknown)?)
        }
    };
    let limit = entries(asked.limit, ENTRIES);
    let judge = move |source: &super::outcome_query::OutcomeSource| {
        let mut project = source.project.as_deref().or(source.own.as_deref());
        let mut found = source.read(Selector::Commands, project, asked.agent, SESSIONS)?;
        if found.witnesses.is_empty() && source.project.is_none() {
            project = None;
            found = source.read(Selector::Commands, None, asked.agent, SESSIONS)?;
        }
        let patterns = outcomes::patterns(&found.witnesses, project, limit, format);
        let pairs = if asked.pairs { outcomes::pairs(&found.witnesses, limit) } else { Vec::new() };
        let agent = asked.agent.map(|agent| agent.as_str().to_owned());
        Ok(answer::Patterns { more_sessions: found.more, agent, pairs, ..patterns })
    };
    let (patterns, freshness) =
        answer_from_outcomes(("", asked.project.as_deref(), asked.wait), &asked.caller, memory, client, judge).await?;
    Ok(answer::Patterns { freshness, ..patterns })
}
