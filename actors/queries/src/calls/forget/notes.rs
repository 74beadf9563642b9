//! Memos are forgotten with their project, and cannot be restored: no other copy of their words exists.

use baton_events::projection::table::SessionTable;
use baton_protocol::ForgetParams;
use uuid::Uuid;

use super::earlier_attempt::EarlierAttempt;
use crate::{memo, resolve};
use baton_views::catalog::Catalog;

/// Memos of the project to be forgotten, in the given time.
pub(super) fn of_project(catalog: &Catalog, asked: &ForgetParams) -> Vec<Uuid> {
    let (table, settings) = catalog.now();
    let Some(text) = asked.project.as_deref().or(asked.notes_of.as_deref()) else { return Vec::new() };
    let Ok(project) = resolve::project(&table, &settings, text) else { return Vec::new() };
    let is_meant = |uuid: &Uuid| {
        let memo = table.memo_row(*uuid).and_then(|row| row.state.memo.as_ref());
        memo.is_some_and(|memo| memo.group == project && asked.before.is_none_or(|before| memo.at.0 < before))
    };
    table.memos().map(|(uuid, _)| uuid).filter(is_meant).collect()
}

/// Memos that are named individually, and the names of other things. A memo counts if it is not deleted yet, cleared or
/// not, or was deleted by this call.
pub(super) fn named(table: &SessionTable, asked: &ForgetParams, earlier: &EarlierAttempt) -> (Vec<Uuid>, Vec<String>) {
    let (mut notes, mut others) = (Vec::new(), Vec::new());
    for text in &asked.sessions {
        let is_there = |uuid: &Uuid| table.memo_row(*uuid).is_some_and(|row| row.state.memo.is_some());
        match memo::find(table, text).filter(|uuid| is_there(uuid) || earlier.notes.contains(uuid)) {
            Some(uuid) if notes.contains(&uuid) => {}
            Some(uuid) => notes.push(uuid),
            None => others.push(text.clone()),
        }
    }
    (notes, others)
}

/// `2 notes`.
pub(super) fn counted(notes: u64) -> String {
    if notes == 1 { "1 note".to_owned() } else { format!("{notes} notes") }
}

/// ` and 2 notes`, or nothing.
pub(super) fn suffix(notes: u64) -> String {
    if notes == 0 { String::new() } else { format!(" and {}", counted(notes)) }
}
