//! `patterns`: what is done repeatedly.

use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_outcomes::Format;
use baton_protocol::{PatternsParams, answer, code};

use super::QueryError;
use super::outcome_query::{entries, judged};
use crate::Services;
use crate::client::{ClientRef, failure};
use baton_memory::Selector;

/// Most sessions that are read, the newest first.
const SESSIONS: usize = 2_000;
/// Entries of each kind listed by default.
const ENTRIES: usize = 8;

/// Answers from the caller's own project if anything is known of it, else from all.
pub(crate) async fn patterns(
    asked: PatternsParams,
    services: &Arc<Services>,
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
    let judge = move |court: &super::outcome_query::Court| {
        let mut project = court.project.as_deref().or(court.own.as_deref());
        let mut heard = court.hear(Selector::All, project, SESSIONS)?;
        if heard.witnesses.is_empty() && court.project.is_none() {
            project = None;
            heard = court.hear(Selector::All, None, SESSIONS)?;
        }
        let told = outcomes::patterns(&heard.witnesses, project, limit, format);
        Ok(answer::Patterns { more_sessions: heard.more, ..told })
    };
    let (told, freshness) =
        judged(("", asked.project.as_deref(), asked.wait), &asked.caller, services, client, judge).await?;
    Ok(answer::Patterns { freshness, ..told })
}
