//! What made an error go away.

use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_protocol::{FixParams, answer};
use baton_redaction::redact;

use super::QueryError;
use super::outcome_query::{entries, judged, needed};
use crate::Services;
use crate::client::Out;
use baton_memory::Selector;

/// Most sessions that are read: those with the rarest words of the error.
const SESSIONS: usize = 200;
/// Failures that are listed unless others are asked for.
const MATCHES: usize = 3;

/// Looks for the line that tells what went wrong; only if nothing is like it for all that was given.
pub(crate) async fn fix(asked: FixParams, services: &Arc<Services>, out: &Out) -> Result<answer::Fix, QueryError> {
    // What is stored is redacted: so must be what is compared with it.
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
    let (told, freshness) = judged(question, &asked.caller, services, out, judge).await?;
    Ok(answer::Fix { freshness, ..told })
}
