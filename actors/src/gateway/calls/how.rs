//! How a command is run, and how that ends.

use std::sync::Arc;

use baton_events::outcomes;
use baton_events::protocol::{HowParams, answer};

use super::Ended;
use super::witnesses::{entries, judged, needed};
use crate::gateway::Services;
use crate::gateway::connection::Out;
use crate::memory::By;

/// Most sessions that are read: with as many runs every rate is known.
const SESSIONS: usize = 400;
/// Lines that are listed unless others are asked for.
const LINES: usize = 5;

/// The caller's own project answers if the command was ever run there, else all do.
pub(in crate::gateway) async fn how(
    asked: HowParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::How, Ended> {
    let command = needed(&asked.command, "the command")?.to_owned();
    let limit = entries(asked.limit, LINES);
    let judge = move |court: &super::witnesses::Court| {
        let keys = outcomes::how_keys(&command);
        if court.project.is_none()
            && let Some(own) = court.own.as_deref()
        {
            let heard = court.hear(By::Keys(&keys), Some(own), SESSIONS)?;
            let told = outcomes::how(&command, &heard.witnesses, Some(own), limit);
            if told.runs.count > 0 {
                return Ok(told);
            }
        }
        let project = court.project.as_deref();
        let heard = court.hear(By::Keys(&keys), project, SESSIONS)?;
        Ok(outcomes::how(&command, &heard.witnesses, project, limit))
    };
    let question = (asked.command.as_str(), asked.project.as_deref(), asked.wait);
    let (told, freshness) = judged(question, &asked.caller, services, out, judge).await?;
    Ok(answer::How { freshness, ..told })
}
