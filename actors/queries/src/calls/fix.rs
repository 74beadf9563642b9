//! `fix`: what resolved an error.

use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_protocol::{FixParams, answer};
use baton_redaction::redact;

use super::QueryError;
use super::outcome_query::{entries, judged, needed};
use crate::Services;
use crate::client::ClientRef;
use baton_memory::Selector;

/// Most sessions that are read: those that contain the rarest words of the error.
const SESSIONS: usize = 200;
/// Failures listed by default.
const MATCHES: usize = 3;

/// Searches for the line that states the error; if nothing resembles it, for the whole text.
pub(crate) async fn fix(
    asked: FixParams,
    services: &Arc<Services>,
    client: &ClientRef,
) -> Result<answer::Fix, QueryError> {
    // Stored text is redacted, so the query must be redacted as well.
    let text = redact(needed(&asked.error, "the error")?).into_owned();
    let limit = entries(asked.limit, MATCHES);
    let judge = move |court: &super::outcome_query::Court| {
        let error = outcomes::FixQuery::read(&text);
        let look = |words: &str| {
            let heard = court.hear(Selector::Failure(words), court.project.as_deref(), SESSIONS)?;
            Ok(answer::Fix { more_sessions: heard.more, ..outcomes::fix(&error, &heard.witnesses, limit) })
        };
        let told: answer::Fix = look(&error.line)?;
        if told.matches.is_empty() { look(&text) } else { Ok(told) }
    };
    let question = (asked.error.as_str(), asked.project.as_deref(), asked.wait);
    let (told, freshness) = judged(question, &asked.caller, services, client, judge).await?;
    Ok(answer::Fix { freshness, ..told })
}
