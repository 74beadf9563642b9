//! `how`: how a command is run, and with which outcome.

use baton_outcomes as outcomes;
use baton_outcomes::Witness;
use baton_protocol::{HowParams, answer};

use super::QueryError;
use super::outcome_query::{answer_from_outcomes, entries, required_argument};
use crate::client::ClientRef;
use crate::lazy::FreshMemory;
use baton_memory::Selector;

/// Most sessions that are read: enough runs to know every rate.
const SESSIONS: usize = 400;
/// Command lines listed by default.
const LINES: usize = 5;

/// Answers from the caller's own project if the command was ever run there, next to the others; else from all.
pub(crate) async fn how(
    asked: HowParams,
    memory: FreshMemory<'_>,
    client: &ClientRef,
) -> Result<answer::How, QueryError> {
    let command = required_argument(&asked.command, "the command")?.to_owned();
    let limit = entries(asked.limit, LINES);
    let compute = move |source: &super::outcome_query::OutcomeSource| {
        let keys = outcomes::how_keys(&command);
        let project = source.project.as_deref();
        let found = source.read(Selector::Keys(&keys), project, None, SESSIONS)?;
        let how = if let Some(own) = source.own.as_deref().filter(|_| project.is_none()) {
            let (mine, others): (Vec<Witness>, Vec<Witness>) =
                found.witnesses.into_iter().partition(|witness| witness.project.as_deref() == Some(own));
            let here = outcomes::how(&command, &mine, Some(own), limit);
            let elsewhere = outcomes::how(&command, &others, None, limit);
            match (here.runs.count, elsewhere.runs.count) {
                (0, _) => elsewhere,
                (_, 0) => here,
                _ => outcomes::with_other_projects(here, elsewhere.runs),
            }
        } else {
            outcomes::how(&command, &found.witnesses, project, limit)
        };
        Ok(outcomes::limited_to_newest(how, found.read, found.more))
    };
    let question = (asked.command.as_str(), asked.project.as_deref(), asked.wait);
    let (how, freshness) = answer_from_outcomes(question, &asked.caller, memory, client, compute).await?;
    Ok(answer::How { freshness, ..how })
}
