//! Deletes an episode, or clears groups.

use baton_events::projection::table::SessionTable;
use baton_events::session::Rejection;
use baton_protocol::{ClearGraphParams, Failure, UuidParams, answer, code};
use baton_redaction::redact;
use uuid::Uuid;

use super::forget::Wiper;
use super::memory::{not_recorded, parse_uuid, session_of, wait_findable, wipe_and_wait};
use super::{QueryError, cause, internal};
use crate::client::{ClientRef, failure};
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::{lazy, resolve};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_journal::session_table::TableReader;
use baton_memos::Memos;
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;

/// Most groups that an answer names.
const NAMED: usize = 8;

/// Deletes an episode: a session's until its content changes, a memo for good, with its words.
pub(crate) async fn episode(
    asked: UuidParams,
    table: &TableReader,
    supervisor: &supervisor::Handle,
    memos: &Memos,
    wiper: &Wiper,
) -> Result<answer::Deleted, QueryError> {
    let uuid = parse_uuid(&asked.uuid)?;
    let cause = cause(asked.command_id.as_deref());
    if table.now().memo_row(uuid).is_some() {
        let deleted = memos.delete(uuid, cause).await.map_err(|error| not_recorded(&error))?;
        let after = wipe_and_wait(wiper, uuid, deleted.position).await.unwrap_or_default();
        return Ok(answer::Deleted { message: format!("Episode with UUID {uuid} deleted successfully{after}") });
    }
    let Some(session) = session_of(&table.now(), uuid) else { return Err(unknown(&table.now(), uuid).into()) };
    let switch = Switch::DeleteEpisode { episode: uuid };
    let switched = supervisor.switch(&session, switch, limits::SESSION_CALL).await;
    match switched.map_err(|error| not_answered(&error))? {
        Switched::Done { .. } => {}
        Switched::Refused(Rejection::WrongEpisode) => return Err(unknown(&table.now(), uuid).into()),
        Switched::Refused(rejection) => return Err(failure(code::NOT_FOUND, rejection.to_string()).into()),
        Switched::Stopped(stop) => return Err(failure(code::NOT_FOUND, stop.to_string()).into()),
        Switched::Failed { reason } => {
            return Err(failure(code::INTERNAL, format!("episode {uuid} not deleted: {reason}")).into());
        }
    }
    let position = table.now().position();
    let after = wait_findable(&wiper.indexer, position).await.unwrap_or_default();
    let message = format!(
        "Episode with UUID {uuid} deleted successfully: session {session} is found no more until it says something else{after}. \
         Its conversation stays stored: `baton forget --undo {session}`, a person's command, has it found again, `baton forget \
         {session}` removes it"
    );
    Ok(answer::Deleted { message })
}

fn not_answered(error: &CallError) -> Failure {
    internal("the session did not answer", error)
}

fn unknown(table: &SessionTable, uuid: Uuid) -> Failure {
    let newer = table.iter().find(|(_, row)| row.state.deleted == Some(uuid));
    let message = match newer {
        Some((session, _)) => {
            format!(
                "episode {uuid} of session {session} is deleted already; `baton forget --undo {session}` lifts that"
            )
        }
        None => {
            format!("no episode {uuid} is known; get_episodes lists what there is, a replaced one has another uuid")
        }
    };
    failure(code::NOT_FOUND, message)
}

/// Clears what the groups hold now. Without `confirm`, only reports what that is.
pub(crate) async fn clear(
    asked: ClearGraphParams,
    memory: FreshMemory<'_>,
    memos: &Memos,
    client: &ClientRef,
) -> Result<answer::ClearGraph, QueryError> {
    // What has been written by now is cleared too, indexed or not.
    let known = resolve::only_group(memory.catalog(), &asked.groups);
    let ask = lazy::Request { project: known.as_deref(), all: true, asking: None };
    let FreshSearcher { freshness, .. } = memory.searcher(client, ask).await?;
    let (table, settings) = memory.catalog().now();
    let groups = resolve::groups(&table, &settings, &asked.groups)?;
    let (sessions, notes) = count_visible(&table, &groups);
    let named = match groups.as_slice() {
        [] => "all groups".to_owned(),
        groups => {
            let more = if groups.len() > NAMED { ", …" } else { "" };
            format!("{}{more}", redact(&groups[..groups.len().min(NAMED)].join(", ")))
        }
    };
    let what = format!("{sessions} episodes of sessions and {notes} notes and facts that were added");
    let unread = unread(&freshness);
    let group_ids = groups.iter().map(|group| redact(group).into_owned()).collect();
    if !asked.confirm {
        let message = format!(
            "Nothing was cleared. {named}: {what} would be found no more, until sessions say something else{unread}; call again \
             with confirm=true to do it. Conversations would stay stored: `baton forget --project` removes those"
        );
        return Ok(answer::ClearGraph { message, group_ids, sessions, notes, cleared: false });
    }
    let cleared = memos.clear(&groups, cause(asked.command_id.as_deref())).await;
    let position = cleared.map_err(|error| not_recorded(&error))?;
    let after = wait_findable(memory.coverage.indexer, position).await.unwrap_or_default();
    let back = match groups.as_slice() {
        [group] => format!("--project={}", redact(group)),
        _ => "--all".to_owned(),
    };
    let message = format!(
        "Graph data cleared successfully for {named}: {what}{after}{unread}. Conversations and notes stay stored: `baton forget \
         --undo {back}`, a person's command, has all of it found again"
    );
    Ok(answer::ClearGraph { message, group_ids, sessions, notes, cleared: true })
}

/// A note on sessions that were still being read and may come back.
fn unread(freshness: &answer::Freshness) -> String {
    let failed = freshness.failed.len() as u64;
    match freshness.pending + failed {
        0 => String::new(),
        several => {
            let first: Vec<&str> =
                freshness.pending_sessions.iter().chain(&freshness.failed).map(String::as_str).collect();
            let named = if first.is_empty() { String::new() } else { format!(" ({})", first.join(", ")) };
            format!("; {several} sessions that are still to be read{named} are not among them")
        }
    }
}

/// Visible episodes and memos in these groups; without groups in all.
fn count_visible(table: &SessionTable, groups: &[String]) -> (u64, u64) {
    let is_meant = |group: Option<&str>| groups.is_empty() || group.is_some_and(|it| groups.iter().any(|g| g == it));
    let sessions =
        table.iter().filter(|(_, row)| is_meant(row.state.group_id()) && table.visible_episode(row).is_some()).count();
    let memos =
        table.memos().filter_map(|(uuid, _)| table.memo(uuid)).filter(|(_, it)| is_meant(Some(&it.group))).count();
    (sessions as u64, memos as u64)
}
