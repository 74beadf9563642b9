//! `fix`: what resolved an error, and what was said and done where its words occur.

mod accounts;

use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_protocol::{FixParams, answer};
use baton_redaction::redact;

use self::accounts::Accounts;
use super::QueryError;
use super::outcome_query::{answer_from_outcomes, entries, required_argument};
use crate::client::ClientRef;
use crate::lazy::FreshMemory;
use baton_memory::Selector;
use baton_views::conversation::Conversations;

/// Most sessions that are read: those that contain the rarest words of the error.
const SESSIONS: usize = 200;
/// Failures listed by default.
const MATCHES: usize = 3;

/// Searches for the line that states the error; if nothing resembles it, for the whole text. If the failure itself is
/// not recorded, the sessions that have its words are read.
pub(crate) async fn fix(
    asked: FixParams,
    memory: FreshMemory<'_>,
    conversations: &Arc<Conversations>,
    client: &ClientRef,
) -> Result<answer::Fix, QueryError> {
    // Stored text is redacted, so the query must be redacted as well.
    let text = redact(required_argument(&asked.error, "the error")?).into_owned();
    let limit = entries(asked.limit, MATCHES);
    let conversations = conversations.clone();
    let compute = move |source: &super::outcome_query::OutcomeSource| {
        let error = outcomes::FixQuery::read(&text);
        let look = |words: &str| {
            let found = source.read(Selector::Failure(words), source.project.as_deref(), None, SESSIONS)?;
            Ok(answer::Fix { more_sessions: found.more, ..outcomes::fix(&error, &found.witnesses, limit) })
        };
        let mut found: answer::Fix = look(&error.line)?;
        if found.matches.is_empty() {
            found = look(&text)?;
        }
        let accounts = Accounts { source, conversations: &conversations };
        found.matches.iter_mut().for_each(|known| accounts.complete(known));
        if (!error.is_general() || error.has_words()) && !found.matches.iter().any(|known| known.same) {
            found = outcomes::with_accounts(found, accounts.find(&error, &text, limit)?);
        }
        Ok(found)
    };
    let question = (asked.error.as_str(), asked.project.as_deref(), asked.wait);
    let (found, freshness) = answer_from_outcomes(question, &asked.caller, memory, client, compute).await?;
    Ok(outcomes::summary(answer::Fix { freshness, ..found }))
}
