//! Memos are forgotten with their project, and cannot be restored: no other copy of their words exists.

use baton_conversation::record::SessionId;
use baton_events::memo::key;
use baton_events::projection::table::SessionTable;
use baton_protocol::ForgetParams;
use uuid::Uuid;

use super::earlier_attempt::EarlierAttempt;
use crate::{memo, resolve};
use baton_journal::session_table::TableReader;
use baton_memos::Memos;
use baton_views::catalog::Catalog;

/// Memos of the project to be forgotten, in the given time.
pub(super) fn of_project(catalog: &Catalog, asked: &ForgetParams) -> Vec<Uuid> {
    let (table, settings) = catalog.now();
    let named = asked.project.as_deref().or(asked.notes_of.as_deref());
    let Some(text) = named.filter(|_| !asked.undo) else { return Vec::new() };
    let Ok(project) = resolve::project(&table, &settings, text) else { return Vec::new() };
    let is_meant = |uuid: &Uuid| {
        let memo = table.memo_row(*uuid).and_then(|row| row.state.memo.as_ref());
        memo.is_some_and(|memo| memo.group == project && asked.before.is_none_or(|before| memo.at.0 < before))
    };
    table.memos().map(|(uuid, _)| uuid).filter(is_meant).collect()
}

/// Memos that are named individually, and the names of other things.
pub(super) fn named(table: &SessionTable, asked: &ForgetParams, earlier: &EarlierAttempt) -> (Vec<Uuid>, Vec<String>) {
    let mut notes = Vec::new();
    let others = asked.sessions.iter().filter(|text| match memo_of(table, text, earlier) {
        Some(uuid) => {
            if !notes.contains(&uuid) {
                notes.push(uuid);
            }
            false
        }
        None => true,
    });
    let others = others.cloned().collect();
    (notes, others)
}

/// A memo that is not deleted yet, cleared or not, or was deleted by this call.
fn memo_of(table: &SessionTable, text: &str, earlier: &EarlierAttempt) -> Option<Uuid> {
    let uuid = memo::find(table, text)?;
    let is_there = table.memo_row(uuid).is_some_and(|row| row.state.memo.is_some());
    (is_there || earlier.notes.contains(&uuid)).then_some(uuid)
}

/// Deletes the memos. Returns the ids under which the files of the memory may still have them. One that this call
/// deleted before and that was added again since stays.
pub(super) async fn delete(
    memos: &Memos,
    table: &TableReader,
    notes: Vec<Uuid>,
    earlier: &EarlierAttempt,
    problems: &mut Vec<String>,
) -> Vec<SessionId> {
    let mut deleted = Vec::with_capacity(notes.len());
    for uuid in notes {
        if earlier.notes.contains(&uuid) && table.now().memo_row(uuid).is_some_and(|row| row.state.memo.is_some()) {
            continue;
        }
        match memos.delete(uuid, earlier.cause.clone()).await {
            Ok(_) => deleted.push(key(uuid)),
            Err(error) => problems.push(format!("note {uuid}: {error}")),
        }
    }
    deleted
}

/// `2 notes`.
pub(super) fn counted(notes: u64) -> String {
    if notes == 1 { "1 note".to_owned() } else { format!("{notes} notes") }
}

/// ` and 2 notes`, or nothing.
pub(super) fn suffix(notes: u64) -> String {
    match notes {
        0 => String::new(),
        1 => " and 1 note".to_owned(),
        notes => format!(" and {notes} notes"),
    }
}
