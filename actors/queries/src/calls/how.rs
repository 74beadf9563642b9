//! `how`: how a command is run, and with which outcome.

use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_outcomes::Witness;
use baton_protocol::{HowParams, answer};

use super::QueryError;
use super::outcome_query::{entries, judged, needed};
use crate::Services;
use crate::client::ClientRef;
use baton_memory::Selector;

/// Most sessions that are read: enough runs to know every rate.
const SESSIONS: usize = 400;
/// Command lines listed by default.
const LINES: usize = 5;

/// Answers from the caller's own project if the command was ever run there, next to the others; else from all.
pub(crate) async fn how(
    asked: HowParams,
    services: &Arc<Services>,
    client: &ClientRef,
) -> Result<answer::How, QueryError> {
    let command = needed(&asked.command, "the command")?.to_owned();
    let limit = entries(asked.limit, LINES);
    let judge = move |court: &super::outcome_query::Court| {
        let keys = outcomes::how_keys(&command);
        let project = court.project.as_deref();
        let heard = court.hear(Selector::Keys(&keys), project, SESSIONS)?;
        let told = if let Some(own) = court.own.as_deref().filter(|_| project.is_none()) {
            let (mine, others): (Vec<Witness>, Vec<Witness>) =
                heard.witnesses.into_iter().partition(|witness| witness.project.as_deref() == Some(own));
            let told = outcomes::how(&command, &mine, Some(own), limit);
            let elsewhere = outcomes::how(&command, &others, None, limit);
            match (told.runs.count, elsewhere.runs.count) {
                (0, _) => elsewhere,
                (_, 0) => told,
                _ => outcomes::with_other_projects(told, elsewhere.runs),
            }
        } else {
            outcomes::how(&command, &heard.witnesses, project, limit)
        };
        Ok(outcomes::of_newest(told, heard.read, heard.more))
    };
    let question = (asked.command.as_str(), asked.project.as_deref(), asked.wait);
    let (told, freshness) = judged(question, &asked.caller, services, client, judge).await?;
    Ok(answer::How { freshness, ..told })
}
