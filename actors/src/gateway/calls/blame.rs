//! Which sessions had to do with a file.

use std::sync::Arc;

use baton_events::outcomes;
use baton_events::protocol::{BlameParams, answer};

use super::Ended;
use super::witnesses::{entries, judged, needed};
use crate::gateway::Services;
use crate::gateway::connection::Out;
use crate::memory::By;

/// Most sessions that are read.
const SESSIONS: usize = 400;
/// Sessions that are listed unless others are asked for.
const LISTED: usize = 10;

/// A path that lies in the caller's directory is meant as it is there, if any session knows it so. One that is no file's is a
/// directory's.
pub(in crate::gateway) async fn blame(
    asked: BlameParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Blame, Ended> {
    let path = needed(&asked.path, "the path")?.to_owned();
    let limit = entries(asked.limit, LISTED);
    let directory = asked.caller.directory.clone();
    let judge = move |court: &super::witnesses::Court| {
        let keys = [outcomes::file_key(&path)];
        let heard = court.hear(By::Keys(&keys), court.project.as_deref(), SESSIONS)?;
        let own = court.own.as_deref();
        if let Some(directory) = directory.filter(|_| !path.starts_with(['/', '~'])) {
            let whole = format!("{}/{}", directory.trim_end_matches('/'), path.trim_start_matches("./"));
            let told = outcomes::blame(&whole, &heard.witnesses, own, limit);
            if !told.sessions.is_empty() {
                return Ok(court.entitled(told));
            }
        }
        let mut told = outcomes::blame(&path, &heard.witnesses, own, limit);
        told.more_sessions = told.more_sessions.saturating_add(heard.more);
        if path.ends_with('/') || (told.sessions.is_empty() && told.candidates.is_empty()) {
            // Directories are no keys: the newest sessions are looked through.
            let heard = court.hear(By::All, court.project.as_deref(), SESSIONS)?;
            let below = outcomes::blame_below(&path, &heard.witnesses, own, limit);
            if !below.sessions.is_empty() || !below.candidates.is_empty() {
                let more = below.more_sessions.saturating_add(heard.more);
                told = answer::Blame { more_sessions: more, ..below };
            }
        }
        Ok(court.entitled(told))
    };
    let question = (asked.path.as_str(), asked.project.as_deref(), asked.wait);
    let (told, freshness) = judged(question, &asked.caller, services, out, judge).await?;
    Ok(answer::Blame { freshness, ..told })
}
