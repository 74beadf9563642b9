//! What was added to a project goes with it, and does not come back: nobody has its words but we.

use std::sync::Arc;

use baton_events::memo;
use baton_events::protocol::ForgetParams;
use baton_events::record::SessionId;
use uuid::Uuid;

use crate::gateway::{Services, resolve};

/// What was added to the project that is to be forgotten, in the time that is meant.
pub(super) fn of_project(services: &Services, asked: &ForgetParams) -> Vec<Uuid> {
    let (table, settings) = (services.table.now(), services.settings.now());
    let named = asked.project.as_deref().or(asked.notes_of.as_deref());
    let Some(text) = named.filter(|_| !asked.undo) else { return Vec::new() };
    let Ok(project) = resolve::project(&table, &settings, text) else { return Vec::new() };
    let is_meant = |uuid: &Uuid| {
        let memo = table.memo_row(*uuid).and_then(|row| row.state.memo.as_ref());
        memo.is_some_and(|memo| memo.group == project && asked.before.is_none_or(|before| memo.at.0 < before))
    };
    table.memos().map(|(uuid, _)| uuid).filter(is_meant).collect()
}

/// Deletes them: the ids under which the memory's files may still have them.
pub(super) async fn delete(services: &Arc<Services>, notes: Vec<Uuid>, problems: &mut Vec<String>) -> Vec<SessionId> {
    let mut deleted = Vec::with_capacity(notes.len());
    for uuid in notes {
        match services.memos.delete(uuid, None).await {
            Ok(_) => deleted.push(memo::key(uuid)),
            Err(error) => problems.push(format!("note {uuid}: {error}")),
        }
    }
    deleted
}

/// ` and 2 notes`, or nothing.
pub(super) fn told(notes: u64) -> String {
    match notes {
        0 => String::new(),
        1 => " and 1 note".to_owned(),
        notes => format!(" and {notes} notes"),
    }
}
