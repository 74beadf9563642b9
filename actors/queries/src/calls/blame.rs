//! `blame`: the sessions that changed or read a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_outcomes as outcomes;
use baton_protocol::{BlameParams, Failure, answer};

use super::QueryError;
use super::outcome_query::{Court, Heard, entries, judged, needed};
use crate::Services;
use crate::client::ClientRef;
use baton_memory::Selector;

/// Most sessions that are read.
const SESSIONS: usize = 400;
/// Most renames that are followed back.
const RENAMES: usize = 8;
/// Sessions listed by default.
const LISTED: usize = 10;

fn hear(court: &Court, keys: Option<&BTreeSet<String>>) -> Result<Heard, Failure> {
    let keys: Option<Vec<String>> = keys.map(|keys| keys.iter().cloned().collect());
    court.hear(keys.as_deref().map_or(Selector::All, Selector::Keys), court.project.as_deref(), SESSIONS)
}

/// A path relative to the caller's directory is resolved there, if any session knows it.
pub(crate) async fn blame(
    asked: BlameParams,
    services: &Arc<Services>,
    client: &ClientRef,
) -> Result<answer::Blame, QueryError> {
    let path = needed(&asked.path, "the path")?.to_owned();
    let limit = entries(asked.limit, LISTED);
    let directory = asked.caller.directory.clone();
    let judge = move |court: &Court| {
        let own = court.own.as_deref();
        let directory = directory.filter(|_| !path.starts_with(['/', '~']));
        let whole = directory.map(|directory| match path.trim_start_matches("./") {
            "" | "." => directory,
            below => format!("{}/{below}", directory.trim_end_matches('/')),
        });
        for asked in whole.iter().chain([&path]) {
            let keys = outcomes::blame_keys(asked).filter(|_| own != Some(asked.as_str()));
            let mut keys: Option<BTreeSet<String>> = keys.map(|keys| keys.into_iter().collect());
            let mut heard = hear(court, keys.as_ref())?;
            // The session that renamed the file knows its former name, under which other sessions know it.
            for _ in 0..RENAMES {
                let Some(known) = &mut keys else { break };
                let before = known.len();
                known.extend(outcomes::blame_former(asked, &heard.witnesses, own));
                if known.len() == before {
                    break;
                }
                heard = hear(court, Some(known))?;
            }
            let mut told = outcomes::blame(asked, &heard.witnesses, own, limit);
            if !told.sessions.is_empty() || *asked == path {
                told.more_sessions = told.more_sessions.saturating_add(heard.more);
                return Ok(court.entitled(told));
            }
        }
        Ok(answer::Blame::default())
    };
    let question = (asked.path.as_str(), asked.project.as_deref(), asked.wait);
    let (told, freshness) = judged(question, &asked.caller, services, client, judge).await?;
    Ok(answer::Blame { freshness, ..told })
}
