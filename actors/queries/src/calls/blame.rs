//! `blame`: the sessions that changed or read a file.

use baton_outcomes as outcomes;
use baton_protocol::{BlameParams, Failure, answer};
use std::collections::BTreeSet;

use super::QueryError;
use super::outcome_query::{OutcomeSource, SessionOutcomes, answer_from_outcomes, entries, required_argument};
use crate::client::ClientRef;
use crate::lazy::FreshMemory;
use baton_memory::Selector;

/// Most sessions that are read.
const SESSIONS: usize = 400;
/// Most renames that are followed back.
const RENAMES: usize = 8;
/// Sessions listed by default.
const LISTED: usize = 10;

fn read_sessions(source: &OutcomeSource, keys: Option<&BTreeSet<String>>) -> Result<SessionOutcomes, Failure> {
    let keys: Option<Vec<String>> = keys.map(|keys| keys.iter().cloned().collect());
    source.read(keys.as_deref().map_or(Selector::All, Selector::Keys), source.project.as_deref(), None, SESSIONS)
}

/// A path relative to the caller's directory is resolved there, if any session knows it.
pub(crate) async fn blame(
    asked: BlameParams,
    memory: FreshMemory<'_>,
    client: &ClientRef,
) -> Result<answer::Blame, QueryError> {
    let path = required_argument(&asked.path, "the path")?.to_owned();
    let limit = entries(asked.limit, LISTED);
    let directory = asked.caller.directory.clone();
    let compute = move |source: &OutcomeSource| {
        let source = &source.including_others();
        let own = source.own.as_deref();
        let directory = directory.filter(|_| !path.starts_with(['/', '~']));
        let whole = directory.map(|directory| match path.trim_start_matches("./") {
            "" | "." => directory,
            below => format!("{}/{below}", directory.trim_end_matches('/')),
        });
        for asked in whole.iter().chain([&path]) {
            let keys = outcomes::blame_keys(asked).filter(|_| own != Some(asked.as_str()));
            let mut keys: Option<BTreeSet<String>> = keys.map(|keys| keys.into_iter().collect());
            let mut found = read_sessions(source, keys.as_ref())?;
            // The session that renamed the file knows its former name, under which other sessions know it.
            for _ in 0..RENAMES {
                let Some(known) = &mut keys else { break };
                let before = known.len();
                known.extend(outcomes::blame_former(asked, &found.witnesses, own));
                if known.len() == before {
                    break;
                }
                found = read_sessions(source, Some(known))?;
            }
            let mut blamed = outcomes::blame(asked, &found.witnesses, own, limit);
            if !blamed.sessions.is_empty() || *asked == path {
                blamed.more_sessions = blamed.more_sessions.saturating_add(found.more);
                return Ok(source.with_given_titles(blamed));
            }
        }
        Ok(answer::Blame::default())
    };
    let question = (asked.path.as_str(), asked.project.as_deref(), asked.wait);
    let (blamed, freshness) = answer_from_outcomes(question, &asked.caller, memory, client, compute).await?;
    Ok(answer::Blame { freshness, ..blamed })
}
