//! `close`: an explicit close.

use std::time::Duration;

use baton_conversation::record::{CommandId, Position};
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::CloseReason;
use baton_protocol::{CloseParams, answer, code};
use baton_redaction::redact;
use uuid::Uuid;

use super::{QueryError, enrichment};
use crate::client::failure;
use crate::resolve::SessionResolver;
use crate::{answers, resolve};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_tracking::enricher::Enricher;
use baton_tracking::indexer;
use baton_tracking::session::{CloseCall, Closed, Outcome};

/// Longest id of a command, in bytes.
const COMMAND_ID_BYTES: usize = 128;

pub(crate) async fn close(
    asked: CloseParams,
    resolver: SessionResolver<'_>,
    indexer: &indexer::Handle,
    enricher: &Enricher,
) -> Result<answer::Close, QueryError> {
    let catalog = resolver.catalog();
    let id = match resolver.requested_session(asked.session.as_deref(), &asked.caller).await {
        Ok(id) => id,
        Err(failure) if failure.code == code::NOT_FOUND => {
            let message = failure.message;
            return Ok(answer::Close { status: "error".to_owned(), message, ..answer::Close::default() });
        }
        Err(failure) => return Err(failure.into()),
    };
    let is_new = catalog.table.now().get(&id).is_some_and(|row| row.state.is_unseen());
    let unread = if is_new { resolver.discovery.transcript_of_unseen(&id).await } else { Ok(None) };
    let nothing = match &unread {
        // Only its hook was called; its transcript is empty.
        Ok(None) if is_new => {
            Some(("success", format!("nothing is written in session {id} yet, so there is nothing to index")))
        }
        Err(error) => Some(("error", format!("session {id} not closed: its transcript was not looked for: {error}"))),
        Ok(_) => None,
    };
    if let Some((status, message)) = nothing {
        let (status, session_id) = (status.to_owned(), Some(id.to_string()));
        return Ok(answer::Close { status, session_id, episode_uuid: None, message });
    }
    let unread = unread.ok().flatten();
    if let Some(why) = catalog.stop_of(&id) {
        let episode_uuid =
            catalog.table.now().get(&id).and_then(|row| Some(shown_uuid(&catalog.table.now(), row)?.to_string()));
        let message = format!("session {id} not closed: {why}");
        let (status, session_id) = ("error".to_owned(), Some(id.to_string()));
        return Ok(answer::Close { status, session_id, episode_uuid, message });
    }
    let command = match &asked.command_id {
        Some(text) if text.len() > COMMAND_ID_BYTES => {
            let message = format!("a command id may have {COMMAND_ID_BYTES} bytes");
            return Err(failure(code::INVALID_PARAMS, message).into());
        }
        Some(text) => text.clone(),
        None => Uuid::new_v4().to_string(),
    };
    let note = asked.reason.as_deref().map(bounded_note).filter(|note| !note.is_empty());
    // An agent that closes its own session has yet to write the answer to this call and its last words.
    let by_self = resolve::own_session(&catalog.table.now(), &asked.caller).as_ref() == Some(&id);
    let call = CloseCall { reason: CloseReason::Explicit, note, by_self, command: CommandId::new(&command) };
    let deadline = Duration::from_millis(asked.deadline_ms).min(limits::CLOSE_DEADLINE);
    let closing = {
        let (supervisor, indexer, id) = (resolver.discovery.supervisor.clone(), indexer.clone(), id.clone());
        async move {
            let closed = supervisor.close(&id, unread, call, deadline).await?;
            let is_stored = matches!(closed.outcome, Outcome::Stored | Outcome::Replaced(_) | Outcome::Unchanged);
            if is_stored && let Some(why) = not_findable(&indexer, closed.position).await? {
                return Ok((closed, Some(why)));
            }
            Ok::<(Closed, Option<String>), CallError>((closed, None))
        }
    };
    // A task of its own: the close continues if the client stops waiting.
    let closed = match tokio::time::timeout(deadline, baton_base::task::spawn(closing)).await {
        Ok(closed) => closed.unwrap_or(Err(CallError::Gone)),
        Err(_) => Err(CallError::TimedOut),
    };
    let is_closed = closed.is_ok();
    let mut answer = match closed {
        Ok((closed, Some(why))) => answers::not_findable(&id, &closed, &why),
        closed => answers::close(&id, closed.map(|(closed, _)| closed)),
    };
    if is_closed && answer.status == "success" && answer.episode_uuid.is_some() {
        answer.message.push_str(&enrichment::close_suffix(catalog, enricher, &id));
    }
    let row = catalog.table.now().get(&id).cloned();
    if answer.episode_uuid.is_some() && row.is_some_and(|row| catalog.table.now().is_deleted(&row)) {
        answer.episode_uuid = None;
        let back = format!(
            "; that episode was deleted, and is not found until the session says something else; `baton forget --undo {id}` \
             lifts that"
        );
        answer.message.push_str(&back);
    }
    Ok(answer)
}

/// The uuid of a session's episode, if it may be shown.
fn shown_uuid(table: &SessionTable, row: &Row) -> Option<Uuid> {
    table.visible_episode(row).map(|episode| episode.uuid)
}

/// Waits without a deadline until searches cover `position`. Returns the reason if the memory cannot index it for the
/// time being.
async fn not_findable(indexer: &indexer::Handle, position: Position) -> Result<Option<String>, CallError> {
    loop {
        let troubled = indexer.memory_state().1;
        match (indexer.caught_up(position, limits::TROUBLED_CATCH_UP).await, troubled) {
            (Ok(_), _) => return Ok(None),
            (Err(_), Some(why)) => return Ok(Some(why)),
            (Err(CallError::TimedOut), None) => {}
            (Err(gone), None) => return Err(gone),
        }
    }
}

/// Redacts a text, and makes it one line of bounded length.
fn bounded_note(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    redact(&line.join(" ")).chars().take(limits::NOTE_CHARS).collect()
}
