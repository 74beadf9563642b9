//! Episodes, newest first.

use std::cmp::Reverse;
use std::sync::Arc;

use baton_events::digest;
use baton_events::projection::table::Row;
use baton_events::protocol::{EpisodesParams, Failure, answer};
use baton_events::record::SessionId;
use baton_events::redact::redact;
use baton_events::session::EpisodeRef;

use super::search::{Ready, asking, ready};
use super::{Ended, internal};
use crate::gateway::connection::Out;
use crate::gateway::{Services, conversation, graph, lazy, page, resolve};

/// What stands at the end of an episode that is too long for an answer.
const CUT: &str = "\n… cut; `baton show` has the whole";

/// The order of episodes: end of the session, then its id. The key of the last one given is the cursor.
type Key = (Reverse<i64>, SessionId);

/// The episodes of the wanted groups, those of the latest sessions first.
pub(in crate::gateway) async fn episodes(
    asked: EpisodesParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Episodes, Ended> {
    let behind = asked.cursor.as_deref().map(key).transpose()?;
    let asking = asking(&asked.caller, "");
    let ask = lazy::Ask { project: None, all: asked.wait, asking: asking.as_ref() };
    let Ready { freshness, .. } = ready(services, out, ask).await?;
    let table = services.table.borrow().clone();
    let groups = resolve::groups(&table, &asked.groups)?;
    let settings = services.settings.borrow().clone();
    let reading = services.clone();
    let limit = page::entries(asked.limit);
    let found = tokio::task::spawn_blocking(move || {
        let mut listed: Vec<(Key, Arc<Row>)> = table
            .iter()
            .filter(|(id, row)| row.state.episode.is_some() && !graph::hidden(&table, &settings, &groups, id.as_str()))
            .map(|(id, row)| (key_of(id, row), row.clone()))
            .filter(|(key, _)| behind.as_ref().is_none_or(|behind| key > behind))
            .collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut episodes: Vec<(Key, answer::EpisodeEntry)> = Vec::new();
        let (mut bytes, mut more) = (0, false);
        for (key, row) in listed {
            if episodes.len() == limit {
                more = true;
                break;
            }
            // What was forgotten or cannot be read since the table was taken is no episode any more.
            let Some(entry) = entry(&reading, &key.1, &row) else { continue };
            bytes += serde_json::to_vec(&entry).map_or(0, |json| json.len());
            if bytes > page::PAGE_BYTES && !episodes.is_empty() {
                more = true;
                break;
            }
            episodes.push((key, entry));
        }
        let next = episodes.last().filter(|_| more).map(|((end, id), _)| format!("e{}.{id}", end.0));
        (episodes.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>(), next)
    });
    let (episodes, next_cursor) = found.await.map_err(|error| internal("reading the episodes broke", error))?;
    let message = if episodes.is_empty() { "No episodes found" } else { "Episodes retrieved successfully" };
    Ok(answer::Episodes { message: message.to_owned(), episodes, freshness, next_cursor })
}

fn key_of(id: &SessionId, row: &Row) -> Key {
    (Reverse(row.state.last_conversation_at.map_or(i64::MIN, |at| at.0)), id.clone())
}

/// The key that a cursor names.
fn key(cursor: &str) -> Result<Key, Failure> {
    let parts = cursor.strip_prefix('e').and_then(|rest| rest.split_once('.'));
    let read = parts.and_then(|(end, id)| Some((Reverse(end.parse().ok()?), SessionId::new(id)?)));
    read.ok_or_else(|| page::unknown(cursor))
}

/// An episode with its text. None when the session has none any more, or its conversation cannot be read.
fn entry(services: &Services, id: &SessionId, row: &Row) -> Option<answer::EpisodeEntry> {
    let state = &row.state;
    let current = state.episode.as_ref()?;
    match conversation::of(services, id, current.clone()) {
        Ok((current, items)) => {
            let episode = digest::digest(&items, &services.settings.borrow().filtering);
            Some(written(id, row, &current, &episode.content()))
        }
        Err(error) => {
            tracing::warn!(session = %id, %error, "episode not readable, left out of the list");
            None
        }
    }
}

fn written(id: &SessionId, row: &Row, current: &EpisodeRef, content: &str) -> answer::EpisodeEntry {
    let state = &row.state;
    let agent = state.transcript.as_ref().map_or("claude_code", |transcript| transcript.agent.as_str());
    let project = state.place.as_ref().map_or("an unknown project", |place| place.project.as_str());
    answer::EpisodeEntry {
        uuid: current.uuid.to_string(),
        name: format!("session_{}", id.short()),
        content: bounded(redact(content).into_owned()),
        created_at: state.last_conversation_at.map(|at| at.to_string()),
        source: format!("{agent}_jsonl"),
        source_description: redact(&format!("Session from {project}")).into_owned(),
        group_id: state.group_id().map(|group| redact(group).into_owned()),
    }
}

/// The text within what one answer may hold, its quotes and line ends escaped included.
fn bounded(content: String) -> String {
    const MOST: usize = page::PAGE_BYTES / 2;
    if content.len() <= MOST {
        return content;
    }
    let mut end = MOST;
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &content[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_the_key_of_the_last_one() {
        let id = SessionId::new("7acd37a8.x").unwrap();
        assert_eq!(key("e-5.7acd37a8.x").unwrap(), (Reverse(-5), id));
        for wrong in ["", "e", "e5", "e5.", "5.a", "ex.a", "n20"] {
            assert!(key(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_long_episode_is_cut_inside_no_character() {
        assert_eq!(bounded("short".to_owned()), "short");
        let cut = bounded("語".repeat(page::PAGE_BYTES));
        assert!(cut.ends_with(CUT) && cut.len() <= page::PAGE_BYTES / 2 + CUT.len(), "{}", cut.len());
    }
}
